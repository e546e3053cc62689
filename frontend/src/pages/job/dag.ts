/** Where the cards of a job's group graph stand: columns by depth, each centred, closer where room is scarce. Pixels. */
import type { Group } from "../../api/types";

export const CARD = { width: 206, height: 104, gapX: 44, gapY: 14 };
const LEAST = { width: 164, gapX: 26 }; // closer than this a long chain scrolls instead

export interface Placed {
  group: Group;
  x: number;
  y: number;
}

export interface Edge {
  from: Placed;
  to: Placed;
}

export interface Dag {
  width: number;
  height: number;
  cardWidth: number;
  cardHeight: number;
  cards: Placed[];
  edges: Edge[];
}

/** The longest way to each group; the server has refused cycles, yet one would end here too. */
export function depths(groups: Group[]): Map<string, number> {
  const found = new Map<string, number>();
  const byName = new Map(groups.map((g) => [g.name, g]));
  const visit = (name: string, seen: Set<string>): number => {
    const known = found.get(name);
    if (known !== undefined) return known;
    if (seen.has(name)) return 0;
    const before = (byName.get(name)?.after ?? []).filter((n) => byName.has(n));
    const value = before.length ? 1 + Math.max(...before.map((n) => visit(n, new Set([...seen, name])))) : 0;
    found.set(name, value);
    return value;
  };
  for (const g of groups) visit(g.name, new Set());
  return found;
}

/** room: the width that can be had without scrolling. cardHeight: what the tallest card needs. */
export function dag(groups: Group[], room = Infinity, cardHeight = CARD.height): Dag {
  const depth = depths(groups);
  const columns: Group[][] = [];
  for (const g of groups) (columns[depth.get(g.name) ?? 0] ??= []).push(g);
  const between = (least: number, wanted: number, most: number) => Math.max(least, Math.min(wanted, most));
  const gapX = between(LEAST.gapX, (room - columns.length * CARD.width) / Math.max(1, columns.length - 1), CARD.gapX);
  const cardWidth = Math.floor(between(LEAST.width, (room + gapX) / Math.max(1, columns.length) - gapX, CARD.width));
  const longest = Math.max(1, ...columns.map((c) => c.length));
  const step = cardHeight + CARD.gapY;
  const height = longest * step - CARD.gapY;
  const cards = columns.flatMap((column, c) => {
    const top = (height - (column.length * step - CARD.gapY)) / 2;
    return column.map((group, r) => ({ group, x: c * (cardWidth + gapX), y: top + r * step }));
  });
  const byName = new Map(cards.map((card) => [card.group.name, card]));
  const edges = cards.flatMap((to) => to.group.after.flatMap((name) => {
    const from = byName.get(name);
    return from ? [{ from, to }] : [];
  }));
  return { width: columns.length * (cardWidth + gapX) - gapX, height, cardWidth, cardHeight, cards, edges };
}

export function edgePath({ from, to }: Edge, { cardWidth, cardHeight }: Pick<Dag, "cardWidth" | "cardHeight">): string {
  const [x1, y1] = [from.x + cardWidth, from.y + cardHeight / 2];
  const [x2, y2] = [to.x - 6, to.y + cardHeight / 2];
  const bend = Math.max(12, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
