"""History over time; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from client import answers
from client.transport import Transport
from contract.series import SeriesAnswer, SeriesInstant


class SeriesCalls:
    _transport: Transport

    def series(
        self,
        metrics: Sequence[str],
        scopes: Sequence[str] = ("cluster",),
        start: datetime | None = None,
        end: datetime | None = None,
        points: int = 300,
    ) -> SeriesAnswer:
        """Metrics of scopes over time: ``cluster``, ``sub-cluster:<name>``, ``queue:<path>`` or ``node:<id>``.

        Without ``start`` the last hour.
        """
        params = {
            "metric": ",".join(metrics),
            "scope": ",".join(scopes),
            "from": start.isoformat() if start else None,
            "to": end.isoformat() if end else None,
            "points": points,
        }
        answer = self._transport.request("GET", "/api/v1/series", params=params)
        return answers.read(SeriesAnswer, answer.json())

    def standing(self, at: datetime | None = None) -> SeriesInstant:
        """How sub-clusters and queues stood at a moment, now by default, in the finest window that is kept of it."""
        params = {"at": at.isoformat() if at else None}
        return answers.read(
            SeriesInstant, self._transport.request("GET", "/api/v1/series/instant", params=params).json()
        )
