/** The document in force for those who read it: the same two views, in which nothing can be written. */
import { SegmentedControl } from "@mantine/core";
import { lazy, Suspense, useMemo } from "react";
import { hydractl } from "../../../format/shell";
import { Command, Loading } from "../../../ui/parts";
import type { Schema } from "../model/schema";
import { documentText, fromPointer, toPointer } from "../model/text";
import { useChosen } from "../pager";
import type { Policy } from "../types";
import { FormView } from "./FormView";

const Editor = lazy(() => import("./Editor"));

export function ReadView({ policy, schema }: { policy: Policy; schema: Schema | undefined }) {
  const [search, put] = useChosen();
  const text = useMemo(() => documentText(policy.document), [policy]);
  const at = search.get("at");
  const path = useMemo(() => (at ? fromPointer(at) : null), [at]);
  const view = search.get("view") === "text" ? "text" : "form";
  return (
    <>
      <div className="policy-bar">
        <SegmentedControl aria-label="View of the document" value={view} onChange={(v) => put({ view: v === "text" ? "text" : null })}
          data={[{ value: "form", label: "Form" }, { value: "text", label: "Text" }]} />
        <span className="muted small grow">Version {policy.version}, by {policy.author ?? "the system"}</span>
        <Command text={hydractl("policy", "get")} />
      </div>
      {view === "text" ? (
        <Suspense fallback={<Loading lines={10} label="Loading the text" />}>
          <section className="card policy-editor" aria-label="Text of the policy"><Editor text={text} schema={schema} subClusters={[]} problems={[]} at={path} /></section>
        </Suspense>
      ) : <FormView text={text} base={policy} schema={schema} problems={[]} at={path} go={(to) => put({ at: toPointer(to) })} toText={() => put({ view: "text" })} />}
    </>
  );
}
