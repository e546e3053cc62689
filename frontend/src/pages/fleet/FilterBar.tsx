/** Narrow the fleet down by name, sub-cluster, rack, label and state. What is typed waits a moment. */
import { Button, NativeSelect } from "@mantine/core";
import { useMemo } from "react";
import { word } from "../../format/states";
import { Search } from "../../ui/icons";
import { Typed } from "../../ui/typed";
import { known, narrowed, PLAIN, type View } from "./filter";
import { CLOSED } from "./look";
import type { Fleet } from "./model";

export function FilterBar({ view, fleet, set }: { view: View; fleet: Fleet | null; set: (more: Partial<View>) => void }) {
  const shape = fleet?.parts.map((part) => part.since).join();
  const there = useMemo(() => (fleet ? known(fleet) : { labels: [], racks: [] }), [shape]); // eslint-disable-line -- only what nodes are
  const state = (value: string) => ({ value, label: word(value) });
  const some = narrowed(view);
  return (
    <div className="filters" role="search" aria-label="Filter nodes">
      <Typed label="Name" value={view.q} set={(q) => set({ q })} icon={<Search />} />
      <NativeSelect aria-label="Sub-cluster" value={view.sub} onChange={(e) => set({ sub: e.currentTarget.value })}
        data={[{ value: "", label: "Any sub-cluster" }, ...options(view.sub, fleet?.parts.map((p) => p.name) ?? [])]} />
      <Typed label="Rack" value={view.rack} set={(rack) => set({ rack })} choices={there.racks} />
      <Typed label="Label" value={view.label} set={(label) => set({ label })} choices={there.labels} />
      <NativeSelect aria-label="State" value={view.state} onChange={(e) => set({ state: e.currentTarget.value })}
        data={[{ value: "", label: "Any state" }, { value: "stale", label: "Stale" }, ...["UP", "UNHEALTHY", "LOST", "REGISTERED"].map(state),
          { group: "Operators' wish", items: [{ value: "closed", label: "Closed to new work" }, ...[...CLOSED].map(state)] }]} />
      {some && <Button variant="subtle" onClick={() => set({ ...PLAIN, fill: view.fill, of: view.of, view: view.view, sort: view.sort })}>Clear</Button>}
    </div>
  );
}

/** Also one that is not there (any more) can be seen and cleared. */
function options(chosen: string, names: string[]): string[] {
  return chosen && !names.includes(chosen) ? [...names, chosen] : names;
}
