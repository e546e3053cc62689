/** Every part of the system: the worst first, each with what to do about it. */
import { useQuery } from "@tanstack/react-query";
import { get, type ApiError } from "../../api/client";
import type { Component, Page } from "../../api/types";
import { Card, Command, Empty, Failed, Loading, Stale, useNow } from "../../ui/parts";
import { ToneIcon } from "../../ui/icons";
import { facts, KINDS, summary, worstFirst } from "./words";

const EVERY_MS = 5_000;
const TONES = { good: "succeeded", warn: "lost", bad: "failed" } as const;
const WORDS = { good: "Good", warn: "Look", bad: "Bad" } as const;

export function Health() {
  const now = useNow();
  const view = useQuery<Page<Component>, ApiError>({
    queryKey: ["components"], queryFn: ({ signal }) => get("/components", signal), refetchInterval: EVERY_MS, retry: false,
  });
  const parts = view.data?.results;
  return (
    <>
      {view.error && parts && <Stale since={view.dataUpdatedAt} now={now} why={view.error.detail} />}
      <Card title={parts ? summary(parts) : "Health"} label="Health" flush aside={<Command text="hydractl health" />}>
        {!parts ? (view.error ? <div className="body"><Failed error={view.error} retry={() => void view.refetch()} /></div> : <Loading lines={8} label="Asking every part" />)
          : parts.length === 0 ? <Empty title="Nothing has reported" />
          : <ul className="parts">{worstFirst(parts).map((part) => <Part key={`${part.kind}/${part.name}`} part={part} />)}</ul>}
      </Card>
    </>
  );
}

function Part({ part }: { part: Component }) {
  const known = facts(part.facts);
  const tone = TONES[part.verdict];
  return (
    <li className="part" data-verdict={part.verdict}>
      <span className={`state tone-${tone}`}><ToneIcon tone={tone} /><span className="sr">{WORDS[part.verdict]}</span></span>
      <div className="part-name"><strong className="clip">{part.name}</strong><span className="small muted">{KINDS[part.kind]}</span></div>
      <div className="part-said">
        <span>{part.text}</span>
        {part.remedy && <span className="part-remedy">{part.remedy.replace(/^./, (c) => c.toUpperCase())}.</span>}
      </div>
      <dl className="part-facts small">{known.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>
    </li>
  );
}
