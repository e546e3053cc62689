/** What an account used by the tags of its jobs, as a table and a file. */
import { Button } from "@mantine/core";
import { API } from "../../api/client";
import { useRead } from "../../live/hooks";
import { Download } from "../../ui/icons";
import { Card, Command, Empty, Failed, Loading, Notice } from "../../ui/parts";
import { Wide } from "../../ui/wide";
import { byTag, command, OTHERS, type Shown, type UsedTags } from "./ledger";
import { UseTable } from "./UseTable";

/** `span`: what is asked for, as the API is asked; `all`: whether the tags of all accounts may be saved; `choose`: show one alone. */
export function ByTag({ span, all, shown, choose }: { span: string; all: string | null; shown: Shown; choose: (tag: string) => void }) {
  const found = useRead<UsedTags>(`/usage/tags?${span}`);
  const save = (text: string, query: string) => <Button variant="default" leftSection={<Download />} renderRoot={(props) => <a {...props} href={`${API}/usage/tags.csv?${query}`} download />}>{text}</Button>;
  return (
    <Card title="By tag" flush aside={<><Command text={command(shown, "--by-tag")} />{save("Save tags as CSV", span)}{all && save("Save tags of all accounts as CSV", all)}</>}>
      {found.data ? <Tagged found={found.data} chosen={shown.tag} choose={choose} /> : found.error ? <div className="body"><Failed error={found.error} retry={() => void found.refetch()} /></div> : <Loading label="Loading what was used by tag" />}
    </Card>
  );
}

function TagName({ of, chosen, choose }: { of: string; chosen: string; choose: (tag: string) => void }) {
  if (of === OTHERS) return <span className="muted" title="Of each day the first 50 tags are told apart">others</span>;
  if (!of) return <span className="muted" title="Jobs without a tag">no tag</span>;
  return <button type="button" className="linkish" aria-pressed={of === chosen} onClick={() => choose(of === chosen ? "" : of)}>{of}</button>;
}

function Tagged({ found, chosen, choose }: { found: UsedTags; chosen: string; choose: (tag: string) => void }) {
  const rows = byTag(found);
  if (rows.length === 0) return <Empty title="Nothing was used in this time">Tag jobs by project or purpose, and see here what each took.</Empty>;
  return (
    <>
      {!found.complete && <Notice kind="warn">There is more than fits here. The CSV file has all of it.</Notice>}
      <Wide><UseTable of="Tag" rows={rows} name={(tag) => <TagName of={tag} chosen={chosen} choose={choose} />} /></Wide>
      <p className="small muted body">Of whole days (UTC). A job counts for each of its tags: where jobs have several, these add up to more than was used.</p>
    </>
  );
}
