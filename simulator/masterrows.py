"""What application masters want and are told, as rows of the simulated StateStore: ``rm.adapters.masterrows``."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.rm.changes import Changes
from controlplane.rm.rows import LaunchRow, MasterAskRow, MasterSessionRow, Wanted

Json = dict[str, Any]


@dataclass(slots=True)
class MasterRows:
    """asks: (job, group) -> specification and target. launches: container -> job and specification. verdicts: job ->
    verdict and message. events: job -> (number, at_us, kind, body). granted: (job, group) -> grants told."""

    asks: dict[tuple[int, int], tuple[Json, int]] = field(default_factory=dict)
    launches: dict[int, tuple[int, Json]] = field(default_factory=dict)
    verdicts: dict[int, tuple[int | None, str]] = field(default_factory=dict)
    events: defaultdict[int, list[tuple[int, int, str, Json]]] = field(default_factory=lambda: defaultdict(list))
    granted: dict[tuple[int, int], int] = field(default_factory=dict)

    def all_of(self, jobs: Iterable[int], started: Mapping[tuple[int, int], int], live: Collection[int]) -> Wanted:
        """Everything of these jobs. started: tasks that have begun, by group. live: containers."""
        wanted = set(jobs)
        asks = [
            row._replace(started=started.get(key, 0), granted=self.granted.get(key))
            for key, row in self._asks().items()
            if key[0] in wanted
        ]
        launches = [row for row in self._launches() if row.job_id in wanted and row.container_id in live]
        return Wanted(asks, launches, self._sessions(sorted(wanted)))

    def some_of(
        self, known: Mapping[int, int], asks: Iterable[tuple[int, int]], launches: Iterable[int], ending: Iterable[int]
    ) -> Wanted:
        """What intents name. known: job -> groups it has already; later ones are read as well."""
        named, started = set(asks), set(launches)
        found = [
            row for (job, no), row in self._asks().items() if job in known and (no >= known[job] or (job, no) in named)
        ]
        return Wanted(found, [row for row in self._launches() if row.container_id in started], self._sessions(ending))

    def _asks(self) -> dict[tuple[int, int], MasterAskRow]:
        return {
            (job, no): MasterAskRow(job, no, spec, target)
            for (job, no), (spec, target) in sorted(self.asks.items(), key=lambda item: item[0])
        }

    def _launches(self) -> list[LaunchRow]:
        return [LaunchRow(cid, job, spec) for cid, (job, spec) in self.launches.items()]

    def _sessions(self, jobs: Iterable[int]) -> list[MasterSessionRow]:
        found = []
        for job in jobs:
            verdict, message = self.verdicts.get(job, (None, ""))
            last_event = max((event[0] for event in self.events.get(job, ())), default=0)
            found.append(MasterSessionRow(job, verdict, message, last_event))
        return found

    def write(self, groups: Mapping[int, list[list[Any]]], c: Changes) -> None:
        """Groups that came, and what masters are told. groups: counters of each job's, to which new ones are added."""
        for job, no in sorted(c.master_groups):
            if job in groups and no >= len(groups[job]):
                groups[job].append([0, 0, 0, 0, 0, 0, None])
        self.granted |= c.granted
        for job, number, at_us, kind, body in c.master_events:
            self.events[job].append((number, at_us, kind, body))

    def forget(self, job: int) -> None:
        """The job has ended."""
        self.verdicts.pop(job, None)
        self.events.pop(job, None)
        for rows in (self.asks, self.granted):
            for key in [key for key in rows if key[0] == job]:
                del rows[key]
        for cid in [cid for cid, (owner, _) in self.launches.items() if owner == job]:
            del self.launches[cid]
