/** Every queue with its numbers; what is guaranteed side by side and what is left of it. Only the rows in view are drawn. */
import { Button, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef, useState } from "react";
import { OF } from "../../../format/resources";
import { limitWord, shareWord, totals, type Total } from "../model/limits";
import { same } from "../model/merge";
import { NAME, type QueueRow } from "../model/tree";
import type { Problem } from "../model/text";
import type { Json, Path } from "../types";

const ROW = 34;
const key = (path: Path): string => path.join("/");

function touched(row: QueueRow, before: Map<string, Json>): "new" | "changed" | "" {
  const was = before.get(row.name);
  if (!was) return "new";
  const own = (queue: Json) => ({ ...queue, children: null });
  return same(own(was), own(row.queue)) ? "" : "changed";
}

function leftWord(total: Total): string {
  if (total.left === null) return `${shareWord(total.share)} and amounts`;
  const left = total.left < -1e-9 ? `${shareWord(-total.left)} too much` : `${shareWord(Math.max(0, total.left))} left`;
  return `${shareWord(total.share)} guaranteed, ${left}`;
}

/** Of the queues directly below a place, by resource where they differ. */
export function Sums({ siblings }: { siblings: Json[] }) {
  const sums = totals(siblings);
  return (
    <span className="policy-sums">
      {sums.map((total) => (
        <span key={total.resource} data-over={total.left !== null && total.left < -1e-9 ? "" : undefined}>{sums.length > 1 && `${OF[total.resource].word}: `}{leftWord(total)}</span>
      ))}
    </span>
  );
}

export function QueueTree({ rows, before, chosen, problems, go, add }: {
  rows: QueueRow[]; before: Map<string, Json>; chosen: Path | null; problems: Problem[]; go: (path: Path) => void; add: ((holder: Path, name: string) => void) | undefined;
}) {
  const [wanted, setWanted] = useState("");
  const [adding, setAdding] = useState(false);
  const shown = useMemo(() => (wanted ? rows.filter((row) => row.name.includes(wanted.toLowerCase())) : rows), [rows, wanted]);
  const box = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({ count: shown.length, getScrollElement: () => box.current, estimateSize: () => ROW, overscan: 12, initialRect: { width: 400, height: 560 } });
  const at = chosen ? key(chosen) : "";
  const move = (by: number) => {
    const now = shown.findIndex((row) => key(row.path) === at);
    const next = shown[Math.min(shown.length - 1, Math.max(0, now + by))];
    if (!next) return;
    go(next.path);
    list.scrollToIndex(shown.indexOf(next));
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  const wrong = (row: QueueRow) => problems.some((p) => p.field === row.path.join(".") || (p.field.startsWith(`${row.path.join(".")}.`) && !p.field.startsWith(`${row.path.join(".")}.children.`)));
  return (
    <section className="card policy-tree" aria-label="Queue tree">
      <header>
        <TextInput className="grow" aria-label="Find a queue" placeholder={`Find among ${rows.length} queues`} value={wanted} onChange={(e) => setWanted(e.currentTarget.value.trim())} />
        {add && <Button variant="default" onClick={() => setAdding(true)}>Add…</Button>}
      </header>
      {add && adding && <Add chosen={chosen} add={add} close={() => setAdding(false)} />}
      <div className="policy-top small"><b>root</b> <Sums siblings={rows.filter((row) => row.depth === 1).map((row) => row.queue)} /></div>
      <div className="policy-rows" ref={box}>
        <div role="listbox" aria-label="Queues" style={{ height: list.getTotalSize(), position: "relative" }}>
          {list.getVirtualItems().map((item) => {
            const row = shown[item.index]!;
            const selected = key(row.path) === at;
            const mark = touched(row, before);
            return (
              <div key={row.name} role="option" aria-selected={selected} tabIndex={selected || (!at && item.index === 0) ? 0 : -1} className="policy-row"
                aria-label={`${row.name}${row.queue.guaranteed !== undefined && row.queue.guaranteed !== null ? `, guaranteed ${limitWord(row.queue.guaranteed)}` : ""}${mark ? `, ${mark}` : ""}${wrong(row) ? ", has an error" : ""}`}
                style={{ position: "absolute", top: 0, left: 0, right: 0, height: ROW, transform: `translateY(${item.start}px)`, paddingLeft: 10 + 16 * (row.depth - 1) }}
                onClick={() => go(row.path)}
                onKeyDown={(e) => {
                  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -shown.length, End: shown.length }[e.key];
                  if (by !== undefined) { e.preventDefault(); move(by); }
                  if (e.key === "Enter" || e.key === " ") { e.preventDefault(); go(row.path); }
                }}>
                <Columns row={row} name={String(wanted ? row.name : row.path.at(-1))} mark={mark} wrong={wrong(row)} />
              </div>
            );
          })}
        </div>
        {!shown.length && <p className="muted policy-more">No queue is called so.</p>}
      </div>
    </section>
  );
}

function Columns({ row, name, mark, wrong }: { row: QueueRow; name: string; mark: string; wrong: boolean }) {
  return (
    <>
      <span className="grow clip">{name}</span>
      {wrong && <span className="policy-count" aria-hidden="true">!</span>}
      {mark && <span className="tag" data-mark={mark}>{mark}</span>}
      <span className="policy-number">{limitWord(row.queue.guaranteed) || "–"}</span>
      <span className="policy-number muted">{row.queue.maximum !== undefined && row.queue.maximum !== null ? `≤ ${limitWord(row.queue.maximum)}` : ""}</span>
    </>
  );
}

function Add({ chosen, add, close }: { chosen: Path | null; add: (holder: Path, name: string) => void; close: () => void }) {
  const [name, setName] = useState("");
  const holder: Path = chosen ? [...chosen, "children"] : ["queues"];
  const bad = name !== "" && !NAME.test(name);
  return (
    <form className="policy-add" onSubmit={(e) => { e.preventDefault(); if (name && !bad) { add((e.nativeEvent as SubmitEvent).submitter?.dataset.top ? ["queues"] : holder, name); close(); } }}>
      <TextInput data-autofocus autoFocus label="Name of the new queue" value={name} error={bad && "lower-case letters, digits, - and _"} onChange={(e) => setName(e.currentTarget.value)} />
      <div className="row wrap">
        <Button type="submit" disabled={!name || bad}>{chosen ? `Below ${chosen.filter((p) => p !== "children" && p !== "queues").join(".")}` : "Add"}</Button>
        {chosen && <Button type="submit" data-top="yes" variant="default" disabled={!name || bad}>At the top</Button>}
        <Button variant="subtle" onClick={close}>Cancel</Button>
      </div>
    </form>
  );
}
