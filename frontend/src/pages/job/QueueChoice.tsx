/** A queue one may submit to. */
import { NativeSelect } from "@mantine/core";
import { useRead } from "../../live/hooks";
import type { Page } from "../../api/types";
import { Failed } from "../../ui/parts";

interface QueueRow {
  path: string;
  may_submit: boolean;
}

export function useQueuesToSubmit(): { paths: string[]; loading: boolean; error: ReturnType<typeof useRead>["error"] } {
  const read = useRead<Page<QueueRow>>("/queues");
  return { paths: (read.data?.results ?? []).filter((q) => q.may_submit).map((q) => q.path), loading: read.isPending, error: read.error };
}

export function QueueChoice({ value, onChange, without }: { value: string; onChange: (path: string) => void; without?: string }) {
  const { paths, loading, error } = useQueuesToSubmit();
  if (error) return <Failed error={error} />;
  const data = [{ value: "", label: loading ? "Reading the queues" : "Choose a queue" }, ...paths.filter((p) => p !== without)];
  return <NativeSelect label="Queue" description="Those you may submit to" value={value} data={data} onChange={(e) => onChange(e.currentTarget.value)} />;
}
