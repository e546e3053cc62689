"""Which queue each job has under each policy, and what is left out since one has none for it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controlplane.policy import documents
from controlplane.whatif import unsimulated
from simulator.workload import Submission
from wire.counts import counted

NAMED, SHOWN = 3, 80  # queues in a note, and characters of a name: those of a trace may have any length
_DIVIDED = "Partitions are shared each by itself: under a policy that has some there are no figures of fairness."
REMEDY = " Say where they go with queues (--queue OLD=NEW)."
Json = dict[str, Any]


class JobQueues:
    """Jobs stay in the queues that they came with where a policy has them as leaves; else they go where ``moved`` says.

    policies: name -> document. moved: queue -> leaf. moves: what of these is so under each policy. unknown: leaves
    among them that no policy has.
    """

    def __init__(
        self, policies: Mapping[str, Json], sub_clusters: Sequence[str], moved: Mapping[str, str] | None = None
    ):
        self._sub_clusters, self.moved = list(sub_clusters), dict(moved or {})
        self._rows = {
            name: {row.path: row for row in documents.validate(each, self._sub_clusters)[1] if row.leaf}
            for name, each in policies.items()
        }
        self.moves: dict[str, dict[str, str]] = {
            name: {old: new for old, new in (moved or {}).items() if old not in leaves and new in leaves}
            for name, leaves in self._rows.items()
        }

        self._divided = any(each.get("partitions") for each in policies.values())
        some = set[str]().union(*self._rows.values())
        self.unknown = [new for new in (moved or {}).values() if new not in some]

    def kept(self, jobs: Sequence[Submission]) -> list[Submission]:
        """Those that every policy has a queue for, so that all simulate the same.

        Where a job's home is gone, the router finds another.
        """
        known = self._known()
        homes = {"", *self._sub_clusters}
        return [job if job.home in homes else replace(job, home="") for job in jobs if job.queue in known]

    def notes(self, jobs: Sequence[Submission], remedy: str = REMEDY) -> list[str]:
        """What was left out of them and what is in another queue, and what the policies say that is not simulated."""
        known = self._known()
        queues = Counter(job.queue for job in jobs)
        missing = Counter({queue: count for queue, count in queues.items() if queue not in known})
        told = [*self._left_out(jobs, missing, remedy), *self._moved(queues)]
        same = set.intersection(*map(set, self._rows.values()))
        alike = [{path: rows[path] for path in rows if path in same} for rows in self._rows.values()]
        divided = [_DIVIDED] if self._divided else []
        return [*told, *divided, *unsimulated.notes(alike)]

    def names(self) -> dict[str, dict[str, str]]:
        """By policy, what queues are called that one of two policies has by another name, so that they are compared."""
        found: dict[str, dict[str, str]] = {name: {} for name in self._rows}
        if len(found) != 2:
            return found
        first, second = found
        for one, other in ((first, second), (second, first)):
            times = Counter(self.moves[other].values())
            for old, new in self.moves[other].items():
                if times[new] == 1 and old in self._rows[one] and new not in self._rows[one]:
                    found[one][old] = found[other][new] = f"{old} → {new}"
        return found

    def mixed(self) -> list[str]:
        """Queues that every policy has and that one of them has more jobs for: nothing can be compared by these."""
        everywhere = set.intersection(*map(set, self._rows.values()))
        return sorted({new for moves in self.moves.values() for new in moves.values()} & everywhere)

    def _known(self) -> set[str]:
        return set.intersection(*({*rows, *self.moves[name]} for name, rows in self._rows.items()))

    def _left_out(self, jobs: Sequence[Submission], missing: Counter[str], remedy: str) -> Iterator[str]:
        if missing:
            part = sum(_tasks(job) for job in jobs if job.queue in missing) / max(sum(map(_tasks, jobs)), 1)
            yield (
                f"{missing.total():,} jobs with {part:.0%} of all tasks are left out, since not both policies have "
                f"their queue: {_named(missing)}. The others are simulated as if these had not come.{remedy}"
            )

    def _moved(self, queues: Counter[str]) -> Iterator[str]:
        known = self._known()
        for name, moves in self.moves.items():
            found = Counter({old: queues[old] for old in moves if queues[old] and old in known})
            if found:
                where = "; ".join(f"{old} to {moves[old]}" for old, _ in found.most_common(NAMED))
                more = " and others" if len(found) > NAMED else ""
                yield f"Under {name} {counted(found.total(), 'job goes', 'jobs go')}, as asked, from {where}{more}."
        if mixed := self.mixed():
            names = _named(Counter(mixed))
            yield f"Under one policy {names} has other jobs than under the other, so no change is told of it."


def _tasks(job: Submission) -> int:
    return sum(group.count for group in job.groups)


def _named(queues: Counter[str]) -> str:
    return ", ".join(name[:SHOWN] for name, _ in queues.most_common(NAMED)) + (
        " and others" if len(queues) > NAMED else ""
    )


def placed(jobs: Iterable[Submission], moves: Mapping[str, str]) -> Iterator[Submission]:
    """In the queues of one policy."""
    for job in jobs:
        yield replace(job, queue=moves[job.queue]) if job.queue in moves else job


def remedy(jobs: Sequence[Submission]) -> str:
    """What to do when no job has a queue."""
    return f"theirs are {_named(Counter(job.queue for job in jobs))}: say where they go with queues (--queue OLD=NEW)"
