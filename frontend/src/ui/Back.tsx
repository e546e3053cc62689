/** Says that what was written before is there again, and where it is of an older revision or not kept. */
import type { Kept } from "./kept";
import { Notice } from "./parts";

interface Props {
  kept: Pick<Kept<object>, "found" | "of" | "unkept">;
  /** Of what would be changed; 0 where nothing is. */
  revision: number;
  anew: () => void;
}

export function Back({ kept, revision, anew }: Props) {
  const again = <button type="button" className="linkish" onClick={anew}>Begin anew</button>;
  if (kept.unkept) return <Notice kind="warn">This browser keeps nothing: leaving the page would lose what you write.</Notice>;
  if (!kept.found) return null;
  if (kept.of !== revision) return <Notice kind="warn">What you wrote here for revision {kept.of} is back, and not sent yet. It has revision {revision} by now: what that changed, this would take back. {again}</Notice>;
  return <p className="muted small" role="status">What you wrote here before is back, and not sent yet. {again}</p>;
}
