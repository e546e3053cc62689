/** Take a granted queue from an account, after a question. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { remove, type ApiError } from "../../api/client";
import type { Account } from "../../api/types";
import { hydractl } from "../../format/shell";
import { Close } from "../../ui/icons";
import { Command, Confirm } from "../../ui/parts";

export function Withdraw({ account, path }: { account: Account; path: string }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const withdraw = useMutation<void, ApiError>({
    mutationFn: () => remove(`/queues/${encodeURIComponent(path)}/rights?user=${encodeURIComponent(account.username)}`),
    onSuccess: () => { void client.invalidateQueries({ queryKey: ["read"] }); setAsking(false); },
  });
  return (
    <>
      <button type="button" className="icon-button" aria-label={`Withdraw ${path}…`} title="Withdraw…" aria-haspopup="dialog" onClick={() => setAsking(true)}><Close /></button>
      {asking && (
        <Confirm title={`Withdraw ${path}`} action="Withdraw" busy={withdraw.isPending} error={withdraw.error} onClose={() => { withdraw.reset(); setAsking(false); }} onConfirm={() => withdraw.mutate()}>
          <p><strong>{account.username}</strong> submits there no longer, unless the queue is open to all or the policy says so. Its jobs there go on.</p>
          <Command text={hydractl("queue", "rights", "withdraw", path, account.username)} />
        </Confirm>
      )}
    </>
  );
}
