/** Every key that does something, by where it works. */
import type { Me } from "../../api/types";
import { Close } from "../../ui/icons";
import { useModal } from "../../ui/modal";
import { pagesFor } from "../pages";
import "./palette.css";

export default function Help({ me, onClose }: { me: Me; onClose: () => void }) {
  const ref = useModal();
  return (
    <dialog ref={ref} className="ask keys-help" aria-labelledby="keys-title" onClose={onClose}>
      <div className="row">
        <h2 id="keys-title" className="grow">Keys</h2>
        <button type="button" className="icon-button" aria-label="Close" onClick={() => ref.current?.close()}><Close /></button>
      </div>
      <dl>
        <div><dt><kbd>Ctrl</kbd> <kbd>K</kbd></dt><dd>Find a page, job, queue, node or action, such as <i>kill</i></dd></div>
        <div><dt><kbd>/</kbd></dt><dd>Search on this page</dd></div>
        <div><dt><kbd>?</kbd></dt><dd>Show these keys</dd></div>
        {me.role !== "viewer" && <div><dt><kbd>Ctrl</kbd> <kbd>Enter</kbd></dt><dd>Submit the job, or keep the schedule, that is written</dd></div>}
        <div><dt><kbd>Esc</kbd></dt><dd>Close a dialog</dd></div>
        {pagesFor(me.role).map((p) => <div key={p.to}><dt><kbd>g</kbd> <kbd>{p.key}</kbd></dt><dd>Go to {p.name}</dd></div>)}
      </dl>
    </dialog>
  );
}
