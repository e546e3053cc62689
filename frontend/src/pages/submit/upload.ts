/** Files go up as content-addressed artifacts, before the job that names them. */
import { API, ApiError, cookie, problemFrom } from "../../api/client";

export type OnProgress = (sent: number) => void;

export async function upload(file: File, onProgress: OnProgress = () => undefined): Promise<{ digest: string; size: number }> {
  if (!globalThis.crypto?.subtle) {
    throw new ApiError(0, "This page cannot check files", "Browsers compute digests only over https or on localhost. Submit this job with hydractl.");
  }
  const hash = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  const digest = [...new Uint8Array(hash)].map((b) => b.toString(16).padStart(2, "0")).join("");
  await put(`${API}/artifacts/${digest}`, file, onProgress);
  return { digest, size: file.size };
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
