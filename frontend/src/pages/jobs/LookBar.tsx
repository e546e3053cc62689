/** Which columns the list has, and by which of them this page is sorted. */
import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { Choices } from "../../ui/choices";
import { COLUMNS, NAME } from "./columns";
import { USUAL, type Look } from "./look";

const SORTS = [{ value: "", label: "Sort: as listed" }, ...[NAME, ...COLUMNS].flatMap(({ key, head }) => [{ value: key, label: `${head} ↑` }, { value: `-${key}`, label: `${head} ↓` }])];
const HEADS = COLUMNS.map(({ head }) => head);

export function LookBar({ look, set }: { look: Look; set: (next: Partial<Look>) => void }) {
  const [open, setOpen] = useState(false);
  const heads = COLUMNS.filter(({ key }) => look.columns.includes(key)).map(({ head }) => head);
  const change = (chosen: string[]) => set({ columns: COLUMNS.filter(({ head }) => chosen.includes(head)).map(({ key }) => key) });
  return (
    <div className="look">
      <div className="row wrap">
        <NativeSelect aria-label="Sort this page" data={SORTS} value={look.sort} onChange={(e) => set({ sort: e.currentTarget.value })} />
        <Button variant="default" aria-expanded={open} onClick={() => setOpen(!open)}>Columns</Button>
        {open && look.columns.join() !== USUAL.join() && <Button variant="subtle" onClick={() => set({ columns: USUAL })}>The usual ones</Button>}
      </div>
      {open && <Choices label="Columns beside the job's name" all={HEADS} chosen={heads} change={change} />}
    </div>
  );
}
