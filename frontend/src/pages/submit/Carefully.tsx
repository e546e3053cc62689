/** By which rules what a service runs next takes the place of what it runs now. */
import { Checkbox, TextInput } from "@mantine/core";
import { useState } from "react";
import type { FieldError } from "../../api/types";
import { wrong } from "./errors";
import { isNumber, RULES, SURGE, surges, type Rules } from "./rollout";
import "./carefully.css";

/** `of`: those that can be set. */
export function Carefully({ rules, set, errors = [], of = RULES }: { rules: Rules; set: (rules: Rules) => void; errors?: FieldError[]; of?: typeof RULES }) {
  const [open, setOpen] = useState(false);
  const refused = of.some(({ key }) => wrong(errors, [key]));
  return (
    <>
      <Checkbox size="xs" checked={surges(rules)} onChange={(event) => set({ ...rules, max_unavailable: undefined, max_surge: undefined, ...(event.currentTarget.checked ? SURGE : {}) })} label="A new task serves before an old one goes, where there is room for one more" />
      <details className="carefully small" open={open || refused} onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary>How carefully</summary>
        <div className="rules">
          {of.map(({ key, label, help, usual, most }) => (
            <TextInput key={key} type="number" label={label} description={help} placeholder={String(usual)} min={0} max={most} step={key.endsWith("_s") ? "any" : 1} value={isNumber(rules[key]) ? rules[key] : ""} error={wrong(errors, [key])}
              onChange={(e) => set({ ...rules, [key]: e.currentTarget.value === "" && !e.currentTarget.validity.badInput ? undefined : e.currentTarget.valueAsNumber })} />
          ))}
        </div>
      </details>
    </>
  );
}
