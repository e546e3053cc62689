/** One field for everything: pages, jobs, queues, nodes, sub-clusters, actions. A combobox with a list of choices. */
import { useMantineColorScheme } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useLocation } from "wouter";
import { get } from "../../api/client";
import type { Job, Me, Node, Overview, Page } from "../../api/types";
import { topicKey } from "../../live/hooks";
import type { QueueLayout } from "../../pages/queues/types";
import { Search } from "../../ui/icons";
import { useModal } from "../../ui/modal";
import { pagesFor } from "../pages";
import { signOut } from "../session";
import { useAddedCommands } from "./commands";
import type { Early } from "./Keys";
import { ACTIONS, grouped, jobEntry, jobNumber, matching, namesIn, nodeEntry, ON_PAGE, queueEntries, subClusterEntries, withoutTwins, type Entry } from "./find";
import { nodeOrderEntries, nodeOrderIn } from "./nodeorders";
import { orderEntries, orderIn, queriesOf } from "./orders";
import "./palette.css";

const FOUND_MAX = 8; // of each kind from the server, and of queues
const LOOKED_AT = 200; // nodes, for those of which something can be asked
const WAIT_MS = 180;

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const id = setTimeout(() => setSettled(text), WAIT_MS);
    return () => clearTimeout(id);
  }, [text]);
  return settled;
}

/** What jobs can be asked for, in the words that were typed. */
async function ordered(typed: string, me: Me, signal: AbortSignal): Promise<Entry[]> {
  const order = orderIn(typed, me);
  if (!order) return [];
  const number = jobNumber(order.of);
  const read = number ? [jobOf(number, signal)] : queriesOf(order, me).map((query) => get<Page<Job>>(`/jobs?${query}`, signal).then((page) => page.results));
  return orderEntries(order, (await Promise.all(read)).flat(), me);
}

/** What nodes can be asked for. */
async function nodesOrdered(typed: string, me: Me, signal: AbortSignal): Promise<Entry[]> {
  const order = nodeOrderIn(typed, me);
  return order ? nodeOrderEntries(order, await nodesNamed(order.of, signal, LOOKED_AT)) : [];
}

const nodesNamed = (part: string, signal: AbortSignal, most: number = FOUND_MAX): Promise<Node[]> =>
  get<Page<Node>>(`/nodes?page_size=${most}&contains=${encodeURIComponent(part)}`, signal).then((page) => page.results);

/** The job of that number; none where there is none to be seen. */
function jobOf(number: string, signal: AbortSignal): Promise<Job[]> {
  return get<Job>(`/jobs/${number}`, signal).then((job) => [job], () => []);
}

/** What jobs can be asked for, and jobs and nodes whose name begins with or holds the text; each one short, bounded query. */
function useServer(typed: string, me: Me, has: (to: string) => boolean): { entries: Entry[]; busy: boolean; failed: boolean } {
  const text = useSettled(typed.trim());
  const number = jobNumber(text);
  const wanted = text.length >= 2 || number !== null;
  const found = useQuery({
    queryKey: ["palette", text],
    enabled: wanted,
    staleTime: 10_000,
    retry: false,
    queryFn: async ({ signal }) => {
      const names = namesIn(text);
      const [orders, nodeOrders, byNumber, jobs, nodes] = await Promise.all([
        ordered(text, me, signal),
        nodesOrdered(text, me, signal),
        number ? jobOf(number, signal) : [],
        names.jobs === null ? [] : get<Page<Job>>(`/jobs?page_size=${FOUND_MAX}&name=${encodeURIComponent(names.jobs)}`, signal).then((p) => p.results),
        names.nodes === null ? [] : nodesNamed(names.nodes, signal),
      ]);
      return [...orders, ...nodeOrders, ...[...byNumber, ...jobs.filter((j) => j.id !== byNumber[0]?.id)].map(jobEntry), ...nodes.map((n) => nodeEntry(n, has))];
    },
  });
  return { entries: wanted && text === typed.trim() ? (found.data ?? []) : [], busy: wanted && (found.isFetching || text !== typed.trim()), failed: wanted && found.isError };
}

function nothingFor(typed: string, me: Me): string {
  if (orderIn(typed, me)) return "There is no job for that now.";
  return nodeOrderIn(typed, me) ? "There is no node for that now." : "Nothing is called that.";
}

function useOwn(me: Me, onHelp: () => void): Entry[] {
  const { setColorScheme } = useMantineColorScheme();
  const added = useAddedCommands();
  return useMemo(() => {
    const pages = pagesFor(me.role);
    const act = (name: string, words: string, run: () => void): Entry => ({ id: `act-${name}`, group: ACTIONS, name, words, run });
    const lead = (name: string, words: string, to: string): Entry => ({ id: `act-${name}`, group: ACTIONS, name, words, to });
    return withoutTwins([
      ...added.map((c) => ({ id: `page-${c.name}`, group: ON_PAGE, name: c.name, note: c.words, run: c.run })),
      ...pages.map((p) => ({ id: `to-${p.to}`, group: "Pages", name: p.name, note: `g ${p.key}`, words: p.words, to: p.to })),
      { id: "mine", group: "Pages", name: "My jobs", to: `/jobs?owner=${encodeURIComponent(me.username)}` },
      { id: "failed", group: "Pages", name: "Failed jobs", to: "/jobs?state=FAILED" },
      ...(me.role === "viewer" ? [] : [lead("Submit a job", "new run", "/submit"), lead("New schedule", "cron", "/schedules/new")]),
      lead("Change your password", "my", "/account#password"),
      act("Light colours", "theme mode", () => setColorScheme("light")),
      act("Dark colours", "theme mode", () => setColorScheme("dark")),
      act("Colours of the system", "theme mode auto", () => setColorScheme("auto")),
      act("Show the keys", "help shortcuts", onHelp),
      act("Sign out", "log out logout leave", () => void signOut()),
    ]);
  }, [me, added, onHelp, setColorScheme]);
}

