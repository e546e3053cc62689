/** Memory and cores used against what was asked for, per group, with the size that would have done. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { get, type ApiError } from "../../api/client";
import type { GroupUsage, Job, JobUsage } from "../../api/types";
import { cores, count, memory } from "../../format/units";
import { Card, Command, Empty, Failed, Loading } from "../../ui/parts";
import { useMoved } from "./useAttempts";

function useUsage(job: Job) {
  const moved = useMoved(job);
  return useQuery<JobUsage, ApiError>({
    queryKey: ["usage", job.id, moved], queryFn: ({ signal }) => get<JobUsage>(`/jobs/${job.id}/usage`, signal), placeholderData: keepPreviousData, retry: 1,
  });
}

export default function Usage({ job }: { job: Job }) {
  const read = useUsage(job);
  const rows = read.data?.results ?? [];
  return (
    <Card flush title="Used against asked for" aside={<Command text={`hydractl containers ${job.id} --usage`} />}>
      {read.error && !read.data ? <div className="body"><Failed error={read.error} retry={() => void read.refetch()} /></div>
        : !read.data ? <Loading label="Loading what was used" />
        : !rows.some((r) => r.measured > 0) ? <Empty title="Nothing was measured yet">Nodes tell an attempt's memory peak and processor time at its end.</Empty>
        : (
          <div className="table-wrap"><table className="grid usage">
            <thead><tr><th>Group</th><th className="num">Attempts</th><th>Memory peak of what was asked</th><th>Cores busy of what was asked</th><th>A better size</th></tr></thead>
            <tbody>{rows.map((r) => <Row key={r.group} r={r} />)}</tbody>
          </table></div>)}
      {read.data && !read.data.complete && <p className="muted small tasks-foot">Of the first {count(rows.reduce((sum, r) => sum + r.attempts, 0))} attempts.</p>}
    </Card>
  );
}

function Row({ r }: { r: GroupUsage }) {
  const fits = r.better_memory_mib === null && r.better_vcores_milli === null;
  return (
    <tr>
      <td><b>{r.group}</b></td>
      <td className="num">{count(r.measured)}</td>
      <td><Bar part={r.peak_memory_mib} mid={r.p95_memory_mib} whole={r.memory_mib} text={`${memory(r.peak_memory_mib)} of ${memory(r.memory_mib)}; 95 % stay below ${memory(r.p95_memory_mib)}`} /></td>
      <td><Bar part={r.p95_vcores_milli} mid={r.mean_vcores_milli} whole={r.vcores_milli} text={`${cores(r.p95_vcores_milli)} of ${cores(r.vcores_milli)}; ${cores(r.mean_vcores_milli)} on average`} /></td>
      <td className="wrap-any"><span className={fits ? "muted" : undefined}>{r.hint}</span></td>
    </tr>
  );
}

function Bar({ part, mid, whole, text }: { part: number; mid: number; whole: number; text: string }) {
  const width = (n: number) => `${whole > 0 ? Math.min(100, (100 * n) / whole) : 0}%`;
  return (
    <div className="used">
      <div className="meter" role="img" aria-label={text}><svg preserveAspectRatio="none" aria-hidden="true"><rect width={width(part)} height="100%" fill="var(--heat-1)" /><rect width={width(mid)} y="3" height="2" fill="var(--used)" /></svg></div>
      <span className="small muted">{text}</span>
    </div>
  );
}
