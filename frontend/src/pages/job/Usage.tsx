/** Memory and cores used against what was asked for, per group, with the size that would have done. */
import type { Job } from "../../api/types";
import { cores, count, memory } from "../../format/units";
import { Card, Command, Empty, Failed, Loading } from "../../ui/parts";
import { usage, type GroupUsage } from "./usage";
import { useAttempts } from "./useAttempts";

export default function Usage({ job }: { job: Job }) {
  const attempts = useAttempts(job);
  const rows = attempts.data ? usage(job.groups, attempts.data.list) : [];
  const measured = rows.some((r) => r.measured > 0);
  return (
    <Card flush title="Used against asked for" aside={<Command text={`hydractl containers ${job.id} -o json`} />}>
      {attempts.error && !attempts.data ? <div className="body"><Failed error={attempts.error} retry={() => void attempts.refetch()} /></div>
        : !attempts.data ? <Loading label="Loading what was used" />
        : !measured ? <Empty title="Nothing was measured yet">Nodes tell an attempt's memory peak and processor time at its end.</Empty>
        : (
          <div className="table-wrap"><table className="grid usage">
            <thead><tr><th>Group</th><th className="num">Attempts</th><th>Memory peak of what was asked</th><th>Cores busy of what was asked</th><th>A better size</th></tr></thead>
            <tbody>{rows.map((r) => <Row key={r.group} r={r} />)}</tbody>
          </table></div>)}
      {attempts.data && !attempts.data.complete && <p className="muted small tasks-foot">Of the first {count(attempts.data.list.length)} attempts.</p>}
    </Card>
  );
}

function Row({ r }: { r: GroupUsage }) {
  return (
    <tr>
      <td><b>{r.group}</b></td>
      <td className="num">{count(r.measured)}</td>
      <td><Bar part={r.peakMib} mid={r.p95Mib} whole={r.askedMib} text={`${memory(r.peakMib)} of ${memory(r.askedMib)}; 95 % stay below ${memory(r.p95Mib)}`} /></td>
      <td><Bar part={r.p95Milli} mid={r.meanMilli} whole={r.askedMilli} text={`${cores(Math.round(r.p95Milli))} of ${cores(r.askedMilli)}; ${cores(Math.round(r.meanMilli))} on average`} /></td>
      <td className="wrap-any">{r.hint ? r.hint.text : <span className="muted">{r.measured < 3 ? "Too few attempts to say" : "It fits"}</span>}</td>
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
