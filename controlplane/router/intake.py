"""What of one account's jobs may be live at once: by the settings in all, by the policy in each queue."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from django.conf import settings

from contract.problems import FieldError
from controlplane.statestore.errors import Invalid, TooMany
from controlplane.statestore.models import Queue

MIB = 1 << 20
RETRY_AFTER_S = 10


class Live(NamedTuple):
    """Jobs that have not ended, their tasks, and bytes that they say."""

    jobs: int = 0
    tasks: int = 0
    size: int = 0

    def plus(self, other: "Live") -> "Live":
        """Both together."""
        return Live(*(a + b for a, b in zip(self, other, strict=True)))

    def gone(self) -> "Live":
        """As much less."""
        return Live(*(-a for a in self))


class Limit(NamedTuple):
    """setting: how operators call it. most: as ``of`` counts. of: a field of ``Live``."""

    setting: str
    of: str
    most: int


def of_all() -> Iterator[Limit]:
    """What holds for all of an account's jobs together."""
    known = settings.HYDRA
    yield Limit("HYDRA_MAX_LIVE_JOBS_PER_USER", "jobs", int(known["max_live_jobs_per_user"]))
    yield Limit("HYDRA_MAX_LIVE_TASKS_PER_USER", "tasks", int(known["max_live_tasks_per_user"]))
    yield Limit("HYDRA_LIVE_JOBS_MAX_MIB_PER_USER", "size", int(known["live_jobs_max_mib_per_user"] * MIB))


def of_queue(queue: Queue | None) -> Iterator[Limit]:
    """What holds for those in this leaf; nothing where the policy says nothing."""
    for name, of, unit in (
        ("max_live_jobs_per_user", "jobs", 1),
        ("max_live_tasks_per_user", "tasks", 1),
        ("max_live_mib_per_user", "size", MIB),
    ):
        most = getattr(queue, name, None)
        if most is not None:
            yield Limit(name, of, most * unit)


def check(held: Mapping[str, Live], new: Mapping[str, Live], queues: Mapping[str, Queue], field: str) -> None:
    """``TooMany`` where what an account holds leaves no room for this, ``Invalid`` where nothing ever would.

    held, new: by queue. field: what says how much is new.
    """
    every, more = (_sum(of) for of in (held, new))
    for limit in of_all():
        _check(limit, every, more, "", field)
    for path, mine in new.items():
        for limit in of_queue(queues.get(path)):
            _check(limit, held.get(path, Live()), mine, path, field)


def _sum(of: Mapping[str, Live]) -> Live:
    total = Live()
    for each in of.values():
        total = total.plus(each)
    return total


def _check(limit: Limit, held: Live, new: Live, queue: str, field: str) -> None:
    have, more = getattr(held, limit.of), getattr(new, limit.of)
    if more <= 0 or have + more <= limit.most:
        return
    where, elsewhere = (f" in {queue}", ", or use another queue") if queue else ("", "")
    most = _said(limit, limit.most)
    if more > limit.most:
        problem = f"comes to {_said(limit, more)}, and one user may have {most}{where} at once ({limit.setting})"
        remedy = f"submit less at once{elsewhere}"
        raise Invalid("one user may not have so much at once", [FieldError(field, problem, remedy)])
    remedy = f"wait for some to end{elsewhere}"
    problem = f"your live jobs{where} come to {_said(limit, have)}, and may come to {most}"
    wrong = [FieldError("queue", f"{queue} has {limit.setting} {most}", remedy)] if queue else []
    raise TooMany(f"{problem}; {remedy}", wrong, retry_after_s=RETRY_AFTER_S)


def _said(limit: Limit, amount: int) -> str:
    return f"{amount / MIB:,.4g} MiB of specifications" if limit.of == "size" else f"{amount:,} {limit.of}"
