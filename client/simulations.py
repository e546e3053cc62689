"""What-if simulations: questions and answers; a part of ``Client``. For operators."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

from client import answers
from client.transport import Transport

_PATH = "/api/v1/simulations"
_POLL_S = 0.5
ENDED = ("done", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval; ``over`` is empty without one. None: it cannot be said."""

    value: float | None
    low: float | None = None
    high: float | None = None
    over: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Compared:
    """``change``: from the first policy; None of that one itself."""

    value: Estimate
    change: Estimate | None = None


@dataclass(frozen=True, slots=True)
class SimulatedQueue:
    queue: str
    figures: dict[str, Compared]


@dataclass(frozen=True, slots=True)
class SimulatedPolicy:
    policy: str
    seeds: list[int]
    figures: dict[str, Compared]
    queues: list[SimulatedQueue]


@dataclass(frozen=True, slots=True)
class SimulatedComparison:
    """``policies``: the first is what the others are compared to. ``notes``: what one should know of the figures."""

    workload: str
    baseline: str
    policies: list[SimulatedPolicy]
    notes: list[str] = field(default_factory=list)
    total_queues: int = 0


@dataclass(frozen=True, slots=True)
class FigureAbout:
    """``unit``: s, part, count, core hours or nothing. ``better``: lower, higher or nothing."""

    title: str
    unit: str = ""
    better: str = ""


@dataclass(frozen=True, slots=True)
class DrainedQueue:
    """Means over seeds. ``jobs`` and ``containers`` wait longer, ``wait_s`` on average."""

    queue: str
    jobs: float
    containers: float
    wait_s: float


@dataclass(frozen=True, slots=True)
class DrainedJob:
    """A live job that waits longer: ``containers`` of it, the last by ``wait_s``; ``open``: it had not all started."""

    job: int
    name: str
    owner: str
    queue: str
    containers: float
    wait_s: float
    open: bool = False


@dataclass(frozen=True, slots=True)
class DrainedGroup:
    """A task group of a live job that could start in no other sub-cluster, and ``why``."""

    job: int
    name: str
    owner: str
    queue: str
    group: str
    containers: int
    why: str


@dataclass(frozen=True, slots=True)
class SimulatedDrain:
    """What waits because of a drain at ``at``, ``horizon_s`` ahead.

    ``jobs``, ``containers``: wait for more than ``waits_s`` and would not have;
    ``longer_*``: would have waited too, but less. ``empty_s``: after so long
    nothing is left there; its value is None where ``left`` containers are.
    Lists are bounded; ``total_*`` says how many there are.
    """

    sub_cluster: str
    at: datetime
    horizon_s: float
    waits_s: float
    running: int
    services: int
    jobs: Estimate
    containers: Estimate
    longer_jobs: Estimate
    longer_containers: Estimate
    wait_mean_s: Estimate
    empty_s: Estimate
    left: float
    queues: list[DrainedQueue]
    total_queues: int
    live: list[DrainedJob]
    total_live: int
    never: list[DrainedGroup]
    total_never: int
    never_jobs: int
    never_forecast: int


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """``drained``: of a drain."""

    jobs: int
    containers: int
    nodes: int
    figures: dict[str, dict[str, FigureAbout]]
    comparison: SimulatedComparison
    drained: SimulatedDrain | None = None


@dataclass(frozen=True, slots=True)
class Simulation:
    """``kind``: policy or drain, of ``sub_cluster`` with or without a ``forecast``. ``state``: queued, running, done,
    failed, cancelled. ``change``: what the policy changes first of all, in words. ``progress``: 0 to 1. ``raw``: the
    answer as it came."""

    id: int
    state: str
    begin: datetime
    end: datetime
    requested_at: datetime
    base: int
    kind: str = "policy"
    sub_cluster: str | None = None
    forecast: bool | None = None
    message: str = ""
    progress: float = 0.0
    simulated_s: float = 0.0
    requested_by: str | None = None
    version: int | None = None
    change: str = ""
    seeds: int = 1
    sample: float = 1.0
    ended_at: datetime | None = None
    result: SimulationResult | None = None
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        return self.state in ENDED


class SimulationCalls:
    _transport: Transport

    def request_simulation(
        self,
        *,
        document: dict[str, Any] | None = None,
        version: int | None = None,
        window: str | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
        seeds: int = 3,
    ) -> Simulation:
        """What would this policy have done to the last ``window`` (hour, day, week), or from ``begin`` to ``end``?

        Times with their zone. The answer is there when ``wait_simulation`` returns.
        """
        times = {name: None if at is None else at.isoformat() for name, at in (("from", begin), ("to", end))}
        body = {"window": window, "document": document, "version": version, "seeds": seeds} | times
        return _read(self._transport.request("POST", _PATH, json=body).json())

    def request_drain_simulation(
        self, sub_cluster: str, *, horizon_s: int | None = None, forecast: bool = True, seeds: int = 3
    ) -> Simulation:
        """What would wait if this sub-cluster were drained now? ``horizon_s`` ahead: an hour, a week at most.

        ``forecast``: jobs are taken to come as in the last hour. The answer is there when ``wait_simulation`` returns.
        """
        body = {"drain": sub_cluster, "horizon_s": horizon_s, "forecast": forecast, "seeds": seeds}
        return _read(self._transport.request("POST", _PATH, json=body).json())

    def simulation(self, number: int) -> Simulation:
        return _read(self._transport.request("GET", f"{_PATH}/{number}").json())

    def simulations(self, *, version: int | None = None) -> Iterator[Simulation]:
        """Newest first, without results. ``version``: only of that one, or of a document that says the same."""
        params: dict[str, Any] = {"version": version}
        while True:
            page = self._transport.request("GET", _PATH, params=params).json()
            yield from map(_read, page["results"])
            if not page.get("next"):
                return
            params = {key: values[-1] for key, values in parse_qs(urlsplit(page["next"]).query).items()}

    def wait_simulation(self, number: int, told: Callable[[Simulation], None] | None = None) -> Simulation:
        """Until it has ended. ``told`` hears of every look at it."""
        while True:
            found = self.simulation(number)
            if told is not None:
                told(found)
            if found.ended:
                return found
            time.sleep(_POLL_S)

    def cancel_simulation(self, number: int) -> Simulation:
        return _read(self._transport.request("POST", f"{_PATH}/{number}/cancel", json={}, repeatable=True).json())

    def simulation_report(self, number: int) -> str:
        """The answer as a page of HTML."""
        return self._transport.request("GET", f"{_PATH}/{number}/report").text


def _read(raw: dict[str, Any]) -> Simulation:
    return answers.read(Simulation, raw | {"begin": raw.get("from"), "end": raw.get("to"), "raw": raw})
