/** What operators do with nodes, wherever they are: "drain west-1", "decommission". Pure. */
import type { Me, Node } from "../../api/types";
import { actsOn, TITLES, type Act, type Handed } from "../../pages/fleet/duty";
import { ON_NODES, type Entry } from "./find";

/** By its first word, as far as that is typed. */
const WORDS: Record<Act, string[]> = {
  drain: ["drain", "empty"],
  cordon: ["cordon"],
  uncordon: ["uncordon", "undrain", "back"],
  decommission: ["decommission", "remove"],
};
const LETTERS_MIN = 3;

export interface NodeOrder {
  act: Act;
  /** Part of the names of the nodes; "" for any. */
  of: string;
}

/** Null where the text begins with no such word, and for those who may not. */
export function nodeOrderIn(typed: string, me: Me): NodeOrder | null {
  const [first = "", ...rest] = typed.trim().split(/[\s:]+/);
  if (me.role !== "operator" || first.length < LETTERS_MIN) return null;
  const act = (Object.keys(WORDS) as Act[]).find((each) => WORDS[each].some((word) => word.startsWith(first.toLowerCase())));
  if (!act) return null;
  const said = ["node", "nodes", ...TITLES[act].toLowerCase().split(" ")];
  return { act, of: rest.filter((word) => !said.includes(word.toLowerCase())).join(" ") };
}

/** The node's page asks for it. */
export function nodeOrderEntries({ act }: NodeOrder, nodes: Node[]): Entry[] {
  const handed: Handed = { ask: act };
  return nodes.filter((node) => actsOn(node).includes(act)).map((node) => ({
    id: `${act}-node-${node.id}`, group: ON_NODES, name: `${TITLES[act]}: ${node.name}`, note: `${node.sub_cluster} · ${node.duty.replace("_", " ")}`,
    to: `/fleet/nodes/${node.id}`, state: handed, anew: `node:${node.id}`,
  }));
}
