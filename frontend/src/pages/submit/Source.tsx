/** The job file as text, its faulty lines marked, and the list of what is to be put right. */
import type { FieldError } from "../../api/types";
import { whereOf } from "../../format/text";

export function Source({ text, marked, area, onChange }: {
  text: string; marked: Set<number>; area: React.RefObject<HTMLTextAreaElement | null>; onChange: (t: string) => void;
}) {
  const lines = text.split("\n").length;
  return (
    <div className="source">
      <div className="gutter" aria-hidden="true">{Array.from({ length: lines }, (_, i) => <div key={i} data-bad={marked.has(i + 1) || undefined}>{i + 1}</div>)}</div>
      <textarea ref={area} aria-label="Job file" aria-invalid={marked.size > 0} spellCheck={false} autoCapitalize="off" autoComplete="off" rows={lines + 1} value={text}
        onChange={(e) => onChange(e.currentTarget.value)} />
    </div>
  );
}

interface Told {
  errors: FieldError[];
  jump: (line: number) => void;
}

/** All that is to be put right, in the words of the server. */
export function Problems({ errors, jump }: Told) {
  return (
    <section className="card" role="alert" aria-label="Problems">
      <header><h2>{errors.length === 1 ? "One thing to put right" : `${errors.length} things to put right`}</h2></header>
      <Rows errors={errors} jump={jump} />
    </section>
  );
}

/** What keeps the job from ever starting, and names that nobody has: it would be taken all the same. */
export function Warnings({ errors, jump }: Told) {
  return (
    <section className="card" role="status" aria-label="Warnings">
      <header><h2>The server would take it, but warns of this</h2></header>
      <Rows errors={errors} jump={jump} />
    </section>
  );
}

function Rows({ errors, jump }: Told) {
  return errors.map((e, i) => (
    <button type="button" key={i} className="field-error" onClick={() => e.line && jump(e.line)}>
      <b>{whereOf(e)}</b><span>{e.message}</span>{e.remedy && <span className="muted small">{e.remedy}</span>}
    </button>
  ));
}
