/** Why a job waits: per group the limits in the order they bind, its place, when it can start, and what would start it. */
import type { Group, Job, WaitLimit, WaitReason } from "../../api/types";
import { comparisons, place, sentence, title, waitingLine } from "../../format/reason";
import { ended } from "../../format/states";
import { ago } from "../../format/units";
import { Clock } from "../../ui/icons";

export function Waiting({ job, now }: { job: Job; now: number }) {
  if (ended(job.state)) return null;
  const groups = job.groups.filter((g) => g.reason && !ended(g.state));
  if (groups.length === 0 && !job.waiting) return null;
  return (
    <section className="notice warn waiting" aria-labelledby="why-it-waits" data-testid="waiting">
      <Clock />
      <div className="grow">
        <h2 id="why-it-waits">Why it waits</h2>
        {groups.length === 0 && <p>{job.waiting}</p>}
        {groups.map((group) => <GroupWaiting key={group.no} group={group} reason={group.reason as WaitReason} now={now} />)}
      </div>
    </section>
  );
}

function GroupWaiting({ group, reason, now }: { group: Group; reason: WaitReason; now: number }) {
  const limits = reason.limits?.length ? reason.limits : [{ limit: reason.code, text: reason.text ?? "", asked: {}, available: {} }];
  const where = place(reason);
  return (
    <div className="why">
      <h3>{waitingLine(group)}</h3>
      <ol className="limits">{limits.map((limit, i) => <Limit key={`${limit.limit}${i}`} limit={limit} code={reason.code} />)}</ol>
      <dl className="why-facts small">
        {where && <div><dt>Place</dt><dd>{where}</dd></div>}
        {reason.estimate?.text && <div><dt>Starts</dt><dd>{reason.estimate.text}</dd></div>}
        {reason.change?.text && <div><dt>{reason.change.starts ? "Would start it now" : "What helps"}</dt><dd>{reason.change.text}</dd></div>}
        {reason.at && <div><dt>As of</dt><dd>{ago(reason.at, now)}</dd></div>}
      </dl>
    </div>
  );
}

function Limit({ limit, code }: { limit: WaitLimit; code: string }) {
  return (
    <li>
      <span className="limit-name">{title(limit.limit)}</span>
      <span>{sentence(limit.text || undefined, code)}</span>
      {comparisons(limit).map(({ name, asked, there, part }) => (
        <span className="compare" key={name} role="img" aria-label={`${there} available, ${asked} asked`}>
          <svg preserveAspectRatio="none" aria-hidden="true"><rect width={`${100 * part}%`} height="100%" /></svg>
          <span className="small">{there} of {asked}</span>
        </span>
      ))}
    </li>
  );
}
