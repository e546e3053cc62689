/** A secret that is shown this once: to copy, and then gone. */
import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useModal } from "../../ui/modal";
import { Command } from "../../ui/parts";

export function ShownOnce({ title, secret, kept = "stored only as a hash", label = "Copy the token", children, onClose }: {
  title: string; secret: string; kept?: string; label?: string; children?: ReactNode; onClose: () => void;
}) {
  const ref = useModal();
  return (
    <dialog ref={ref} className="ask" aria-label={title} onClose={onClose}>
      <form method="dialog">
        <h2>{title}</h2>
        <p>Copy it now: it is {kept} and is not shown again.</p>
        <Command text={secret} label={label} />
        {children}
        <div className="actions"><Button type="submit">Done</Button></div>
      </form>
    </dialog>
  );
}
