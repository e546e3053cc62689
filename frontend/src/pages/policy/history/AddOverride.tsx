/** A field of a queue with another value for a time. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { ApiError, post } from "../../../api/client";
import { localInput } from "../../../format/units";
import { useRead } from "../../../live/hooks";
import { Command, Confirm } from "../../../ui/parts";
import { monday, turned } from "../model/calendar";
import { overrideCommand } from "../model/commands";
import { QueueChoice } from "../../job/QueueChoice";
import { made, type OverrideFields } from "../model/override";
import type { Override, Policy, Proposal } from "../types";

const FIELDS: OverrideFields["field"][] = ["guaranteed", "maximum", "weight", "user_maximum", "max_running_jobs", "max_running_jobs_per_user", "max_live_jobs_per_user", "max_live_tasks_per_user", "max_live_mib_per_user"];

export function AddOverride({ day, onClose }: { day: string; onClose: () => void }) {
  const policy = useRead<Policy>("/policy", "override");
  const partitions = Object.keys((policy.data?.document.partitions as Record<string, unknown> | undefined) ?? {});
  const [fields, setFields] = useState<OverrideFields>(() => ({
    queue: "", field: "guaranteed", partition: "", by: "percent", value: "+20", start: day ? `${day}T00:00` : "", end: localInput(turned(monday(day ? new Date(`${day}T00:00`) : new Date()), "week", 1)), message: "",
  }));
  const set = (more: Partial<OverrideFields>) => setFields({ ...fields, ...more });
  const found = made(fields, Date.now());
  const client = useQueryClient();
  const [, go] = useLocation();
  const send = useMutation<Override | Proposal, ApiError>({
    mutationFn: () => ("wrong" in found ? Promise.reject(new ApiError(0, found.wrong, "")) : post<Override | Proposal>("/policy/overrides", found.request)),
    onSuccess: (done) => {
      void client.invalidateQueries({ queryKey: ["read"] });
      onClose();
      if ("payload" in done) go(`/policy/proposals/${done.id}`);
    },
  });
  const limit = fields.field === "guaranteed" || fields.field === "maximum";
  return (
    <Confirm title="Add an override" action="Add it" busy={send.isPending} error={send.error} onClose={onClose} onConfirm={() => send.mutate()}>
      <p className="muted small">For a time, then what the policy says holds again by itself. Where a raised guarantee needs room, its siblings give way in proportion.</p>
      <QueueChoice value={fields.queue} onChange={(queue) => set({ queue })} which="any" />
      <div className="row wrap policy-fieldrow">
        <NativeSelect label="Field" data={FIELDS.map((f) => ({ value: f, label: f.replaceAll("_", " ") }))} value={fields.field} onChange={(e) => set({ field: e.currentTarget.value as OverrideFields["field"] })} />
        <NativeSelect label="Changes" data={[{ value: "percent", label: "by percent" }, { value: "to", label: "to" }]} value={fields.by} onChange={(e) => set({ by: e.currentTarget.value as OverrideFields["by"] })} />
        <TextInput className="grow" label="Value" placeholder={fields.by === "percent" ? "+20" : limit ? "60%" : "5, or none"} value={fields.value} onChange={(e) => set({ value: e.currentTarget.value })} />
      </div>
      {limit && partitions.length > 0 && <NativeSelect label="Of the nodes of" data={[{ value: "", label: "no partition" }, ...partitions]} value={fields.partition} onChange={(e) => set({ partition: e.currentTarget.value })} />}
      <div className="row wrap policy-fieldrow">
        <TextInput className="grow" type="datetime-local" label="From" description="empty: at once" value={fields.start} onChange={(e) => set({ start: e.currentTarget.value })} />
        <TextInput className="grow" type="datetime-local" label="Until" description="your time" value={fields.end} onChange={(e) => set({ end: e.currentTarget.value })} />
      </div>
      <TextInput label="Why" maxLength={1000} value={fields.message} onChange={(e) => set({ message: e.currentTarget.value })} />
      <Command text={overrideCommand({ ...("request" in found ? found.request : { queue: fields.queue, field: fields.field, partition: fields.partition, change: fields.by === "percent" ? { percent: Number.parseFloat(fields.value) || 0 } : { to: fields.value }, message: fields.message }), starts_at: fields.start || null, ends_at: fields.end })} />
    </Confirm>
  );
}
