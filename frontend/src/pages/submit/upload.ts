/** Files go up as content-addressed artifacts, before the job that names them. */
import { API, ApiError, call } from "../../api/client";

export async function upload(file: File): Promise<{ digest: string; size: number }> {
  if (!globalThis.crypto?.subtle) {
    throw new ApiError(0, "This page cannot check files", "Browsers compute digests only over https or on localhost. Submit this job with hydractl.");
  }
  const hash = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  const digest = [...new Uint8Array(hash)].map((b) => b.toString(16).padStart(2, "0")).join("");
  await call(`${API}/artifacts/${digest}`, { method: "PUT", body: file, headers: { "Content-Type": "application/octet-stream" } });
  return { digest, size: file.size };
}
