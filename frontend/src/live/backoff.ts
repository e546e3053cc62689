/** How long to wait before attempt `n` (0 first), in milliseconds: doubling, capped, spread by `random` in 0..1. */
export function delayMs(n: number, random: number, baseMs = 500, capMs = 15_000): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(n, 10));
  return Math.round(ceiling / 2 + (ceiling / 2) * random);
}
