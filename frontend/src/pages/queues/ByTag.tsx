/** What an account used by the tags of its jobs, as a table and a file. */
import { Button } from "@mantine/core";
import { API } from "../../api/client";
import { hydractl } from "../../format/shell";
import { count, duration, short } from "../../format/units";
import { useRead } from "../../live/hooks";
import { Download } from "../../ui/icons";
import { Card, Command, Empty, Failed, Loading, Notice } from "../../ui/parts";
import type { UsedTags } from "./types";
import { byTag, OTHERS } from "./use";

/** all: whether the tags of all accounts may be saved. */
export function ByTag({ span, days, all }: { span: string; days: number; all: boolean }) {
  const found = useRead<UsedTags>(`/usage/tags?${span}`);
  const save = (text: string, more = "") => <Button variant="default" leftSection={<Download />} renderRoot={(props) => <a {...props} href={`${API}/usage/tags.csv?${span}${more}`} download />}>{text}</Button>;
  return (
    <Card title="By tag" flush aside={<><Command text={hydractl("usage", "--by-tag", "--days", days)} />{save("Save tags as CSV")}{all && save("Save tags of all accounts as CSV", "&all_accounts=yes")}</>}>
      {found.data ? <Tagged found={found.data} /> : found.error ? <div className="body"><Failed error={found.error} retry={() => void found.refetch()} /></div> : <Loading label="Loading what was used by tag" />}
    </Card>
  );
}

function TagName({ of }: { of: string }) {
  if (of === OTHERS) return <span className="muted" title="Of each day the first 50 tags are told apart">others</span>;
  return of ? <span className="tag">{of}</span> : <span className="muted" title="Jobs without a tag">no tag</span>;
}

const percent = (part: number | null): string => (part === null ? "–" : `${Math.round(100 * part)} %`);

function Tagged({ found }: { found: UsedTags }) {
  const rows = byTag(found);
  if (rows.length === 0) return <Empty title="Nothing was used in this time">Tag jobs by project or purpose, and see here what each took.</Empty>;
  return (
    <>
      {!found.complete && <Notice kind="warn">There is more than fits here. The CSV file has all of it.</Notice>}
      <div className="table-wrap">
        <table className="grid stacked labelled">
          <thead><tr><th>Tag</th><th className="num">Containers</th><th className="num" title="Those that were stopped or lost are not counted">Failed</th><th className="num">GiB hours</th><th className="num" title="Of the memory that was asked for, at each container's peak">Memory used</th><th className="num">Core hours</th><th className="num" title="Of the cores that were asked for; more where others left theirs idle">Cores used</th><th className="num">GPU hours</th><th className="num" title="Of a task from its submit to its start, on average">Waited</th></tr></thead>
          <tbody>{rows.map((r) => (
            <tr key={r.tag}>
              <td className="clip"><TagName of={r.tag} /></td>
              <td className="num" data-label="Containers">{count(r.containers)}</td><td className="num" data-label="Failed">{count(r.failed)}</td>
              <td className="num" data-label="GiB hours">{short(r.memory)}</td><td className="num" data-label="Memory used">{percent(r.taken)}</td>
              <td className="num" data-label="Core hours">{short(r.cores)}</td><td className="num" data-label="Cores used">{percent(r.used)}</td>
              <td className="num" data-label="GPU hours">{short(r.gpus)}</td><td className="num" data-label="Waited">{r.wait === null ? "–" : duration(r.wait)}</td>
            </tr>
          ))}</tbody>
        </table>
      </div>
      <p className="small muted body">Of whole days (UTC). A job counts for each of its tags: where jobs have several, these add up to more than was used.</p>
    </>
  );
}
