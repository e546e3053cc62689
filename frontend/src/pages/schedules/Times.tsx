/** The fields of a schedule that say when, and what happens then. */
import { NativeSelect, TextInput } from "@mantine/core";
import type { FieldError } from "../../api/types";
import { Card } from "../../ui/parts";
import { said, type Draft } from "./draft";
import type { Overlap } from "./types";
import { OVERLAPS } from "./words";

const CHOICES = Object.entries(OVERLAPS).map(([value, label]) => ({ value, label }));

function zones(): string[] {
  return ["UTC", ...(Intl.supportedValuesOf?.("timeZone") ?? [])];
}

export function Times({ draft, errors, set }: { draft: Draft; errors: FieldError[]; set: (more: Partial<Draft>) => void }) {
  return (
    <Card title="When">
      <div className="schedule-fields">
        <TextInput label="Name" description="As lists show it" required maxLength={128} autoComplete="off" value={draft.name} error={said(errors, "name")} onChange={(e) => set({ name: e.currentTarget.value })} />
        <TextInput className="mono-field" label="Cron" description="Minute hour day month weekday" required maxLength={255} autoComplete="off" spellCheck={false} value={draft.cron} error={said(errors, "cron")} onChange={(e) => set({ cron: e.currentTarget.value })} />
        <TextInput label="Time zone" description="Like Europe/Berlin" required maxLength={64} list="zones" autoComplete="off" spellCheck={false} value={draft.zone} error={said(errors, "zone")} onChange={(e) => set({ zone: e.currentTarget.value })} />
        <datalist id="zones">{zones().map((zone) => <option key={zone} value={zone} />)}</datalist>
        <NativeSelect label="Overlap" description="While its last job still lives" data={CHOICES} value={draft.overlap} error={said(errors, "overlap")} onChange={(e) => set({ overlap: e.currentTarget.value as Overlap })} />
        <TextInput label="Starts within" description="30m, 2h; later it is skipped" value={draft.within} error={said(errors, "start_within_s")} onChange={(e) => set({ within: e.currentTarget.value })} />
        <TextInput label="Not on" description="YYYY-MM-DD, 12-25, one/another" placeholder="none" autoComplete="off" value={draft.except} error={said(errors, "except_days")} onChange={(e) => set({ except: e.currentTarget.value })} />
        <TextInput type="datetime-local" label="Until" description="Nothing after it; your time" value={draft.until} error={said(errors, "until")} onChange={(e) => set({ until: e.currentTarget.value })} />
        <TextInput type="number" label="History" description="Times kept, the last ones" min={1} max={1000} value={draft.keep} error={said(errors, "keep")} onChange={(e) => set({ keep: e.currentTarget.value })} />
      </div>
    </Card>
  );
}
