/** What is on the page, as a file of the reader's. */
import { Button } from "@mantine/core";
import { Download } from "./icons";

export function save(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The file that a command beside it names. */
export function SaveAs({ name, text }: { name: string; text: string }) {
  return <Button variant="default" leftSection={<Download />} onClick={() => save(name, text, "application/yaml")}>Save as {name}</Button>;
}
