/** Somebody pushed in between: their change, mine, and what both were made from. Nothing of mine is lost. */
import { Button, SegmentedControl } from "@mantine/core";
import { useMemo, useState } from "react";
import { moment } from "../../../format/units";
import { Card, Notice } from "../../../ui/parts";
import type { DraftView } from "../edit/useDraft";
import { brief, merged, threeWay, type Difference } from "../model/merge";
import { toPointer } from "../model/text";
import type { Json, Path, Policy } from "../types";

const where = (path: Path): string => path.join(".") || "the document";

export function Conflict({ draft, mine, theirs, done }: { draft: DraftView; mine: Json; theirs: Policy; done: () => void }) {
  const found = useMemo(() => threeWay(draft.base.document, mine, theirs.document), [draft.base, mine, theirs]);
  const [taken, setTaken] = useState<ReadonlySet<string>>(new Set());
  const choose = (pointer: string, them: boolean) => {
    const next = new Set(taken);
    if (them) next.add(pointer);
    else next.delete(pointer);
    setTaken(next);
  };
  const goOn = (text: string) => {
    draft.rebase(theirs, text);
    done();
  };
  return (
    <section aria-label="Changed by somebody else meanwhile" className="policy-conflict">
      <Notice kind="warn">
        <strong>Version {theirs.version} of {theirs.author ?? "the system"} came in between</strong> ({moment(theirs.at)}): “{theirs.message}”. You began with version {draft.base.version}. Your text is kept.
      </Notice>
      <div className="policy-threeway">
        <Side title="Their change" note={`version ${draft.base.version} to ${theirs.version}`} changes={found.theirs} />
        <Side title="Your change" note={`version ${draft.base.version} to your text`} changes={found.mine} />
      </div>
      {found.conflicts.length > 0 && (
        <Card title={found.conflicts.length === 1 ? "One place that both of you changed" : `${found.conflicts.length} places that both of you changed`}>
          <ul className="policy-conflicts">
            {found.conflicts.map((c) => {
              const pointer = toPointer(c.path);
              return (
                <li key={pointer}>
                  <b className="mono wrap-any">{where(c.path)}</b>
                  <dl className="facts small"><div><dt>was</dt><dd>{brief(c.base)}</dd></div><div><dt>theirs</dt><dd>{brief(c.theirs)}</dd></div><div><dt>yours</dt><dd>{brief(c.mine)}</dd></div></dl>
                  <SegmentedControl size="xs" aria-label={`Which holds for ${where(c.path)}`} value={taken.has(pointer) ? "theirs" : "mine"} onChange={(v) => choose(pointer, v === "theirs")} data={[{ value: "mine", label: "Keep yours" }, { value: "theirs", label: "Take theirs" }]} />
                </li>
              );
            })}
          </ul>
        </Card>
      )}
      <div className="row wrap policy-actions">
        <Button onClick={() => goOn(merged(draft.text, found, taken))}>{found.conflicts.length ? "Go on with both, as chosen" : "Go on with both changes"}</Button>
        <Button variant="default" onClick={() => goOn(draft.text)}>Go on with your text alone</Button>
        <span className="muted small">The second takes their change back. Either way you see the plan again before anything is pushed.</span>
      </div>
    </section>
  );
}

function Side({ title, note, changes }: { title: string; note: string; changes: Difference[] }) {
  return (
    <Card title={title} aside={<span className="muted small">{note}</span>}>
      {changes.length === 0 && <p className="muted">Nothing.</p>}
      <ul className="policy-differences">
        {changes.slice(0, 40).map((c) => (
          <li key={toPointer(c.path)}><span className="mono wrap-any">{where(c.path)}</span><span className="small"><span className="muted">{brief(c.before, 60)}</span> → <b>{brief(c.after, 60)}</b></span></li>
        ))}
      </ul>
      {changes.length > 40 && <p className="muted small">and {changes.length - 40} more</p>}
    </Card>
  );
}
