/** Filters of the job list that the account has kept under names of its own. */
import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { API, call, get, post, type ApiError } from "../../api/client";
import type { Page } from "../../api/types";
import { hydractl } from "../../format/shell";
import { Command, Confirm, Notice } from "../../ui/parts";
import { address, fromSearch, saveCommand, toQuery, type Filters } from "./filters";

export interface SavedView {
  id: number;
  name: string;
  query: string;
}

const KEY = ["saved-views"];

export function SavedViews({ filters }: { filters: Filters }) {
  const views = useQuery<Page<SavedView>, ApiError>({ queryKey: KEY, queryFn: ({ signal }) => get("/saved-views", signal), retry: 1 });
  const [saving, setSaving] = useState(false);
  const [forgetting, setForgetting] = useState<SavedView | null>(null);
  const query = toQuery(filters);
  const list = views.data?.results ?? [];
  const current = list.find((v) => toQuery(fromSearch(v.query)) === query);
  if (list.length === 0 && query === "") return null;
  return (
    <>
      <nav className="views row wrap" aria-label="Saved views">
        <span className="muted small">Views</span>
        {list.map((view) => (
          <Link key={view.id} href={address(fromSearch(view.query))} className="view clip" title={view.name} aria-current={view === current ? "true" : undefined}>{view.name}</Link>
        ))}
        {query !== "" && !current && <Button variant="subtle" onClick={() => setSaving(true)}>Save this view</Button>}
        {current && <Button variant="subtle" onClick={() => setForgetting(current)}>Forget this view…</Button>}
      </nav>
      {views.error && <Notice kind="warn">Your saved views could not be read: {views.error.detail || views.error.title}</Notice>}
      {saving && <SaveView filters={filters} query={query} taken={list.map((v) => v.name)} onClose={() => setSaving(false)} />}
      {forgetting && <ForgetView view={forgetting} onClose={() => setForgetting(null)} />}
    </>
  );
}

function ForgetView({ view, onClose }: { view: SavedView; onClose: () => void }) {
  const client = useQueryClient();
  const forget = useMutation<void, ApiError>({
    mutationFn: () => call(`${API}/saved-views/${view.id}`, { method: "DELETE" }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: KEY });
      onClose();
    },
  });
  return (
    <Confirm title={`Forget ${view.name}`} action="Forget" busy={forget.isPending} error={forget.error} onClose={onClose} onConfirm={() => forget.mutate()}>
      <p>Its name and filters go; the jobs stay.</p>
      <Command text={hydractl("views", "delete", view.name)} />
    </Confirm>
  );
}

function SaveView({ filters, query, taken, onClose }: { filters: Filters; query: string; taken: string[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const client = useQueryClient();
  const save = useMutation<SavedView, ApiError>({
    mutationFn: () => post<SavedView>("/saved-views", { name: name.trim(), query }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: KEY });
      onClose();
    },
  });
  return (
    <Confirm title="Save this view" action={taken.includes(name.trim()) ? "Replace" : "Save"} busy={save.isPending} error={save.error} ready={name.trim() !== ""} onClose={onClose} onConfirm={() => name.trim() && save.mutate()}>
      <TextInput label="Name" maxLength={63} autoFocus value={name} onChange={(e) => setName(e.currentTarget.value)} />
      <p className="small muted">The filters of now, for you alone, wherever you sign in.</p>
      <Command text={saveCommand(name.trim() || "NAME", filters)} />
    </Confirm>
  );
}
