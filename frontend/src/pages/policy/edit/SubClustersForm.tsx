/** What the RM of a single sub-cluster does otherwise than the others. What it does not name shows the cluster's value. */
import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import type { Page, SubCluster } from "../../../api/types";
import { useRead } from "../../../live/hooks";
import { Card, Empty, Failed, Notice } from "../../../ui/parts";
import { mapping } from "../model/mapping";
import { choices, fieldsAt, variants, type Field } from "../model/schema";
import { clusters, otherwise } from "../model/own";
import type { Json } from "../types";
import { labelOf, type Editing } from "./editing";
import { FieldInput } from "./FieldInput";

export function SubClustersForm({ held, editing }: { held: Json; editing: Editing }) {
  const subs = useRead<Page<SubCluster>>("/sub-clusters");
  const free = (subs.data?.results ?? []).filter((sc) => sc.state !== "decommissioned" && !(sc.name in held)).map((sc) => sc.name);
  const [chosen, choose] = useState("");
  const name = free.includes(chosen) ? chosen : (free[0] ?? "");
  return (
    <>
      {!Object.keys(held).length && <Card><Empty title="All sub-clusters run the cluster's components">To compare two ways, let one sub-cluster do something otherwise; what it does beside the others stands under Fleet, Compare sub-clusters.</Empty></Card>}
      {Object.entries(held).map(([sub, value]) => <Own key={sub} name={sub} value={mapping(mapping(value).components)} editing={editing} />)}
      {subs.error && <Failed error={subs.error} />}
      <form className="row wrap" onSubmit={(e) => { e.preventDefault(); if (name) editing.set(["sub_clusters", name], {}); }}>
        <NativeSelect aria-label="Sub-cluster to add" value={name} data={free.length ? free : [{ value: "", label: "no further sub-cluster" }]} onChange={(e) => choose(e.currentTarget.value)} />
        <Button type="submit" variant="default" disabled={!name}>Add sub-cluster</Button>
      </form>
    </>
  );
}

function Own({ name, value, editing }: { name: string; value: Json; editing: Editing }) {
  const wrong = editing.problems.find((p) => p.field === `sub_clusters.${name}`);
  return (
    <Card title={name} aside={<Button variant="default" size="compact-sm" onClick={() => editing.set(["sub_clusters", name], undefined)}>As the cluster again</Button>}>
      {wrong && <Notice kind="bad"><strong>{wrong.message}</strong>{wrong.remedy && <div>{wrong.remedy}</div>}</Notice>}
      {fieldsAt(editing.root, ["sub_clusters", name, "components"]).map((f) => <Component key={f.name} of={name} component={f} own={mapping(value[f.name])} editing={editing} />)}
    </Card>
  );
}

function Component({ of, component, own, editing }: { of: string; component: Field; own: Json; editing: Editing }) {
  const says = otherwise(own);
  const [open, setOpen] = useState(says !== "");
  const path = ["sub_clusters", of, "components", component.name];
  const fields = [
    ...fieldsAt(editing.root, path).filter((f) => f.name === "policy" && choices(editing.root, f.schema).length > 1).map((f) => ({ ...f, at: ["policy"] })),
    ...fieldsAt(editing.root, [...path, "parameters"]).map((f) => ({ ...f, at: ["parameters", f.name] })),
  ];
  return (
    <details className="policy-own" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{labelOf(component.name)}<span className={says ? "policy-own-says" : "muted"}>{says || "as the cluster"}</span></summary>
      <p className="muted small">{(variants(editing.root, component.schema)[0]?.description ?? "").replaceAll("`", "")}</p>
      <div className="policy-fields">
        {fields.map((f) => <FieldInput key={f.name} name={f.name} schema={f.schema} path={[...path, ...f.at]} value={f.at.reduce<unknown>((v, part) => mapping(v)[part], own)} before={undefined} above={clusters(editing.root, editing.document, [component.name, ...f.at])} editing={editing} />)}
      </div>
    </details>
  );
}
