/** The job's groups and which comes after which, each with its tasks' states. */
import { useLayoutEffect, useRef, useState, type RefObject } from "react";
import type { Group } from "../../api/types";
import { amounts } from "../../format/reason";
import { count } from "../../format/units";
import { groupText, progressText, TasksBar } from "../../ui/bars";
import { Card, State } from "../../ui/parts";
import { useWidth } from "../../ui/width";
import { CARD, dag, edgePath } from "./dag";

/** What the tallest card needs: names and counts take as many lines as they are long. */
function useTallest(box: RefObject<HTMLElement | null>): number {
  const [tallest, setTallest] = useState(CARD.height);
  useLayoutEffect(() => {
    const cards = box.current?.querySelectorAll<HTMLElement>(".group-card") ?? [];
    setTallest(Math.max(CARD.height, ...Array.from(cards, (card) => card.offsetHeight)));
  });
  return tallest;
}

export function GroupGraph({ kind, groups }: { kind: string; groups: Group[] }) {
  const box = useRef<HTMLDivElement>(null);
  const d = dag(groups, useWidth(box) || undefined, useTallest(box));
  return (
    <Card title="Task groups" flush>
      <div className="dag-scroll" tabIndex={0} role="group" aria-label={`Task groups: ${groups.map((g) => g.after.length ? `${g.name} after ${g.after.join(" and ")}` : g.name).join("; ")}`}>
        <div ref={box}><div className="dag" style={{ width: d.width, height: d.height }}>
          <svg width={d.width} height={d.height} aria-hidden="true">
            <defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="var(--line-strong)" /></marker></defs>
            {d.edges.map((e) => <path key={`${e.from.group.no}-${e.to.group.no}`} d={edgePath(e, d)} fill="none" stroke="var(--line-strong)" strokeWidth="1.6" markerEnd="url(#tip)" />)}
          </svg>
          {d.cards.map(({ group, x, y }) => (
            <div key={group.no} className="group-place" style={{ left: x, top: y, width: d.cardWidth, height: d.cardHeight }}>
              <article className="group-card" style={{ minHeight: CARD.height }} data-testid={`group-${group.name}`}>
                <div className="row wrap"><b>{group.name}</b><State state={group.state} /></div>
                <TasksBar group={group} />
                <div className="small muted" title={groupText(group)}>{counts(kind, group)}</div>
                <div className="small muted">{amounts(group.resources)} each</div>
              </article>
            </div>
          ))}
        </div></div>
      </div>
    </Card>
  );
}

function counts(kind: string, g: Group): string {
  const parts = [progressText(kind, g)];
  if (g.running && kind !== "service") parts.push(`${count(g.running)} running`);
  if (g.failed) parts.push(`${count(g.failed)} failed`);
  if (g.restarting) parts.push(`${count(g.restarting)} to restart`);
  if (g.retried) parts.push(`${count(g.retried)} restarted`);
  return parts.join(" · ");
}
