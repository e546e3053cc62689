/** Where the jobs go of queues in force that the simulated policy does not have. */
import { TextInput } from "@mantine/core";
import { useId } from "react";
import { count } from "../../../format/units";
import { RENAMED_MOST, type Renamed } from "../model/renamed";

interface Props {
  queues: Renamed;
  said: Record<string, string>;
  say: (said: Record<string, string>) => void;
  wrong: (field: string) => boolean | undefined;
}

export function RenamedQueues({ queues: { gone, leaves }, said, say, wrong }: Props) {
  const id = useId();
  const more = gone.length - RENAMED_MOST;
  return (
    <fieldset className="whatif-renamed">
      <legend>Queues in force that it does not have</legend>
      <p className="muted small">Their jobs go to the queue named here; those of a queue without one are left out on both sides.</p>
      <datalist id={id}>{leaves.map((leaf) => <option key={leaf} value={leaf} />)}</datalist>
      <ul>
        {gone.slice(0, RENAMED_MOST).map(({ queue, guess }) => (
          <li key={queue}>
            <code>{queue}</code>
            <span aria-hidden="true">→</span>
            <TextInput aria-label={`Where jobs of ${queue} go`} list={id} placeholder="left out" error={wrong(`queues.${queue}`)} value={said[queue] ?? guess} onChange={(e) => say({ ...said, [queue]: e.currentTarget.value })} />
          </li>
        ))}
      </ul>
      {more > 0 && <p className="muted small">{count(more)} more; their jobs are left out.</p>}
    </fieldset>
  );
}
