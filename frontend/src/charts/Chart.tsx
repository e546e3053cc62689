/** Lines over time: drag to zoom, click to choose a moment, arrow keys to step; also as a table and as CSV. */
import "uplot/dist/uPlot.min.css";
import "./chart.css";
import { useMantineColorScheme } from "@mantine/core";
import { useEffect, useId, useRef, type KeyboardEvent } from "react";
import uPlot from "uplot";
import { Empty } from "../ui/parts";
import { ChartTable } from "./ChartTable";
import { options } from "./options";
import { indexAt, known, stepped, type Line, type SeriesEvent, type Span } from "./series";

export interface ChartProps {
  title: string;
  /** Said once beside the title and in the CSV: "GiB", "cores", "per second". */
  unit: string;
  /** Seconds since 1970, where each value's window begins. */
  at: number[];
  stepS: number;
  lines: Line[];
  span: Span;
  format: (value: number) => string;
  /** Charts of the same name share their cursor. */
  sync: string;
  events?: SeriesEvent[];
  chosen?: number | null;
  onZoom?: (span: Span) => void;
  onChoose?: (t: number) => void;
  height?: number;
}

export function Chart(props: ChartProps) {
  const { title, unit, at, stepS, lines, format, chosen = null, onChoose } = props;
  const id = useId();
  const something = known(lines);
  const step = (e: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[e.key];
    if (by === undefined || !onChoose) return;
    e.preventDefault();
    const t = stepped(at, chosen, by);
    if (t !== null) onChoose(t);
  };
  return (
    <section className="card chart" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        <span className="muted small">{unit}</span>
      </header>
      {something ? (
        <>
          <div className="plot" tabIndex={onChoose && 0} role="img" onKeyDown={step}
            aria-label={`${title}${unit ? `, ${unit}` : ""}, over time. ${onChoose ? "Arrow keys choose a moment; the" : "The"} same numbers stand in the table below.`}>
            <Plot {...props} />
          </div>
          <ChartTable title={title} unit={unit} at={at} stepS={stepS} lines={lines} format={format} />
        </>
      ) : (
        <Empty title="Nothing is known of this time">It lies before history began, or nothing of the kind happened.</Empty>
      )}
    </section>
  );
}

function Plot({ at, lines, span, format, sync, events = [], chosen = null, onZoom, onChoose, height = 190 }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const marks = useRef({ events, chosen });
  const calls = useRef({ onZoom, onChoose });
  const { colorScheme } = useMantineColorScheme();
  marks.current = { events, chosen };
  calls.current = { onZoom, onChoose };
  const shape = lines.map((l) => `${l.label}/${l.color}`).join("|");
  const range = useRef(span);
  range.current = span;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(options(element, {
      width: Math.max(200, element.clientWidth), height, lines, format, sync,
      span: { get from() { return range.current.from; }, get to() { return range.current.to; } },
      marks: () => marks.current,
      onZoom: (from, to) => calls.current.onZoom?.({ from, to: Math.max(to, from + 30) }),
      onChoose: (t) => calls.current.onChoose?.(t),
    }), [at, ...lines.map((l) => l.values)] as uPlot.AlignedData, element);
    plot.current = made;
    const watch = new ResizeObserver(() => made.setSize({ width: Math.max(200, element.clientWidth), height }));
    watch.observe(element);
    return () => { watch.disconnect(); made.destroy(); plot.current = null; };
    // Data and marks follow below without a new plot.
  }, [shape, colorScheme, height, sync]);
  useEffect(() => {
    plot.current?.setData([at, ...lines.map((l) => l.values)] as uPlot.AlignedData, true);
  }, [at, lines, span.from, span.to]);
  useEffect(() => {
    const u = plot.current;
    if (!u) return;
    u.redraw(false);
    const hovered = (u.cursor.left ?? -1) >= 0;
    if (chosen === null || hovered) return;
    // After the drawing, which puts the legend back to where the pointer is.
    const id = setTimeout(() => plot.current?.setLegend({ idx: Math.max(0, indexAt(at, chosen)) }, false));
    return () => clearTimeout(id);
  }, [events, chosen, at, lines]);
  return <div ref={box} />;
}
