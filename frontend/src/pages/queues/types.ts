/** The shapes of the queue addresses, as the API's schema has them. */
import type { components } from "../../api/schema";

type Schemas = components["schemas"];
export type QueueLayout = Schemas["QueueLayout"];
export type QueueUse = Schemas["QueueUse"];
export type QueueMatrix = Schemas["QueueMatrix"];
export type QueueDetail = Schemas["QueueDetail"];
