/** A view's history, read again while its range ends now. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { ApiError } from "../../api/client";
import { readSeries, seriesPath, type SeriesAnswer } from "../../charts/series";
import { charts, lastS, type View } from "./view";

export type Read = SeriesAnswer & { readAt: number };

export function useSeries(view: View, points: number, againMs: number) {
  const metrics = useMemo(() => charts(view.scope).flatMap((spec) => spec.lines.map((line) => line.metric)), [view.scope]);
  return useQuery<Read, ApiError>({
    queryKey: ["series", view.scope, view.span ?? view.last, points],
    queryFn: async ({ signal }) => {
      const now = Math.floor(Date.now() / 1000);
      const answer = await readSeries(seriesPath(metrics, [view.scope], view.span ?? { last: lastS(view) }, points, now), signal);
      return { ...answer, readAt: Date.now() };
    },
    enabled: view.scope !== "",
    refetchInterval: view.span ? false : againMs,
    placeholderData: (previous, query) => (query?.queryKey[1] === view.scope ? previous : undefined),
    retry: 1,
  });
}
