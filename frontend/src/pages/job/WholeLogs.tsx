/** Finds a text in all that a job's tasks have written: what is shown of their logs is only the end. */
import { Button } from "@mantine/core";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import type { FoundLine, FoundLinePage } from "../../api/types";
import { bytes, many } from "../../format/units";
import { usePages } from "../../live/pages";
import { Failed } from "../../ui/parts";
import { plain } from "./log";
import { Marked } from "./Marked";
import { logAddress, taskName } from "./params";

const AT_ONCE = 200;

export function WholeLogs({ jobId, needle }: { jobId: number; needle: string }) {
  const [asked, ask] = useState("");
  if (asked === needle) return <Found key={needle} jobId={jobId} needle={needle} />;
  return (
    <div className="whole-logs row wrap">
      <span className="small muted">Only the lines below are looked through.</span>
      <Button variant="default" size="xs" onClick={() => ask(needle)}>Find in all that the job has written</Button>
    </div>
  );
}

/** Goes on by itself until there is something to show; then it is asked. */
function Found({ jobId, needle }: { jobId: number; needle: string }) {
  const pages = usePages<FoundLine, FoundLinePage>(`/jobs/${jobId}/logs?${new URLSearchParams({ contains: needle, page_size: String(AT_ONCE) })}`, "");
  const [wanted, want] = useState(AT_ONCE);
  const { more, reading } = pages;
  const found = pages.rows ?? [];
  const goesOn = more !== null && found.length < wanted;
  useEffect(() => {
    if (goesOn && !reading && !pages.error) more?.();
  }, [goesOn, reading, more, pages.error]);
  const searched = (pages.pages ?? []).reduce((sum, page) => sum + page.searched, 0);
  const looking = !pages.error && (!pages.rows || goesOn);
  return (
    <section className="whole-logs" aria-label="Found in all that the job has written">
      <div className="row wrap">
        <h3 className="small" role="status">{looking ? "Looking" : more ? "So far" : "In all that the job has written"}: {many(found.length, "line")} in {bytes(searched)}</h3>
        {!looking && more && <Button variant="default" size="xs" onClick={() => want(found.length + AT_ONCE)}>Look further</Button>}
      </div>
      {pages.error && <Failed error={pages.error} retry={pages.again} />}
      {found.length > 0 && <ol className="found">{found.map((line) => <FoundIn key={`${line.container} ${line.stream} ${line.offset}`} jobId={jobId} line={line} needle={needle} />)}</ol>}
    </section>
  );
}

function FoundIn({ jobId, line, needle }: { jobId: number; line: FoundLine; needle: string }) {
  const where = [line.attempt > 1 && `attempt ${line.attempt}`, line.stream === "stderr" && "stderr"].filter(Boolean).join(", ");
  return (
    <li data-stderr={line.stream === "stderr" || undefined}>
      <span className="where small"><Link href={logAddress(jobId, taskName(line), line.container, line.stream, needle)}>{taskName(line)}</Link>{where && <span className="muted"> {where}</span>}</span>
      <code><Marked line={plain(line.text)} needle={needle} /></code>
    </li>
  );
}
