/** Maintenance windows that are planned or active; operators plan and cancel them. */
import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { ApiError, post } from "../../api/client";
import type { MaintenanceWindow, Page, SubCluster } from "../../api/types";
import { useMe } from "../../app/session";
import { count, duration, moment } from "../../format/units";
import { useFollowed } from "../../live/hooks";
import { Card, Command, Confirm, Failed, Loading, Stale, State, useNow } from "../../ui/parts";

const PlanDialog = lazy(() => import("./PlanMaintenance"));

export function Maintenance({ subClusters }: { subClusters: SubCluster[] }) {
  const operator = useMe().data?.role === "operator";
  const [planning, setPlanning] = useState(false);
  const view = useFollowed<Page<MaintenanceWindow>>("/maintenance", subClusters.map((sc) => `${sc.duties?.open}`).join());
  const now = useNow(10_000);
  const windows = view.data?.results ?? [];
  if (windows.length === 0 && !operator) return null;
  return (
    <Card title="Maintenance" flush aside={<>
      <Command text="hydractl maintenance list" />
      {operator && <Button size="compact-sm" variant="default" onClick={() => setPlanning(true)}>Plan a window…</Button>}
    </>}>
      {view.error && <div className="body">{view.data ? <Stale since={view.dataUpdatedAt} now={now} why={view.error.detail} /> : <Failed error={view.error} retry={() => void view.refetch()} />}</div>}
      {!view.data ? !view.error && <Loading lines={2} label="Loading maintenance" /> : windows.length === 0 ? <p className="muted small body">No maintenance is planned.</p> : (
        <div className="table-wrap">
          <table className="grid small">
            <thead><tr><th>State</th><th>Nodes</th><th>Starts</th><th>Ends</th><th>Why</th><th /></tr></thead>
            <tbody>{windows.map((w) => <Row key={w.id} window={w} operator={operator} />)}</tbody>
          </table>
        </div>
      )}
      {planning && <Suspense><PlanDialog subClusters={subClusters} onClose={() => setPlanning(false)} /></Suspense>}
    </Card>
  );
}

function Row({ window: w, operator }: { window: MaintenanceWindow; operator: boolean }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const cancel = useMutation<MaintenanceWindow, ApiError>({
    mutationFn: () => post<MaintenanceWindow>(`/maintenance/${w.id}/cancel`),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); setAsking(false); },
  });
  const which = w.node ? `node ${w.node}` : w.rack ? `rack ${w.rack}` : w.labels;
  return (
    <tr>
      <td><State state={w.state.toUpperCase()} /></td>
      <td>{w.sub_cluster}, {which} <span className="muted">({count(w.nodes)})</span></td>
      <td title={`Services move from ${duration(w.lead_s * 1000)} before it on`}>{moment(w.starts_at)}</td>
      <td>{moment(w.ends_at)}</td>
      <td className="clip">{w.message}</td>
      <td className="num">
        {operator && <Button size="compact-sm" variant="default" onClick={() => setAsking(true)}>Cancel</Button>}
        {asking && (
          <Confirm title={`Cancel maintenance window ${w.id}?`} action="Cancel the window" busy={cancel.isPending} error={cancel.error} onClose={() => setAsking(false)} onConfirm={() => cancel.mutate()}>
            <p>Its nodes take work again at once.</p>
            <Command text={`hydractl maintenance cancel ${w.id}`} />
          </Confirm>
        )}
      </td>
    </tr>
  );
}
