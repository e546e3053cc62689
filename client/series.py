"""History over time; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from client import answers
from client.transport import Transport


@dataclass(frozen=True, slots=True)
class OneSeries:
    """A metric of a scope, a value per point; None where nothing is known."""

    scope: str
    metric: str
    unit: str = ""
    values: list[float | None] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SeriesEvent:
    at: datetime
    kind: str
    text: str = ""
    id: int = 0


@dataclass(frozen=True, slots=True)
class SeriesAnswer:
    """at: where each point's window of ``step_s`` seconds begins, seconds since 1970."""

    step_s: int
    at: list[int] = field(default_factory=list)
    series: list[OneSeries] = field(default_factory=list)
    events: list[SeriesEvent] = field(default_factory=list)


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
