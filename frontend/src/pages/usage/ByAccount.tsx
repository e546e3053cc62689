/** What each account used, for those who see everything. */
import { useState } from "react";
import { useRead } from "../../live/hooks";
import { count } from "../../format/units";
import { Card, Command, Empty, Failed, Loading, Notice } from "../../ui/parts";
import { Wide } from "../../ui/wide";
import { byAccount, command, type Shown, type UsedAccounts } from "./ledger";
import { UseTable } from "./UseTable";

const DAYS_MAX = 31; // of the hours of all accounts
const FIRST = 50;

interface Of { time: string; shown: Shown; choose: (owner: string) => void }

/** `time`: what is asked for, as the API is asked; `choose`: to look at one of them. */
export function ByAccount({ time, shown, choose }: Of) {
  const short = shown.days <= DAYS_MAX;
  return (
    <Card title="By account" flush aside={<Command text={command({ ...shown, owner: "", days: Math.min(shown.days, DAYS_MAX) }, "--by-account")} />}>
      {short ? <Accounts time={time} shown={shown} choose={choose} /> : <Empty title="Choose a shorter time">What all accounts used is summed up for {DAYS_MAX} days at most; the CSV file has {shown.days}.</Empty>}
    </Card>
  );
}

function Accounts({ time, shown, choose }: Of) {
  const found = useRead<UsedAccounts>(`/usage/accounts?${time}`);
  const [all, setAll] = useState(false);
  if (!found.data) return found.error ? <div className="body"><Failed error={found.error} retry={() => void found.refetch()} /></div> : <Loading label="Loading what each account used" />;
  const rows = byAccount(found.data);
  if (rows.length === 0) return <Empty title="Nobody used anything in this time" />;
  const name = (owner: string) => (owner
    ? <button type="button" className="linkish" aria-pressed={owner === shown.owner} onClick={() => choose(owner)}>{owner}</button>
    : <span className="muted">an account that is gone</span>);
  return (
    <>
      {!found.data.complete && <Notice kind="warn">There are more than fit here. The CSV file has all of them.</Notice>}
      <Wide><UseTable of="Account" rows={all ? rows : rows.slice(0, FIRST)} name={name} /></Wide>
      {!all && rows.length > FIRST && <p className="small body"><button type="button" className="linkish" onClick={() => setAll(true)}>All {count(rows.length)} accounts</button></p>}
    </>
  );
}
