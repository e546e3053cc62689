/** Says that what was written before is there again. */
export function Back({ anew }: { anew: () => void }) {
  return <p className="muted small" role="status">What you wrote here before is back, and not sent yet. <button type="button" className="linkish" onClick={anew}>Begin anew</button></p>;
}
