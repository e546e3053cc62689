/** Charts over time with what was changed marked on them; any moment of them can be looked at. */
import "../../styles/usage.css";
import { useMemo } from "react";
import { Link, useLocation, useSearch } from "wouter";
import type { PageProps } from "../../app/pages";
import { Chart } from "../../charts/Chart";
import { Command, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { Tabs } from "../../ui/tabs";
import { Events } from "./Events";
import { InstantPanel } from "./InstantPanel";
import { Ledger } from "./Ledger";
import { shownOf, shownQuery } from "./ledger";
import { Scrubber } from "./Scrubber";
import { Toolbar } from "./Toolbar";
import { useScopes } from "./scopes";
import { useSeries, type Read } from "./useSeries";
import { address, command, drawnOf, parse, spanOf, type View } from "./view";

const POINTS = 300;
const TAIL_MS = 10_000;
const STALE_MS = 45_000;

const ACCOUNTS = "/usage/accounts";

export default function UsagePage({ me, rest }: PageProps) {
  const scopes = useScopes(me, "");
  const queues = me.role !== "tenant" || scopes.options.length > 0;
  const tabs = [{ to: "/usage", name: me.role === "tenant" ? "My queues" : "Cluster and queues" }, { to: ACCOUNTS, name: me.role === "tenant" ? "My jobs" : "Accounts" }];
  const here = rest === "accounts" ? ACCOUNTS : "/usage";
  return (
    <div className="usage">
      <div className="page-head"><h1 className="grow">Usage over time</h1></div>
      {queues && <Tabs label="Whose use" tabs={tabs} here={here} />}
      {here === ACCOUNTS ? <Account me={me} /> : <Queues me={me} scopes={scopes} />}
    </div>
  );
}

/** Charts of what an account may look at as a whole; of who may at no queue, his own use. */
function Queues({ me, scopes }: { me: PageProps["me"]; scopes: ReturnType<typeof useScopes> }) {
  const asked = parse(useSearch());
  const [, go] = useLocation();
  const view = { ...asked, scope: asked.scope || (scopes.options[0] ?? "") };
  const show = (next: Partial<View>, replace = false) => go(`/usage${address({ ...view, ...next })}`, { replace });
  if (view.scope) return <History view={view} show={show} me={me} />;
  if (scopes.error) return <Failed error={scopes.error} />;
  if (scopes.busy) return <Loading label="Loading what there is to show" />;
  return (
    <>
      <p className="muted">What the jobs of your account used. Charts of a whole queue are for those to whom an operator grants it.</p>
      <Account me={me} />
    </>
  );
}

function Account({ me }: { me: PageProps["me"] }) {
  const shown = shownOf(useSearch());
  const [path, go] = useLocation();
  return <Ledger shown={shown} choose={(next) => go(`${path}${shownQuery({ ...shown, ...next })}`, { replace: true })} me={me} />;
}

function History({ view, show, me }: { view: View; show: (next: Partial<View>, replace?: boolean) => void; me: PageProps["me"] }) {
  const read = useSeries(view, POINTS, TAIL_MS);
  const now = useNow();
  const drawn = spanOf(view, (read.data?.readAt ?? now) / 1000);
  const old = read.data && !view.span && now - read.data.readAt > STALE_MS;
  return (
    <>
      <Toolbar view={view} span={drawn} me={me} show={show} live={!view.span} />
      {read.error && !read.data && <Failed error={read.error} retry={() => void read.refetch()} />}
      {read.data && (old || read.error) && <Stale since={read.data.readAt} now={now} why={read.error?.detail} />}
      {!read.data && !read.error && <Loading lines={8} label="Loading history" />}
      {read.data && (
        <div className="usage-body" data-panel={view.at !== null || undefined}>
          <div className="usage-charts">
            <Scrubber span={drawn} at={view.at} stepS={read.data.step_s} choose={(at) => show({ at }, view.at !== null)} />
            {!view.span && view.at !== null && <p className="small"><Link href={`/usage${address({ ...view, span: drawn })}`}>Link to exactly this</Link> <span className="muted">The range goes on with time; the link keeps it as it is now.</span></p>}
            <Charts view={view} answer={read.data} show={show} />
            <Events events={read.data.events} stepS={read.data.step_s} linked={me.role !== "tenant"} choose={(at) => show({ at })} />
            <Command text={command(view, "allocated_memory_mib")} />
          </div>
          {view.at !== null && <InstantPanel at={view.at} scope={view.scope} close={() => show({ at: null })} pick={(scope) => show({ scope })} />}
        </div>
      )}
    </>
  );
}

function Charts({ view, answer, show }: { view: View; answer: Read; show: (next: Partial<View>, replace?: boolean) => void }) {
  const span = useMemo(() => spanOf(view, answer.readAt / 1000), [view.span?.from, view.span?.to, view.last, answer.readAt]);
  const drawn = useMemo(() => drawnOf(answer, view.scope), [answer, view.scope]);
  return (
    <div className="chart-grid">
      {drawn.map(({ title, unit, lines, format }) => (
        <Chart key={title} title={title} unit={unit} at={answer.at} stepS={answer.step_s} lines={lines} span={span}
          format={format} sync="usage" events={answer.events} chosen={view.at}
          onZoom={(next) => show({ span: next })} onChoose={(at) => show({ at }, view.at !== null)} />
      ))}
    </div>
  );
}
