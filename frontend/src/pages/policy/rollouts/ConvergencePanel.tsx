/** Desired against acknowledged version, kind by kind. */
import { useState } from "react";
import { coarse, moment } from "../../../format/units";
import { Card, Command, useNow } from "../../../ui/parts";
import { KINDS, seconds } from "../model/spreading";
import { Wide } from "../../../ui/wide";
import type { Convergence, KindConvergence } from "../types";

export function ConvergencePanel({ found }: { found: Convergence }) {
  const now = useNow();
  const since = found.pushed_at ? now - Date.parse(found.pushed_at) : null;
  return (
    <Card flush title={`Who runs version ${found.version}`} aside={
      <span className="muted small" role="status">
        {found.converged ? "converged" : "converging"}{since !== null && found.pushed_at && <>, pushed <span title={moment(found.pushed_at)}>{coarse(since)} ago</span></>}
      </span>}>
      <Wide>
        <table className="grid policy-spread" aria-label="Convergence">
          <thead><tr><th>Part</th><th className="policy-barcell">Runs it</th><th className="num">Behind</th><th className="num">p50</th><th className="num">p99</th><th className="num">Last</th><th>Others run</th></tr></thead>
          <tbody>{found.kinds.map((kind) => <Kind key={kind.kind} kind={kind} version={found.version} />)}</tbody>
        </table>
      </Wide>
      <div className="body policy-foot"><span className="muted small grow">Times are seconds from the push until a part acknowledged the version.</span><Command text={`hydractl policy status --version ${found.version}`} /></div>
    </Card>
  );
}

function Kind({ kind, version }: { kind: KindConvergence; version: number }) {
  const [open, setOpen] = useState(false);
  const part = kind.told ? Math.min(1, (kind.told - kind.behind) / kind.told) : 0;
  const others = kind.versions.filter((v) => v.version !== version);
  return (
    <>
      <tr>
        <th scope="row">{KINDS[kind.kind]}</th>
        <td className="policy-barcell">
          <span className="policy-of">
            <svg width="100%" height="8" aria-hidden="true" className="policy-thin"><rect className="ground" width="100%" height="8" /><rect className={kind.behind ? "some" : "full"} width={`${100 * part}%`} height="8" /></svg>
            <span>{kind.told ? `${kind.told - kind.behind} of ${kind.told}` : kind.total ? `${kind.on_version} of ${kind.total}, not told yet` : "none there"}</span>
          </span>
        </td>
        <td className="num">
          {kind.behind > 0 ? <button type="button" className="linkish" aria-expanded={open} onClick={() => setOpen(!open)}>{kind.behind}<span className="sr"> {KINDS[kind.kind]} behind, by name</span></button> : 0}
        </td>
        <td className="num">{seconds(kind.p50_s)}</td><td className="num">{seconds(kind.p99_s)}</td><td className="num">{seconds(kind.max_s)}</td>
        <td className="small muted">{others.slice(0, 4).map((v) => `${v.count} on ${v.version ? `version ${v.version}` : "none"}`).join(", ")}</td>
      </tr>
      {open && kind.behind > 0 && (
        <tr><td colSpan={7} className="small wrap-any"><b>Laggards:</b> {kind.laggards.join(", ") || "not known by name yet"}{kind.behind > kind.laggards.length && kind.laggards.length > 0 ? ` and ${kind.behind - kind.laggards.length} more` : ""}</td></tr>
      )}
    </>
  );
}
