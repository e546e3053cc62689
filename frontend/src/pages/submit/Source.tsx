/** The job file as text, its faulty lines marked, and the list of what is to be put right. */
import type { FieldError } from "../../api/types";
import type { Parsed } from "./source";

export function Source({ text, marked, area, onChange, onSubmit }: {
  text: string; marked: Set<number>; area: React.RefObject<HTMLTextAreaElement | null>; onChange: (t: string) => void; onSubmit: () => void;
}) {
  const lines = text.split("\n").length;
  return (
    <div className="source">
      <div className="gutter" aria-hidden="true">{Array.from({ length: lines }, (_, i) => <div key={i} data-bad={marked.has(i + 1) || undefined}>{i + 1}</div>)}</div>
      <textarea ref={area} aria-label="Job file" aria-invalid={marked.size > 0} spellCheck={false} autoCapitalize="off" autoComplete="off" rows={lines + 1} value={text}
        onChange={(e) => onChange(e.currentTarget.value)} onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) onSubmit(); }} />
    </div>
  );
}

export function Problems({ parsed, errors, jump }: { parsed: Parsed; errors: FieldError[]; jump: (line: number) => void }) {
  const rows = [
    ...parsed.problems.map((p) => ({ where: `line ${p.line}`, line: p.line as number | null, message: p.message, remedy: undefined as string | undefined })),
    ...errors.map((e) => ({ where: e.field, line: parsed.lineOf(e.field), message: e.message, remedy: e.remedy })),
  ];
  return (
    <section className="card" role="alert" aria-label="Problems">
      <header><h2>{rows.length === 1 ? "One thing to put right" : `${rows.length} things to put right`}</h2></header>
      {rows.map((r, i) => (
        <button type="button" key={i} className="field-error" onClick={() => r.line && jump(r.line)}>
          <b>{r.where}{r.line && !r.where.startsWith("line") ? `, line ${r.line}` : ""}</b><span>{r.message}</span>{r.remedy && <span className="muted small">{r.remedy}</span>}
        </button>
      ))}
    </section>
  );
}

/** What keeps the job from ever starting, and names that nobody has: it would be taken all the same. */
export function Warnings({ parsed, warnings, jump }: { parsed: Parsed; warnings: FieldError[]; jump: (line: number) => void }) {
  return (
    <section className="card" role="status" aria-label="Warnings">
      <header><h2>The server would take it, but warns of this</h2></header>
      {warnings.map((w, i) => {
        const line = parsed.lineOf(w.field);
        return (
          <button type="button" key={i} className="field-error" onClick={() => line && jump(line)}>
            <b>{w.field}{line ? `, line ${line}` : ""}</b><span>{w.message}</span>{w.remedy && <span className="muted small">{w.remedy}</span>}
          </button>
        );
      })}
    </section>
  );
}
