/** The bar of filters above the job list. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { JOB_STATES, word } from "../../format/states";
import { Typed } from "../../ui/typed";
import { fromInput, toInput, type FilterName, type Filters } from "./filters";

type Set = (name: FilterName, value: string) => void;

const STATES = [
  { value: "", label: "Any state" }, { value: "live", label: "Not ended" }, { value: "ended", label: "Ended" },
  ...JOB_STATES.map((s) => ({ value: s, label: word(s) })),
];
const KINDS = [
  { value: "", label: "Any kind" }, { value: "batch", label: "Batch" }, { value: "service", label: "Service" }, { value: "application", label: "Application" },
];
const LABELS = { name: "Name", queue: "Queue", owner: "Owner", tag: "Tag", node: "On node now" };
const ORDERS = [{ value: "", label: "Newest first" }, { value: "oldest", label: "Oldest first" }];

export function JobFilters({ filters, set, clear }: { filters: Filters; set: Set; clear: () => void }) {
  const [more, setMore] = useState(Boolean(filters.since || filters.until || filters.order));
  const any = Object.keys(filters).length > 0;
  return (
    <div className="filters" role="search" aria-label="Filter jobs">
      <Choice label="State" name="state" filters={filters} set={set} data={STATES} />
      <Choice label="Kind" name="kind" filters={filters} set={set} data={KINDS} />
      {(["name", "queue", "owner", "tag", "node"] as const).map((name) => <Typed key={name} label={LABELS[name]} value={filters[name] ?? ""} set={(text) => set(name, text)} />)}
      {more && <>
        <Moment label="Submitted from" name="since" filters={filters} set={set} />
        <Moment label="Submitted before" name="until" filters={filters} set={set} />
        <Choice label="Order" name="order" filters={filters} set={set} data={ORDERS} />
      </>}
      {!more && <Button variant="subtle" onClick={() => setMore(true)}>Time and order</Button>}
      {any && <Button variant="subtle" onClick={clear}>Clear</Button>}
    </div>
  );
}

function Choice({ label, name, filters, set, data }: {
  label: string; name: FilterName; filters: Filters; set: Set; data: { value: string; label: string }[];
}) {
  return <NativeSelect aria-label={label} value={filters[name] ?? ""} onChange={(e) => set(name, e.currentTarget.value)} data={data} />;
}

function Moment({ label, name, filters, set }: { label: string; name: FilterName; filters: Filters; set: Set }) {
  return (
    <TextInput type="datetime-local" className="moment" aria-label={label} title={label} value={toInput(filters[name])}
      onChange={(e) => set(name, fromInput(e.currentTarget.value))} />
  );
}
