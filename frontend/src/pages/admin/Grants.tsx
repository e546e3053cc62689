/** The queues an account was granted: seen by all who see the account, changed by operators. */
import { Button, NativeSelect } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { API, call, type ApiError } from "../../api/client";
import type { Account, QueueGrant } from "../../api/types";
import { Command, Failed } from "../../ui/parts";
import { hydractl } from "../../format/shell";
import { count } from "../../format/units";
import { QueueChoice } from "../job/QueueChoice";
import { Withdraw } from "./Withdraw";

type Change = { path: string; level: QueueGrant["level"] };

export function Grants({ account, editable }: { account: Account; editable: boolean }) {
  const client = useQueryClient();
  const change = useMutation<unknown, ApiError, Change>({
    mutationFn: ({ path, level }) => call(`${API}/queues/${encodeURIComponent(path)}/rights`, { method: "PUT", json: { user: account.username, level } }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["read"] }),
  });
  return (
    <section aria-label="Queues" className="grants">
      <h3>Queues</h3>
      {account.queues.length === 0 && <p className="small muted">{account.role === "tenant" ? "None of its own: it uses those open to all." : "Its role sees every queue."}</p>}
      <ul>
        {account.queues.map((q) => (
          <li key={`${q.source} ${q.path}`} className="row">
            <span className="clip mono">{q.path}</span><span className="tag">{q.level}</span>{q.source === "policy" && <span className="tag">by the policy</span>}<span className="grow" />
            {editable && q.source === "grant" && <Withdraw account={account} path={q.path} />}
          </li>
        ))}
      </ul>
      {account.queues_left_out > 0 && <p className="small muted">And {count(account.queues_left_out)} more.</p>}
      {editable && <Add account={account} busy={change.isPending} add={change.mutate} />}
      {change.error && <Failed error={change.error} />}
    </section>
  );
}

function Add({ account, busy, add }: { account: Account; busy: boolean; add: (change: Change) => void }) {
  const [path, setPath] = useState("");
  const [level, setLevel] = useState<QueueGrant["level"]>("submit");
  const held = account.queues.filter((q) => q.source === "grant" && q.level === level).map((q) => q.path);
  return (
    <>
      <div className="row wrap grant-add">
        <QueueChoice label="Queue to grant" quiet className="grow" placeholder="Grant a queue…" value={path} onChange={setPath} which="any" without={held} />
        <NativeSelect aria-label="Level" value={level} onChange={(e) => setLevel(e.currentTarget.value as QueueGrant["level"])} data={[{ value: "submit", label: "Submit" }, { value: "admin", label: "Administer" }]} />
        <Button variant="default" loading={busy} disabled={path === ""} onClick={() => { add({ path, level }); setPath(""); }}>Grant</Button>
      </div>
      {path && <Command text={hydractl("queue", "rights", "grant", path, account.username, "--level", level)} />}
    </>
  );
}
