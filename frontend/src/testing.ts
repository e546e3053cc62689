/** For tests alone. */
import type { Resources } from "./api/types";
import { AXES } from "./format/resources";

/** What is given, and nothing of all other resources. */
export const some = (given: Partial<Resources>): Resources => ({ ...(Object.fromEntries(AXES.map((axis) => [axis, 0])) as Resources), ...given });
