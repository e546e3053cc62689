/** Mappings of a document that may hold anything. */
import type { Json } from "../types";

export const isMapping = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** The value if it is a mapping, else an empty one. */
export const mapping = (value: unknown): Json => (isMapping(value) ? value : {});
