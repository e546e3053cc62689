/** One bar per queue: used as fill, guaranteed as a tick, maximum as the end of the track. */
import { Link } from "wouter";
import type { Queue, Resources } from "../../api/types";
import { count, coresWord, memory } from "../../format/units";
import { Card, Empty } from "../../ui/parts";
import { absolute, depth, dominantShare } from "./fleet";

export function Queues({ queues, capacity }: { queues: Queue[]; capacity: Resources }) {
  const limits = absolute(queues);
  const sorted = [...queues].sort((a, b) => a.path.localeCompare(b.path));
  return (
    <Card title="Queues" flush aside={<div className="legend"><span><i className="swatch allocated" />used</span><span>│ guaranteed</span><span><i className="swatch free" />up to its maximum</span></div>}>
      {queues.length === 0 && <Empty title="No queue to show">You have access to none. An operator can grant you one.</Empty>}
      <ul className="queue-list">
        {sorted.map((q) => <Row key={q.path} queue={q} share={dominantShare(q, capacity)} limits={limits.get(q.path) ?? { guaranteed: 0, maximum: 1 }} />)}
      </ul>
    </Card>
  );
}

function Row({ queue, share, limits }: { queue: Queue; share: number; limits: { guaranteed: number; maximum: number } }) {
  const pct = (n: number) => `${(Math.min(1, n) * 100).toFixed(1)}%`;
  const over = share > limits.guaranteed + 0.001;
  const text = `${queue.path}: uses ${pct(share)} of the federation, guaranteed ${pct(limits.guaranteed)}, at most ${pct(limits.maximum)}`;
  const level = depth(queue.path);
  return (
    <li className="queue">
      <span className="clip" style={{ paddingLeft: level * 14 }}>
        <Link href={`/jobs?queue=${encodeURIComponent(queue.path)}`}>{queue.path.slice(queue.path.lastIndexOf(".") + 1)}</Link>
        {queue.stopped && <span className="tag">stopped</span>}
      </span>
      <svg className="queue-bar" role="img" aria-label={text} preserveAspectRatio="none"><title>{text}</title>
        <rect y="4" height="8" width={pct(limits.maximum)} rx="4" fill="var(--heat-0)" />
        <rect y="4" height="8" width={pct(share)} rx="4" fill="var(--heat-1)" />
        {limits.guaranteed > 0 && limits.guaranteed < 1 && <rect x={pct(limits.guaranteed)} y="0" width="2" height="16" fill="var(--text)" />}
      </svg>
      <span className="num small">
        {memory(queue.used.memory_mib)} · {coresWord(queue.used.vcores_milli)}
        {queue.pending ? <span className="muted"> · {count(queue.pending)} wait</span> : null}
        {over && queue.leaf && limits.guaranteed < 1 ? <span className="muted"> · borrows</span> : null}
      </span>
    </li>
  );
}
