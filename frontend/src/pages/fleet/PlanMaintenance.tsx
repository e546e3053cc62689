/** Plan a maintenance window. */
import { NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError, post } from "../../api/client";
import type { MaintenanceWindow, SubCluster } from "../../api/types";
import { localInput } from "../../format/units";
import { Command, Confirm } from "../../ui/parts";
import { request, wrong, type Plan } from "./duty";
import { hydractl } from "../../format/shell";

const HOUR_MS = 3_600_000;

export default function PlanMaintenance({ subClusters, onClose }: { subClusters: SubCluster[]; onClose: () => void }) {
  const [plan, setPlan] = useState<Plan>(() => ({
    sub_cluster: subClusters[0]?.name ?? "", by: "node", which: "", start: localInput(new Date(Date.now() + HOUR_MS)), hours: 2, lead_min: 10, message: "",
  }));
  const set = (more: Partial<Plan>) => setPlan({ ...plan, ...more });
  const client = useQueryClient();
  const missing = wrong(plan);
  const send = useMutation<MaintenanceWindow, ApiError>({
    mutationFn: () => (missing ? Promise.reject(new ApiError(0, missing, "")) : post<MaintenanceWindow>("/maintenance", request(plan))),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); onClose(); },
  });
  const command = hydractl("maintenance", "add", plan.sub_cluster, `--${plan.by}`, plan.which.trim() || "…", "--start", plan.start, "--for", `${plan.hours}h`,
    "--lead", `${plan.lead_min}m`, ...(plan.message ? ["--message", plan.message] : []));
  return (
    <Confirm title="Plan maintenance" action="Plan it" busy={send.isPending} error={send.error} onClose={onClose} onConfirm={() => send.mutate()}>
      <p>The nodes are empty when the window starts and take work again by themselves when it ends.</p>
      <NativeSelect label="Sub-cluster" data={subClusters.map((sc) => sc.name)} value={plan.sub_cluster} onChange={(e) => set({ sub_cluster: e.currentTarget.value })} />
      <div className="row">
        <NativeSelect label="Nodes by" data={[{ value: "node", label: "name" }, { value: "rack", label: "rack" }, { value: "labels", label: "labels" }]} value={plan.by} onChange={(e) => set({ by: e.currentTarget.value as Plan["by"] })} />
        <TextInput className="grow" label="Which" placeholder={{ node: "east-1", rack: "r1", labels: "gpu && zone == a" }[plan.by]} value={plan.which} onChange={(e) => set({ which: e.currentTarget.value })} />
      </div>
      <TextInput type="datetime-local" label="Starts" value={plan.start} onChange={(e) => set({ start: e.currentTarget.value })} />
      <div className="row">
        <TextInput type="number" label="Lasts, hours" min={0.1} max={8784} step="any" value={plan.hours} onChange={(e) => set({ hours: Number(e.currentTarget.value) })} />
        <TextInput type="number" label="Services move, minutes before" min={0} max={1440} value={plan.lead_min} onChange={(e) => set({ lead_min: Number(e.currentTarget.value) })} />
      </div>
      <TextInput label="Why" description="Owners of what moves read it" maxLength={255} value={plan.message} onChange={(e) => set({ message: e.currentTarget.value })} />
      <Command text={command} />
    </Confirm>
  );
}
