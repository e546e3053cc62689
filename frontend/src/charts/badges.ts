/** What is marked on charts: which colour and letter each kind has, and where letters would overlap. */

export const EVENT_COLORS: Record<string, string> = { policy: "accent", rollout: "st-stopping", override: "st-lost", "sub-cluster": "st-failed" };
export const EVENT_LETTERS: Record<string, string> = { policy: "P", rollout: "R", override: "O", "sub-cluster": "S" };

/** Its radius, in pixels. */
export const BADGE = 6;

export interface Badge {
  x: number;
  text: string;
  color: string;
}

/** One for each event, or for several whose badges would overlap: then how many. found: their places, from the left. */
export function badges(found: { x: number; kind: string }[], apart: number): Badge[] {
  const groups: { x: number; kind: string }[][] = [];
  for (const each of found) {
    const last = groups.at(-1);
    if (last && each.x - last[0]!.x < apart) last.push(each);
    else groups.push([each]);
  }
  return groups.map((group) => {
    const [first] = group;
    const alike = group.every(({ kind }) => kind === first!.kind);
    return {
      x: (first!.x + group.at(-1)!.x) / 2,
      text: group.length > 1 ? String(group.length) : EVENT_LETTERS[first!.kind] ?? "·",
      color: alike ? EVENT_COLORS[first!.kind] ?? "muted" : "muted",
    };
  });
}
