/** Which trace: one that was handed in before, or a file; and on whose nodes. */
import { NativeSelect, TextInput } from "@mantine/core";
import { count, duration } from "../../../format/units";
import { KINDS, type ChosenTrace } from "../model/asking";
import type { SimulationTrace } from "../types";
import { useTraces } from "./useSimulation";

const NEW = "new";
const wordsOf = (t: SimulationTrace): string => `${t.id}: ${t.name}, ${count(t.jobs)} jobs over ${duration(1000 * t.span_s)}`;

export function TraceFields({ chosen, set, wrong }: { chosen: ChosenTrace; set: (more: Partial<ChosenTrace>) => void; wrong: (field: string) => boolean | undefined }) {
  const traces = useTraces().data?.results ?? [];
  const kept = traces.find((trace) => trace.id === chosen.kept);
  const kind = kept?.kind ?? chosen.kind;
  return (
    <>
      <NativeSelect className="whatif-trace" label="Trace" value={chosen.kept ?? NEW} onChange={(e) => set({ kept: e.currentTarget.value === NEW ? null : Number(e.currentTarget.value) })}
        data={[{ value: NEW, label: "Hand in a file…" }, ...traces.map((trace) => ({ value: `${trace.id}`, label: wordsOf(trace) }))]} />
      {chosen.kept === null && (
        <>
          <FileField label="File" hint="Plain or gzipped, 16 MiB at most" wrong={wrong("trace")} set={(file) => set({ file })} />
          <NativeSelect label="It is" value={chosen.kind} error={wrong("kind")} onChange={(e) => set({ kind: e.currentTarget.value })} data={Object.entries(KINDS).map(([value, { title }]) => ({ value, label: title }))} />
          <TextInput label="Options of its reader" placeholder={'{"queue": "root.default"}'} title="A JSON object; most kinds take queue, which says where the jobs go" error={wrong("options")} value={chosen.options} onChange={(e) => set({ options: e.currentTarget.value })} />
        </>
      )}
      <label className="row whatif-own"><input type="checkbox" checked={chosen.ownNodes} onChange={(e) => set({ ownNodes: e.currentTarget.checked })} />On the trace's own nodes</label>
      {chosen.ownNodes && KINDS[kind]?.nodesFile && <FileField label="Nodes" hint={kept?.nodes ? `In place of its ${count(kept.nodes)} nodes` : "The trace's file of nodes"} wrong={wrong("nodes")} set={(nodes) => set({ nodes })} />}
    </>
  );
}

function FileField({ label, hint, wrong, set }: { label: string; hint: string; wrong: boolean | undefined; set: (file: File | null) => void }) {
  return (
    <label className="whatif-file" title={hint}>
      <span>{label}</span>
      <input type="file" aria-invalid={wrong || undefined} onChange={(e) => set(e.currentTarget.files?.[0] ?? null)} />
    </label>
  );
}
