/** What a cron expression says, and its next times in its zone. */
import { Card } from "../../ui/parts";
import { inZone, until } from "./words";

export function Upcoming({ words, zone, times, now, suspended = false }: { words: string; zone: string; times: string[]; now: number; suspended?: boolean }) {
  return (
    <Card title={suspended ? "Next times, were it resumed" : "Next times"}>
      <p className="strong" data-testid="words">{words}</p>
      {times.length === 0 ? <p className="muted">There are none to come.</p> : (
        <ol className="upcoming small">{times.map((at) => <li key={at}><time dateTime={at}>{inZone(at, zone)}</time> <span className="muted">{until(at, now)}</span></li>)}</ol>
      )}
    </Card>
  );
}
