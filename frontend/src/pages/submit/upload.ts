/** Files go up as content-addressed artifacts, before the job that names them. */
import { API, ApiError, cookie, problemFrom } from "../../api/client";
import { isFolder, localFiles, type Upload } from "./source";

export type OnProgress = (sent: number) => void;

/** What was chosen for each local file that the job names, sent. */
export async function sendFiles(value: Record<string, unknown>, files: Record<string, File>, tell: (source: string, sent: number) => void): Promise<Map<string, Upload>> {
  const wanted = localFiles(value);
  const folders = wanted.filter(isFolder).map((f) => f.source);
  if (folders.length) throw new ApiError(0, "A browser cannot bring folders", `Bring ${folders.join(", ")} with hydractl, or as an archive.`);
  const missing = wanted.filter((f) => !files[f.source]).map((f) => f.source);
  if (missing.length) throw new ApiError(0, "Files are missing", `Choose ${missing.join(", ")} at the right; the browser cannot read them by their path. Folders come with hydractl, or as an archive.`);
  const uploads = new Map<string, Upload>();
  for (const { source } of wanted) {
    const file = files[source];
    if (file) uploads.set(source, await upload(file, (sent) => tell(source, sent)));
  }
  return uploads;
}

const PROGRAMS = [[0x23, 0x21], [0x7f, 0x45, 0x4c, 0x46]]; // #! and ELF
const EXECUTABLE = 0o755;

/** Browsers do not tell whether a file may be executed; its first bytes say whether it is meant to be. */
export function modeOf(content: Uint8Array): { mode?: number } {
  return PROGRAMS.some((magic) => magic.every((byte, i) => content[i] === byte)) ? { mode: EXECUTABLE } : {};
}

async function upload(file: File, onProgress: OnProgress): Promise<Upload> {
  if (!globalThis.crypto?.subtle) {
    throw new ApiError(0, "This page cannot check files", "Browsers compute digests only over https or on localhost. Submit this job with hydractl.");
  }
  const content = await file.arrayBuffer();
  const hash = await crypto.subtle.digest("SHA-256", content);
  const digest = [...new Uint8Array(hash)].map((b) => b.toString(16).padStart(2, "0")).join("");
  await put(`${API}/artifacts/${digest}`, file, onProgress);
  return { digest, size: file.size, ...modeOf(new Uint8Array(content)) };
}

/** `fetch` cannot tell how much was sent; an XMLHttpRequest can. */
function put(path: string, file: File, onProgress: OnProgress): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-CSRFToken", cookie("csrftoken"));
    request.upload.onprogress = (e) => onProgress(e.loaded);
    request.onerror = () => reject(new ApiError(0, "Hydra cannot be reached", `${file.name} was not uploaded. Submit again.`));
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) return resolve(onProgress(file.size));
      reject(problemFrom(request.status, parsed(request.responseText), request.getResponseHeader("Retry-After")));
    };
    request.send(file);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // not JSON: a proxy's own page, say
  }
}
