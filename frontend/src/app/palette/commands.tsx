/** Commands that the page in view adds to the palette. */
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";

export interface PaletteCommand {
  /** What it does, as a sentence begins: "Pause the rollout". */
  name: string;
  /** Words beside the name that find it as well. */
  words?: string;
  run: () => void;
}

type Add = (commands: PaletteCommand[]) => () => void;
const Added = createContext<{ commands: PaletteCommand[]; add: Add }>({ commands: [], add: () => () => undefined });

export function PaletteCommands({ children }: { children: ReactNode }) {
  const [groups, setGroups] = useState<PaletteCommand[][]>([]);
  const value = useMemo(() => {
    const add: Add = (commands) => {
      setGroups((all) => [...all, commands]);
      return () => setGroups((all) => all.filter((group) => group !== commands));
    };
    return { commands: groups.flat(), add };
  }, [groups]);
  return <Added.Provider value={value}>{children}</Added.Provider>;
}

/**
 * Offer commands while this component is shown. They are taken anew when their names change;
 * `run` is called as it was at that time, so it should read what it needs when it runs.
 */
export function usePaletteCommands(commands: PaletteCommand[]): void {
  const { add } = useContext(Added);
  const names = commands.map((c) => c.name).join("\n");
  // eslint-disable-next-line -- the names say whether they are others
  useEffect(() => (names ? add(commands) : undefined), [names]);
}

export function useAddedCommands(): PaletteCommand[] {
  return useContext(Added).commands;
}
