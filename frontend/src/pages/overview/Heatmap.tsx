/** One canvas cell per node. Arrow keys move; what is under the cursor is spoken and shown. */
import { useComputedColorScheme } from "@mantine/core";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import type { NodeBrief as Node } from "../../api/types";
import { fill, stale, standing, type Measure } from "./fleet";
import { cellAt, layout, moved, origin, type Layout } from "./heat";
import { nodeText } from "./Nodes";

interface Props {
  name: string;
  nodes: Node[];
  measure: Measure;
  chosen: number | null;
  onChoose: (id: number) => void;
}

export function Heatmap({ name, nodes, measure, chosen, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number | null>(null);
  const scheme = useComputedColorScheme();
  const l = layout(nodes.length, Math.max(width, 7));
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    const id = requestAnimationFrame(() => canvas.current && width && draw(canvas.current, l, width, nodes, measure, chosen, at));
    return () => cancelAnimationFrame(id);
  });
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Enter" || e.key === " ") {
      const node = nodes[at ?? 0];
      if (node) onChoose(node.id);
    } else if (/^(Arrow|Home|End)/.test(e.key)) setAt(moved(l, nodes.length, at ?? 0, e.key));
    else return;
    e.preventDefault();
  };
  const node = at === null ? undefined : nodes[at];
  const tip = at === null ? null : origin(l, at);
  return (
    <div ref={box} className="heat" data-scheme={scheme}>
      <canvas ref={canvas} tabIndex={0} role="application" aria-roledescription="heat map of nodes" style={{ height: l.rows * l.pitch }}
        aria-label={`Nodes of ${name}: ${nodes.length}, ${nodes.filter(stale).length} stale. Arrow keys move between nodes.`}
        onKeyDown={onKey} onBlur={() => setAt(null)} onMouseLeave={() => setAt(null)}
        onMouseMove={(e) => setAt(cellAt(l, nodes.length, e.nativeEvent.offsetX, e.nativeEvent.offsetY))}
        onClick={(e) => { const i = cellAt(l, nodes.length, e.nativeEvent.offsetX, e.nativeEvent.offsetY); const hit = i === null ? undefined : nodes[i]; if (hit) onChoose(hit.id); }} />
      {node && tip && <div className="tip" style={{ left: Math.min(Math.max(tip.x, 150), Math.max(150, width - 150)), top: tip.y }}>{nodeText(node)}</div>}
      <span className="sr" role="status">{node ? nodeText(node) : ""}</span>
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, l: Layout, width: number, nodes: Node[], measure: Measure, chosen: number | null, at: number | null): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(l.rows * l.pitch * ratio);
  const ctx = canvas.getContext("2d");
  if (!ctx) return;
  ctx.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const [empty, full, lost, text] = [color("--heat-0"), color("--heat-1"), color("--st-lost"), color("--text")];
  const size = l.pitch - l.gap;
  nodes.forEach((node, i) => {
    const { x, y } = origin(l, i);
    ctx.globalAlpha = 1;
    ctx.fillStyle = empty;
    ctx.fillRect(x, y, size, size);
    ctx.globalAlpha = fill(node, measure) * (stale(node) ? 0.45 : 1); // old numbers are paler
    ctx.fillStyle = full;
    ctx.fillRect(x, y, size, size);
    ctx.globalAlpha = 1;
    if (stale(node)) hatch(ctx, x, y, size, lost);
    else if (node.state !== "UP") corner(ctx, x, y, size, color("--st-failed"));
    else if (standing(node) !== "UP") corner(ctx, x, y, size, color("--st-stopping"));
    if (node.id === chosen || i === at) {
      ctx.strokeStyle = text;
      ctx.lineWidth = 2;
      ctx.strokeRect(x + 1, y + 1, size - 2, size - 2);
    }
  });
}

function hatch(ctx: CanvasRenderingContext2D, x: number, y: number, size: number, color: string): void {
  ctx.save();
  ctx.beginPath();
  ctx.rect(x, y, size, size);
  ctx.clip();
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  for (let d = -size; d < size; d += 6) {
    ctx.moveTo(x + d, y + size);
    ctx.lineTo(x + d + size, y);
  }
  ctx.stroke();
  ctx.restore();
}

function corner(ctx: CanvasRenderingContext2D, x: number, y: number, size: number, color: string): void {
  ctx.fillStyle = color;
  ctx.beginPath();
  ctx.moveTo(x + size, y);
  ctx.lineTo(x + size, y + size * 0.6);
  ctx.lineTo(x + size * 0.4, y);
  ctx.fill();
}
