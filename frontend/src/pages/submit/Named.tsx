/** What of one's account a job names: receivers that are told of it, and secrets that its tasks get. */
import { Button, NativeSelect, TextInput } from "@mantine/core";
import type { Page, Receiver, Secret } from "../../api/types";
import { useRead } from "../../live/hooks";
import { Choices } from "../../ui/choices";
import { at, textAt, withAdded, withField, type Path } from "./document";
import { wrong } from "./errors";
import type { FormProps } from "./Form";
import { isFile, notified, secretAs } from "./named";

/** Nothing where the account has no receivers, and the file names none. */
export function NotifyField({ text, value, errors, change }: FormProps) {
  const known = useRead<Page<Receiver>>("/me/receivers").data?.results.map((r) => r.name) ?? [];
  const there = notified(value);
  const names = [...new Set([...known, ...there])];
  if (names.length === 0) return null;
  const error = wrong(errors, ["notify"]) ?? errors.find((e) => e.field.startsWith("notify."))?.message;
  const set = (wanted: string[]) => {
    const kept = (Array.isArray(value.notify) ? value.notify : []).filter((n: unknown) => wanted.includes(textAt(n, ["receiver"])));
    const all = [...kept, ...wanted.filter((n) => !there.includes(n)).map((receiver) => ({ receiver }))];
    change(withField(text, ["notify"], all.length ? all : undefined));
  };
  return <Choices label="Tell when it ends" all={names} chosen={there} change={set} error={error} />;
}

export function SecretsField({ text, value, errors, change, path }: FormProps & { path: Path }) {
  const known = useRead<Page<Secret>>("/me/secrets").data?.results.map((s) => s.name) ?? [];
  const found = at(value, path);
  const listed = Array.isArray(found) ? (found as unknown[]) : [];
  const add = () => change(withAdded(text, path, { name: known[0] ?? "", env: "" }));
  return (
    <fieldset className="choices">
      <legend>Secrets</legend>
      {listed.map((each, i) => <SecretRow key={i} {...{ text, value, errors, change }} path={[...path, i]} each={each} known={known} />)}
      {wrong(errors, path) && <div className="mantine-InputWrapper-error">{wrong(errors, path)}</div>}
      <div className="row wrap">
        <Button size="compact-sm" variant="default" disabled={known.length === 0} onClick={add}>Use a secret</Button>
        {known.length === 0 && <span className="small muted">You have none yet: <a href="/account" target="_blank" rel="noopener">your account</a> keeps them.</span>}
      </div>
    </fieldset>
  );
}

function SecretRow({ text, value, errors, change, path, each, known }: FormProps & { path: Path; each: unknown; known: string[] }) {
  const name = textAt(each, ["name"]);
  const file = isFile(each);
  const place = file ? "path" : "env";
  const of = (part: string) => wrong(errors, [...path, part]);
  return (
    <div className="row wrap secret-row">
      <NativeSelect aria-label="Secret" data={known.includes(name) || !name ? known : [name, ...known]} value={name} error={of("name") ?? wrong(errors, path)} onChange={(e) => change(withField(text, [...path, "name"], e.currentTarget.value))} />
      <NativeSelect aria-label={`How tasks find ${name}`} data={[{ value: "env", label: "as variable" }, { value: "path", label: "as file" }]} value={place} onChange={(e) => change(withField(text, path, secretAs(each, e.currentTarget.value === "path")))} />
      <TextInput aria-label={file ? `Where the file ${name} is` : `The variable of ${name}`} placeholder={file ? ".ssh/id" : "PGPASSWORD"} className="grow mono-input" spellCheck={false} autoComplete="off" value={textAt(each, [place])} error={of(place)} onChange={(e) => change(withField(text, [...path, place], e.currentTarget.value))} />
      <Button size="compact-sm" variant="subtle" aria-label={`Do without ${name}`} onClick={() => change(withField(text, list(value, path) > 1 ? path : path.slice(0, -1), undefined))}>Remove</Button>
    </div>
  );
}

const list = (value: unknown, path: Path): number => { const found = at(value, path.slice(0, -1)); return Array.isArray(found) ? found.length : 0; };
