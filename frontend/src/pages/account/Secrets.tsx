/** One's own secrets: by name, put and deleted. Nothing here ever shows a value that is kept. */
import { Button, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { put, remove, type ApiError } from "../../api/client";
import type { Page, Secret, SecretDeleted } from "../../api/types";
import { usePaletteCommands } from "../../app/palette/commands";
import { hydractl } from "../../format/shell";
import { ago, moment } from "../../format/units";
import { useRead } from "../../live/hooks";
import { useModal } from "../../ui/modal";
import { Card, Command, Confirm, Empty, Failed, Loading, Notice, useNow } from "../../ui/parts";

const at = (name: string) => `/me/secrets/${encodeURIComponent(name)}`;

export function Secrets({ editable }: { editable: boolean }) {
  const [putting, setPutting] = useState<string | null>(null); // the name; "" for a new one
  const [deleting, setDeleting] = useState<Secret | null>(null);
  const view = useRead<Page<Secret>>("/me/secrets");
  const secrets = view.data?.results;
  usePaletteCommands(editable ? [{ name: "New secret", words: "password or key that jobs name", run: () => setPutting("") }] : []);
  return (
    <Card title="Secrets" flush aside={<><Command text="hydractl secret list" />{editable && <Button onClick={() => setPutting("")}>New secret…</Button>}</>}>
      {!secrets ? (view.error ? <div className="body"><Failed error={view.error} retry={() => void view.refetch()} /></div> : <Loading label="Loading secrets" />)
        : secrets.length === 0 ? <Empty title="You have no secrets">Passwords and keys that your jobs name in <span className="mono">secrets</span>, and only their tasks get.</Empty>
        : <SecretTable secrets={secrets} replace={editable ? setPutting : undefined} end={setDeleting} />}
      {putting !== null && <Put known={putting} onClose={() => setPutting(null)} />}
      {deleting && <Delete name={deleting.name} onClose={() => setDeleting(null)} />}
    </Card>
  );
}

function SecretTable({ secrets, replace, end }: { secrets: Secret[]; replace?: (name: string) => void; end: (secret: Secret) => void }) {
  const now = useNow(10_000);
  return (
    <div className="table-wrap">
      <table className="grid stacked labelled">
        <thead><tr><th>Name</th><th className="num">Made</th><th className="num">Changed</th><th><span className="sr">Actions</span></th></tr></thead>
        <tbody>{secrets.map((s) => (
          <tr key={s.name}>
            <td className="mono clip">{s.name}</td>
            <td className="num" data-label="Made" title={moment(s.created_at)}>{ago(s.created_at, now)}</td>
            <td className="num" data-label="Changed" title={moment(s.changed_at)}>{ago(s.changed_at, now)}</td>
            <td className="num"><div className="row">
              {replace && <Button size="compact-sm" variant="default" aria-label={`Replace ${s.name}`} onClick={() => replace(s.name)}>Replace…</Button>}
              <Button size="compact-sm" variant="default" aria-label={`Delete ${s.name}`} onClick={() => end(s)}>Delete…</Button>
            </div></td>
          </tr>
        ))}</tbody>
      </table>
    </div>
  );
}

/** known: whose value is replaced, "" for a new one. */
function Put({ known, onClose }: { known: string; onClose: () => void }) {
  const [name, setName] = useState(known);
  const [value, setValue] = useState("");
  const client = useQueryClient();
  const keep = useMutation<Secret, ApiError>({
    mutationFn: () => put<Secret>(at(name.trim()), { value }),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read", "/me/secrets"] }); onClose(); },
  });
  const wrong = (field: string) => keep.error?.errors.find((e) => e.field === field);
  const said = (field: string) => { const e = wrong(field); return e && `${e.message}; ${e.remedy}`; };
  const told = keep.error && !wrong("name") && !wrong("value") ? keep.error : null;
  return (
    <Confirm title={known ? `Replace ${known}` : "New secret"} action="Keep it" busy={keep.isPending} error={told} onClose={onClose} onConfirm={() => keep.mutate()}>
      <p>It is never shown again. Tasks that start from now on get it, also those of services that run.</p>
      {!known && <TextInput label="Name" description="Letters, digits, -, _ and ." required maxLength={63} autoComplete="off" spellCheck={false} value={name} error={said("name")} onChange={(e) => setName(e.currentTarget.value)} />}
      <Textarea label="Value" description="Kept as it is, line ends too" required autosize minRows={2} maxRows={10} autoComplete="off" spellCheck={false} classNames={{ input: "mono" }} value={value} error={said("value")} onChange={(e) => setValue(e.currentTarget.value)} />
      <Command text={hydractl("secret", "put", name || "NAME", "--file", "FILE")} />
    </Confirm>
  );
}

function Delete({ name, onClose }: { name: string; onClose: () => void }) {
  const client = useQueryClient();
  const end = useMutation<SecretDeleted | undefined, ApiError>({
    mutationFn: () => remove<SecretDeleted | undefined>(at(name)), // nothing from an older server
    onSuccess: (told) => { void client.invalidateQueries({ queryKey: ["read", "/me/secrets"] }); if (!told?.warnings.length) onClose(); },
  });
  if (end.data?.warnings.length) return <Deleted told={end.data} onClose={onClose} />;
  return (
    <Confirm title="Delete the secret" action="Delete" busy={end.isPending} error={end.error} onClose={onClose} onConfirm={() => end.mutate()}>
      <p>Tasks that start later and name <strong>{name}</strong> fail, and new jobs that do are refused. What runs keeps it.</p>
      <Command text={hydractl("secret", "delete", name)} />
    </Confirm>
  );
}

/** What names it still. */
function Deleted({ told, onClose }: { told: SecretDeleted; onClose: () => void }) {
  const ref = useModal();
  return (
    <dialog ref={ref} className="ask" aria-label="The secret is deleted" onClose={onClose}>
      <h2>The secret is deleted</h2>
      {told.warnings.map((w) => <Notice key={w.message} kind="warn">{w.message}; {w.remedy}</Notice>)}
      <div className="actions"><Button onClick={onClose}>Close</Button></div>
    </dialog>
  );
}
