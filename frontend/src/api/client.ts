/** One door to the REST API: session cookie, CSRF header, problem documents as errors. */
import type { FieldError } from "./types";

export const API = "/api/v1";

/** A refusal the server explained (RFC 9457), or a failure to reach it (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
    readonly errors: FieldError[] = [],
    readonly retryAfterS: number | null = null,
  ) {
    super(detail || title);
    this.name = "ApiError";
  }
}

/** What is wrong with a field, found without the server. */
export function fieldError(field: string, message: string, remedy = ""): FieldError {
  return { field, message, remedy, group: "", line: 0, column: 0 };
}

export function cookie(name: string, jar: string = document.cookie): string {
  const found = jar.split("; ").find((part) => part.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}

/** An error for a response that is not a success, whatever its body holds. */
export function problemFrom(status: number, body: unknown, retryAfter: string | null): ApiError {
  const fallback = status >= 500 ? "The server could not answer" : `The server answered ${status}`;
  const doc = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const errors = Array.isArray(doc.errors) ? (doc.errors as FieldError[]) : [];
  const wait = retryAfter === null ? null : Number(retryAfter);
  return new ApiError(
    status,
    typeof doc.title === "string" ? doc.title : fallback,
    typeof doc.detail === "string" ? doc.detail : "",
    errors,
    Number.isFinite(wait) ? wait : null,
  );
}

/** With the names of fields as they are below `part` of what was sent. */
export function within(part: string, error: ApiError): ApiError {
  const errors = error.errors.map((e) => ({ ...e, field: e.field.startsWith(`${part}.`) ? e.field.slice(part.length + 1) : e.field }));
  return new ApiError(error.status, error.title, error.detail, errors, error.retryAfterS);
}

/** With what it says of fields in its text, for dialogs that have one place for all. */
export function withFields(error: ApiError): ApiError {
  return new ApiError(error.status, error.title, [error.detail, ...error.errors.map((e) => [[e.field, e.message].filter(Boolean).join(": "), e.remedy].filter(Boolean).join("; "))].filter(Boolean).join(" "));
}

/** All that it says of one field. */
export function wrongWith(error: ApiError | null, field: string): string | undefined {
  return error?.errors.filter((e) => e.field === field).map((e) => e.message).join(" ");
}

export interface CallOptions {
  method?: string;
  json?: unknown;
  body?: Blob;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  const method = options.method ?? "GET";
  if (method !== "GET") headers["X-CSRFToken"] = cookie("csrftoken");
  let body: BodyInit | null = options.body ?? null;
  if (options.json !== undefined) {
    headers["Content-Type"] = "application/json";
    body = JSON.stringify(options.json);
  }
  let response: Response;
  try {
    const url = path.startsWith("/") ? path : new URL(path).pathname + new URL(path).search;
    response = await fetch(url, { method, headers, body, credentials: "same-origin", signal: options.signal ?? null });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new ApiError(0, "Hydra cannot be reached", "The web process does not answer. It is tried again by itself.");
  }
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  let parsed: unknown = text;
  try {
    parsed = text ? JSON.parse(text) : undefined;
  } catch {
    // Not JSON: a proxy's own page, say. The status is what is left to tell.
  }
  if (!response.ok) throw problemFrom(response.status, parsed, response.headers.get("Retry-After"));
  return parsed as T;
}

export const get = <T>(path: string, signal?: AbortSignal) => call<T>(API + path, { signal });
export const post = <T>(path: string, json?: unknown, headers?: Record<string, string>) =>
  call<T>(API + path, { method: "POST", json: json ?? {}, headers });
export const put = <T>(path: string, json: unknown) => call<T>(API + path, { method: "PUT", json });
export const remove = <T = void>(path: string) => call<T>(API + path, { method: "DELETE" });
