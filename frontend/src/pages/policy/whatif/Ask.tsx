/** The question: over which window or which trace, and how many runs. */
import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { useState } from "react";
import { localInput } from "../../../format/units";
import { Command } from "../../../ui/parts";
import { NO_TRACE, SEEDS_MOST, simulateCommand, type Chosen, type What, type Window } from "../model/asking";
import { movedTo } from "../model/renamed";
import { Refusal } from "../parts";
import { RenamedQueues } from "./RenamedQueues";
import { TraceFields } from "./TraceFields";
import { useRenamed } from "./useRenamed";
import { useAsk } from "./useSimulation";

const WINDOWS: { value: Window; label: string }[] = [
  { value: "hour", label: "Last hour" }, { value: "day", label: "Last day" }, { value: "week", label: "Last week" }, { value: "span", label: "From, to…" }, { value: "trace", label: "A trace…" },
];
const HOUR_MS = 3_600_000;

export function Ask({ what, again, onAsked }: { what: What; again: boolean; onAsked: (id: number) => void }) {
  const [chosen, setChosen] = useState<Chosen>(() => ({ window: "hour", from: localInput(new Date(Date.now() - 4 * HOUR_MS)), to: localInput(new Date()), seeds: "3", trace: NO_TRACE, queues: {} }));
  const set = (more: Partial<Chosen>) => setChosen({ ...chosen, ...more });
  const ask = useAsk(what, onAsked, (kept) => setChosen((now) => ({ ...now, trace: { ...now.trace, kept, file: null, nodes: null } })));
  const queues = useRenamed(what);
  const asked = { ...chosen, queues: movedTo(queues.gone, chosen.queues) };
  const wrong = (field: string) => ask.error?.errors.some((e) => e.field === field);
  return (
    <form className="whatif-ask" noValidate onSubmit={(e) => { e.preventDefault(); ask.mutate(asked); }}>
      <div className="whatif-fields">
        <div className="whatif-window">
          <span aria-hidden="true">Over</span>
          <SegmentedControl aria-label="Window that is replayed" value={chosen.window} onChange={(v) => set({ window: v as Window })} data={WINDOWS} />
        </div>
        {chosen.window === "span" && (
          <>
            <TextInput type="datetime-local" label="From" error={wrong("from")} value={chosen.from} onChange={(e) => set({ from: e.currentTarget.value })} />
            <TextInput type="datetime-local" label="To" error={wrong("to")} value={chosen.to} onChange={(e) => set({ to: e.currentTarget.value })} />
          </>
        )}
        {chosen.window === "trace" && <TraceFields chosen={chosen.trace} set={(more) => set({ trace: { ...chosen.trace, ...more } })} wrong={wrong} />}
        <TextInput className="whatif-seeds" type="number" min={1} max={SEEDS_MOST} label="Seeds" title="Runs of each policy; more tell chance apart" error={wrong("seeds")} value={chosen.seeds} onChange={(e) => set({ seeds: e.currentTarget.value })} />
        <Button type="submit" loading={ask.isPending} variant={again ? "default" : "filled"}>{again ? "Simulate again" : "Simulate"}</Button>
        <Command text={simulateCommand(asked, what)} />
      </div>
      {queues.gone.length > 0 && <RenamedQueues queues={queues} said={chosen.queues} say={(said) => set({ queues: said })} wrong={wrong} />}
      {ask.error && <Refusal error={ask.error} />}
    </form>
  );
}
