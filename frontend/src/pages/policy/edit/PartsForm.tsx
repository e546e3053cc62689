/** What stands beside the queues: components, also of single sub-clusters, partitions of nodes, a second operator's approval. */
import { Button, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { Card, Empty } from "../../../ui/parts";
import { mapping } from "../model/mapping";
import { fieldsAt } from "../model/schema";
import type { Json, Path } from "../types";
import { labelOf, type Editing } from "./editing";
import { FieldInput } from "./FieldInput";
import { SubClustersForm } from "./SubClustersForm";

export function PartsForm({ section, editing, at }: { section: string; editing: Editing; at: Path | null }) {
  const box = useRef<HTMLDivElement>(null);
  const wanted = at?.[1];
  useEffect(() => {
    if (wanted) box.current?.querySelector(`[data-part="${CSS.escape(String(wanted))}"]`)?.scrollIntoView({ block: "start" });
  }, [wanted]);
  const held = mapping(editing.document[section]);
  if (section === "partitions") return <Partitions held={held} editing={editing} />;
  if (section === "sub_clusters") return <SubClustersForm held={held} editing={editing} />;
  if (section === "approval") {
    return (
      <Card title="A second operator's approval">
        <div className="policy-fields">
          {fieldsAt(editing.root, ["approval"]).map((f) => <FieldInput key={f.name} name={f.name} schema={f.schema} path={["approval", f.name]} value={held[f.name]} before={undefined} editing={editing} />)}
        </div>
      </Card>
    );
  }
  return (
    <div className="policy-components" ref={box}>
      {fieldsAt(editing.root, ["components"]).map((f) => (
        <div key={f.name} data-part={f.name}>
          <Card title={labelOf(f.name)}>
            <FieldInput name={f.name} schema={f.schema} path={["components", f.name]} value={held[f.name]} before={undefined} editing={editing} />
          </Card>
        </div>
      ))}
    </div>
  );
}

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

function Partitions({ held, editing }: { held: Json; editing: Editing }) {
  const [name, setName] = useState("");
  const bad = name !== "" && (!NAME.test(name) || name.length > 63 || name in held);
  return (
    <>
      {!Object.keys(held).length && <Card><Empty title="No partition">Every node is in the one pool. A partition sets nodes apart by a label expression, with capacities of its own.</Empty></Card>}
      {Object.entries(held).map(([partition, value]) => (
        <Card key={partition} title={partition} aside={<Button variant="default" size="compact-sm" onClick={() => editing.set(["partitions", partition], undefined)}>Remove</Button>}>
          <div className="policy-fields">
            {fieldsAt(editing.root, ["partitions", partition]).map((f) => <FieldInput key={f.name} name={f.name} schema={f.schema} path={["partitions", partition, f.name]} value={mapping(value)[f.name]} before={undefined} editing={editing} />)}
          </div>
        </Card>
      ))}
      <form className="row wrap" onSubmit={(e) => { e.preventDefault(); if (name && !bad) { editing.set(["partitions", name], { nodes: "gpu" }); setName(""); } }}>
        <TextInput aria-label="Name of a new partition" placeholder="name of a new partition" value={name} error={bad && "letters, digits and -, not taken"} onChange={(e) => setName(e.currentTarget.value)} />
        <Button type="submit" variant="default" disabled={!name || bad}>Add partition</Button>
      </form>
    </>
  );
}
