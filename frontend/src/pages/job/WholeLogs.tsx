/** Finds a text in all that a job's tasks have written: what is shown of their logs is only the end. */
import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import type { FoundLine, FoundLinePage } from "../../api/types";
import { bytes, many } from "../../format/units";
import { usePages } from "../../live/pages";
import { Failed } from "../../ui/parts";
import { plain } from "./log";
import { Marked } from "./Marked";
import { logAddress, taskName, useParams } from "./params";

const AT_ONCE = 200;
const TEXT_MAX = 255;

/** What was asked for stands in the address, so that the way back from a line leads here. */
export function WholeLogs({ jobId, needle }: { jobId: number; needle: string }) {
  const { get, set } = useParams();
  if (get("find") === needle) return <Found key={needle} jobId={jobId} needle={needle} />;
  return (
    <div className="whole-logs row wrap">
      <span className="small muted">Only the lines below are looked through.</span>
      <Button variant="default" size="xs" disabled={needle.length > TEXT_MAX} onClick={() => set({ find: needle })}>Find in all that the job has written</Button>
    </div>
  );
}

/** Goes on by itself until there is something to show, or somebody stops it. */
function Found({ jobId, needle }: { jobId: number; needle: string }) {
  const pages = usePages<FoundLine, FoundLinePage>(`/jobs/${jobId}/logs?${new URLSearchParams({ contains: needle, page_size: String(AT_ONCE) })}`, "", { still: true });
  const [wanted, want] = useState(AT_ONCE);
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus({ preventScroll: true }), []);
  const { more, reading, error } = pages;
  const found = pages.rows ?? [];
  const goesOn = more !== null && found.length < wanted;
  useEffect(() => {
    if (goesOn && !reading && !error) more();
  }, [goesOn, reading, more, error]);
  const searched = (pages.pages ?? []).reduce((sum, page) => sum + page.searched, 0);
  const looking = !error && (!pages.rows || goesOn);
  const told = `${many(found.length, "line")} in ${bytes(searched)}`;
  return (
    <section ref={box} tabIndex={-1} className="whole-logs" aria-label="Found in all that the job has written">
      <div className="row wrap">
        {(pages.rows || looking) && <h3 className="small">{looking ? "Looking" : more ? "So far" : "In all that the job has written"}: {told}</h3>}
        {looking && pages.rows && <Button variant="default" size="xs" onClick={() => want(found.length)}>Stop</Button>}
        {!looking && !error && more && <Button variant="default" size="xs" onClick={() => want(found.length + AT_ONCE)}>Look further</Button>}
        <span className="sr" role="status">{looking ? "Looking" : error ? "" : `Found ${told}`}</span>
      </div>
      {error && <Failed error={error} retry={more ?? pages.again} />}
      {found.length > 0 && <ol className="found">{inStreams(found).map(([line, nth]) => <FoundIn key={`${line.container} ${line.stream} ${line.offset}`} jobId={jobId} line={line} nth={nth} needle={needle} />)}</ol>}
    </section>
  );
}

/** Each line with how many of its stream came before it. */
function inStreams(found: FoundLine[]): [FoundLine, number][] {
  const seen = new Map<string, number>();
  return found.map((line) => {
    const stream = `${line.container} ${line.stream}`;
    const nth = seen.get(stream) ?? 0;
    seen.set(stream, nth + 1);
    return [line, nth];
  });
}

function FoundIn({ jobId, line, nth, needle }: { jobId: number; line: FoundLine; nth: number; needle: string }) {
  const where = [line.attempt > 1 && `attempt ${line.attempt}`, line.stream === "stderr" && "stderr"].filter(Boolean).join(", ");
  return (
    <li data-stderr={line.stream === "stderr" || undefined}>
      <span className="where small"><Link href={logAddress(jobId, taskName(line), line.container, line.stream, { needle, nth })}>{taskName(line)}</Link>{where && <span className="muted"> {where}</span>}</span>
      <code><Marked line={plain(line.text)} needle={needle} />{line.cut && <span className="muted" title="A part of a longer line"> …</span>}</code>
    </li>
  );
}
