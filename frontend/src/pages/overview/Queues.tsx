/** One bar per queue: used as fill, guaranteed as a tick, maximum as the end of the track. */
import { Link } from "wouter";
import type { Queue, Resources } from "../../api/types";
import { amounts } from "../../format/resources";
import { count, coresWord, memory } from "../../format/units";
import { Card, Empty } from "../../ui/parts";
import { depth, shares, type Shares } from "./fleet";

export function Queues({ queues, leftOut, capacity }: { queues: Queue[]; leftOut: number; capacity: Resources }) {
  const sorted = [...queues].sort((a, b) => a.path.localeCompare(b.path));
  return (
    <Card title="Queues" flush aside={<div className="legend"><span><i className="swatch allocated" />used</span><span>│ guaranteed</span><span><i className="swatch free" />up to its maximum</span></div>}>
      {queues.length === 0 && <Empty title="No queue to show">You have access to none. An operator can grant you one.</Empty>}
      <ul className="queue-list">
        {sorted.map((q) => <Row key={q.path} queue={q} of={shares(q, capacity)} />)}
      </ul>
      {leftOut > 0 && <p className="small muted tasks-foot">{count(queues.length)} of {count(queues.length + leftOut)} queues, the highest in the tree. <Link href="/queues">All of them</Link></p>}
    </Card>
  );
}

function Row({ queue, of }: { queue: Queue; of: Shares }) {
  const pct = (n: number) => `${(Math.min(1, n) * 100).toFixed(1)}%`;
  const over = of.used > of.guaranteed + 0.001;
  const text = `${queue.path}: uses ${pct(of.used)} of the federation, guaranteed ${amounts(queue.guaranteed)}, at most ${amounts(queue.maximum)}`;
  const level = depth(queue.path);
  return (
    <li className="queue">
      <span className="clip" style={{ paddingLeft: level * 14 }}>
        <Link href={`/jobs?queue=${encodeURIComponent(queue.path)}`}>{queue.path.slice(queue.path.lastIndexOf(".") + 1)}</Link>
        {queue.state !== "running" && <span className="tag">{queue.state}</span>}
      </span>
      <svg className="queue-bar" role="img" aria-label={text} preserveAspectRatio="none"><title>{text}</title>
        <rect y="4" height="8" width={pct(of.maximum)} rx="4" fill="var(--heat-0)" />
        <rect y="4" height="8" width={pct(of.used)} rx="4" fill="var(--heat-1)" />
        {of.guaranteed > 0 && of.guaranteed < 1 && <rect x={pct(of.guaranteed)} y="0" width="2" height="16" fill="var(--text)" />}
      </svg>
      <span className="num small">
        {memory(queue.used.memory_mib)} · {coresWord(queue.used.vcores_milli)}
        {queue.pending ? <span className="muted"> · {count(queue.pending)} wait</span> : null}
        {over && queue.leaf && of.guaranteed < 1 ? <span className="muted"> · borrows</span> : null}
      </span>
    </li>
  );
}