export default function Palette({ me, early, onClose, onHelp }: { me: Me; early: Early; onClose: () => void; onHelp: () => void }) {
  const ref = useModal();
  const [typed, setTyped] = useState(early.text);
  useEffect(() => {
    if (early.there) return;
    early.there = true;
    setTyped(early.text); // with what came after it was drawn
  }, [early]);
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const client = useQueryClient();
  const own = useOwn(me, onHelp);
  const places = usePlaces(me);
  const has = (to: string) => pagesFor(me.role).some((p) => p.to === to);
  const server = useServer(typed, me, has);
  const local = matching(typed.trim() === "" ? own : [...own, ...places], typed);
  const groups = grouped(withoutTwins([...local, ...server.entries])).map((g) => ({ ...g, entries: g.entries.slice(0, g.group === "Pages" ? 12 : FOUND_MAX) }));
  const flat = groups.flatMap((g) => g.entries);
  const chosen = flat[Math.min(at, flat.length - 1)];
  useEffect(() => setAt(0), [typed]);
  const take = (entry: Entry | undefined) => {
    if (!entry) return;
    ref.current?.close();
    if (entry.anew) client.removeQueries({ queryKey: topicKey(entry.anew) });
    if (entry.to !== undefined) go(entry.to, { state: entry.state });
    else entry.run?.();
  };
  const pressed = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 }[e.key];
    if (step !== undefined && flat.length > 0) {
      setAt((now) => (Math.abs(step) === 1 ? (now + step + flat.length) % flat.length : Math.max(0, Math.min(flat.length - 1, now + step))));
    } else if (e.key === "Enter" && !e.nativeEvent.isComposing) take(chosen);
    else return;
    e.preventDefault();
  };
  return (
    <dialog ref={ref} className="palette" aria-label="Find a page, job, queue, node or action" onClose={onClose} onClick={(e) => e.target === e.currentTarget && ref.current?.close()}>
      <div className="palette-field">
        <Search />
        <input type="text" role="combobox" aria-label="Find" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-activedescendant={chosen && `p-${chosen.id}`}
          placeholder="Find a page, job, queue, node or action" autoComplete="off" spellCheck={false} maxLength={128} value={typed} onChange={(e) => setTyped(e.currentTarget.value)} onKeyDown={pressed} />
        <kbd aria-hidden="true">Esc</kbd>
      </div>
      <Found groups={groups} chosen={chosen} take={take} />
      <p className="palette-foot small muted" role="status">
        {server.failed ? "The server could not be searched." : server.busy ? "Searching…" : flat.length === 0 ? nothingFor(typed, me) : `${flat.length} found`}
      </p>
    </dialog>
  );
}

function Found({ groups, chosen, take }: { groups: ReturnType<typeof grouped>; chosen: Entry | undefined; take: (entry: Entry) => void }) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    void list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }); // newer browsers answer with a promise
  }, [chosen?.id]);
  return (
    <div ref={list} id="palette-list" role="listbox" aria-label="Found" className="palette-list">
      {groups.map((g, at) => (
        <div key={g.group} role="group" aria-labelledby={`palette-group-${at}`}>
          <div id={`palette-group-${at}`} className="palette-group">{g.group}</div>
          {g.entries.map((e) => <Option key={e.id} entry={e} chosen={e === chosen} take={() => take(e)} />)}
        </div>
      ))}
    </div>
  );
}

function Option({ entry, chosen, take }: { entry: Entry; chosen: boolean; take: () => void }) {
  return (
    <div id={`p-${entry.id}`} role="option" aria-selected={chosen} className="palette-option" onMouseDown={(e) => e.preventDefault()} onClick={take}>
      <span className="clip">{entry.name}</span>
      {entry.note && <span className="small muted clip">{entry.note}</span>}
    </div>
  );
}

/** Sub-clusters and every queue, as they were in the last half minute. */
function usePlaces(me: Me): Entry[] {
  const client = useQueryClient();
  const kept = { staleTime: 30_000, retry: false };
  const overview = useQuery<Overview>({ ...kept, queryKey: ["palette-overview"], queryFn: async ({ signal }) => client.getQueryData<Overview>(topicKey("overview")) ?? get<Overview>("/overview", signal) });
  const layout = useQuery<QueueLayout>({ ...kept, queryKey: ["palette-queues"], queryFn: ({ signal }) => get<QueueLayout>("/queues/tree", signal) });
  return useMemo(() => {
    const pages = pagesFor(me.role);
    return [...queueEntries(layout.data), ...subClusterEntries(overview.data, (to) => pages.some((p) => p.to === to))];
  }, [me.role, overview.data, layout.data]);
}
