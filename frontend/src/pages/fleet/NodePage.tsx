/** One node: how it is, what it has and gives, what operators want of it, what runs there. */
import { Button } from "@mantine/core";
import { lazy, Suspense, useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import type { Me, Node, NodeContainer, Page } from "../../api/types";
import { there } from "../../format/resources";
import { ago, coarse, cores, count, memory, moment } from "../../format/units";
import { useLiveness, useTopic } from "../../live/hooks";
import { usePages } from "../../live/pages";
import { Meter } from "../../ui/bars";
import { Card, Command, Empty, Failed, Loading, Stale, State, useNow } from "../../ui/parts";
import { silentFor, standing } from "../overview/fleet";
import { hydractl } from "../../format/shell";

const NodeDuty = lazy(() => import("./NodeDuty"));
const NodeHistory = lazy(() => import("./NodeHistory"));
const STALE_AFTER_MS = 15_000;
const SIZE = 200;

interface Shown {
  node: Node;
  containers: Page<NodeContainer>;
}

export default function NodePage({ id, me }: { id: number; me: Me }) {
  const view = useTopic<Shown>(`node:${id}`, async (signal) => ({
    node: await get<Node>(`/nodes/${id}`, signal),
    containers: await get<Page<NodeContainer>>(`/nodes/${id}/containers?page_size=${SIZE}`, signal),
  }));
  const live = useLiveness().state === "live";
  const now = useNow();
  const back = <Link href="/fleet" className="small">Fleet</Link>;
  if (!view.data) return <>{back}<h1>Node {id}</h1>{view.error ? <Failed error={view.error} /> : <Card><Loading label="Loading the node" /></Card>}</>;
  const { node, containers } = view.data;
  const age = silentFor(node, live ? 0 : now - view.updatedAt);
  return (
    <>
      <div>
        <nav aria-label="Where this node is" className="small row">{back}<span aria-hidden="true">/</span><Link href={`/fleet?sub=${encodeURIComponent(node.sub_cluster)}`}>{node.sub_cluster}</Link>
          <span aria-hidden="true">/</span><Link href={`/fleet?sub=${encodeURIComponent(node.sub_cluster)}&rack=${encodeURIComponent(node.rack)}`}>{node.rack}</Link></nav>
        <div className="page-head row wrap">
          <h1>{node.name}</h1>
          <State state={standing(node)} />
          {node.health.map((h) => <span key={h} className="tag">{h.toLowerCase().replaceAll("_", " ")}</span>)}
          <span className="grow" />
          {me.role === "operator" && node.state !== "DECOMMISSIONED" && <Suspense><NodeDuty key={node.id} node={node} /></Suspense>}
        </div>
      </div>
      {(view.error || (!live && now - view.updatedAt > STALE_AFTER_MS)) && <Stale since={view.updatedAt} now={now} why={view.error?.detail} />}
      <div className={`card node-now ${age ? "stale" : ""}`}>
        <div className="body">
          {age && <p><b className="warn">{age}.</b> What follows is what was last known of it.</p>}
          <Wish node={node} />
          {there(node.capacity).map(({ axis, title, number, measured }) => (
            <Amount key={axis} name={title} allocated={node.allocated[axis]} used={node.used ? measured?.(node.used) : undefined} capacity={node.capacity[axis]} describe={number} />
          ))}
          <Facts node={node} />
        </div>
      </div>
      <Containers node={node} page={containers} now={now} own={me.role === "tenant"} />
      {me.role !== "tenant" && <Suspense fallback={<Loading lines={6} label="Loading the node's history" />}><NodeHistory node={node} /></Suspense>}
      <div className="row wrap"><Command text={hydractl("node", "show", `${node.sub_cluster}/${node.name}`)} /></div>
    </>
  );
}

function Amount({ name, allocated, used, capacity, describe }: { name: string; allocated: number; used?: number | undefined; capacity: number; describe: (n: number) => string }) {
  return (
    <div className="amount">
      <span className="muted">{name}</span>
      <Meter label={name} allocated={allocated} used={used} capacity={capacity} describe={describe} />
      <span className="num">{describe(allocated)} <span className="muted">allocated{used !== undefined && <>, </>}</span>{used !== undefined && describe(used)} <span className="muted">{used !== undefined && "used "}of</span> {describe(capacity)}</span>
    </div>
  );
}

function Facts({ node }: { node: Node }) {
  const labels = Object.entries(node.labels).map(([k, v]) => (v && v !== "true" ? `${k}=${v}` : k));
  return (
    <dl className="facts small">
      <div><dt>Containers</dt><dd>{count(node.containers)}</dd></div>
      <div><dt>Last seen</dt><dd>{node.last_seen_s === null ? "never" : `${coarse(node.last_seen_s * 1000)} ago`}</dd></div>
      <div><dt>Enforces</dt><dd>{node.enforces.join(", ") || "nothing"}</dd></div>
      {node.host && <div><dt>Host</dt><dd>{node.host}</dd></div>}
      {node.version && <div><dt>Version</dt><dd>{node.version}</dd></div>}
      {labels.length > 0 && <div><dt>Labels</dt><dd className="row wrap">{labels.map((label) => <Link key={label} className="tag" href={`/fleet?label=${encodeURIComponent(label)}`}>{label}</Link>)}</dd></div>}
    </dl>
  );
}

/** Why the node takes no new work, and until when. */
function Wish({ node }: { node: Node }) {
  const w = node.maintenance;
  const words = { cordoned: ["Cordoned", "no new containers come, what runs there runs on"], draining: ["Being drained", ""], decommissioned: ["Decommissioned", "it leaves for good once it is empty"] };
  const lines: string[] = [];
  if (node.duty !== "in_service") {
    const who = node.duty_by ? ` by ${node.duty_by}` : "";
    const [word, meaning] = node.drained ? ["Drained", "nothing is left there"] : words[node.duty];
    const until = node.deadline && !node.drained ? `what runs is stopped at ${moment(node.deadline)}` : "";
    const details = [meaning, until].filter(Boolean).join("; ");
    lines.push(`${word}${who}${details ? `: ${details}` : ""}.${node.message ? ` ${node.message}` : ""}`);
  }
  const begun = w && Date.parse(w.starts_at) <= Date.now();
  if (w) lines.push(`${w.active && begun ? "Maintenance" : `${w.active ? "Being emptied for maintenance" : "Maintenance is planned"} from ${moment(w.starts_at)}`} until ${moment(w.ends_at)}.${w.message ? ` ${w.message}` : ""}`);
  if (node.health_text) lines.push(`Its health script says: ${node.health_text}`);
  return <>{lines.map((line) => <p key={line}>{line}</p>)}</>;
}

/** The socket brings the first of them; those beyond, when they are asked for, come from the server. */
function Containers({ node, page, now, own }: { node: Node; page: Page<NodeContainer>; now: number; own: boolean }) {
  const [more, setMore] = useState(false);
  const pages = usePages<NodeContainer>(`/nodes/${node.id}/containers?page_size=${SIZE}`, `${node.containers}`, { enabled: more });
  const rows = (more && pages.rows) || page.results;
  const goOn = more ? pages.more : page.next ? () => setMore(true) : null;
  const others = Math.max(0, node.containers - rows.length);
  return (
    <Card title="Containers" flush>
      {rows.length === 0 ? <Empty title={own || others ? "None of yours runs here" : "Nothing runs here"} /> : (
        <div className="table-wrap">
          <table className="grid small">
            <thead><tr><th>Job</th><th>Task</th><th>State</th><th>Queue</th><th>Owner</th><th className="num">Memory</th><th className="num">Used</th><th className="num">Cores</th><th className="num">Started</th></tr></thead>
            <tbody>{rows.map((c) => (
              <tr key={c.id}>
                <td className="clip"><Link href={`/jobs/${c.job}`}>{c.job_name}</Link> <span className="muted">#{c.job}</span></td>
                <td className="clip">{c.group} {c.index}{c.attempt > 1 ? `, attempt ${c.attempt}` : ""}</td>
                <td><State state={c.state} /></td>
                <td className="clip">{c.queue}</td>
                <td className="clip">{c.owner}</td>
                <td className="num">{memory(c.memory_mib)}</td>
                <td className="num muted">{c.used_memory_mib === null ? "–" : memory(c.used_memory_mib)}</td>
                <td className="num">{cores(c.vcores_milli)}{c.gpus.length > 0 ? `, ${c.gpus.length} GPU` : ""}</td>
                <td className="num">{ago(c.started_at, now)}</td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
      {more && pages.error && <div className="body"><Failed error={pages.error} retry={pages.again} /></div>}
      {goOn ? (
        <div className="tasks-foot row wrap"><span className="grow small muted">The first {count(rows.length)} are shown.</span><Button variant="default" loading={pages.reading} onClick={goOn}>Show more</Button></div>
      ) : others > 0 && <p className="muted small node-detail">{`${count(others)} more ${others === 1 ? "container is" : "containers are"} of jobs that you may not see.`}</p>}
    </Card>
  );
}
