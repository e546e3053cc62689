/** A queue among thousands: what is typed is searched on the server. */
import { useState } from "react";
import { useQueueSearch, type Which } from "../../live/queuesearch";
import { Combobox } from "../../ui/combobox";

interface Props {
  label?: string;
  quiet?: boolean;
  className?: string;
  description?: string;
  error?: string | undefined;
  placeholder?: string;
  value: string;
  onChange: (path: string) => void;
  which?: Which;
  /** Those that are not offered. */
  without?: string[];
}

export function QueueChoice({ label = "Queue", placeholder = "Type a part of its name", which = "may_submit", without = [], onChange, ...field }: Props) {
  const [typed, setTyped] = useState<string | null>(null);
  const found = useQueueSearch(typed, which);
  const options = found.options.filter((path) => !without.includes(path));
  return <Combobox {...field} label={label} placeholder={placeholder} typed={typed} onType={setTyped} found={{ ...found, options }} onChoose={onChange} />;
}
