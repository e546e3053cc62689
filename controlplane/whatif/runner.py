"""One simulation from its row to its answer, in a process of its own that gives way to everything else.

It says that it lives once a second, and stops when its row is no longer its:
cancelled, or taken back. Whoever started it holds the other end of its standard
input; when that closes, it gives the row back.
"""

import os
import select
import signal
import time
from types import FrameType

import structlog
from django.db import DatabaseError, close_old_connections

from controlplane.statestore.actions import simulationruns
from controlplane.statestore.actions.simulationruns import Claim
from controlplane.statestore.errors import Refused
from controlplane.statestore.models import Simulation
from controlplane.whatif import answer, cases, draining, sides, traced
from controlplane.whatif.cases import Case, Unanswerable

log = structlog.get_logger(__name__)
BEAT_S = 1.0


class Stopped(Exception):
    """Nobody waits for this run any more, or another runner has it."""


class RunProgress:
    """Whether to go on, and what is said of how far it is. stdin: a file descriptor, or None to look at none."""

    def __init__(self, claim: Claim, stdin: int | None) -> None:
        self.claim, self.stdin = claim, stdin
        self.next_s = 0.0
        self.asked_to_stop = False

    def stop(self, _: int, __: FrameType | None) -> None:
        self.asked_to_stop = True

    def look(self, progress: float, simulated_s: float) -> None:
        """Raises ``Stopped``. A StateStore that is away for a while stops nothing."""
        if self.asked_to_stop or self._orphaned():
            simulationruns.give_back(self.claim)
            raise Stopped("given back")
        if time.monotonic() < self.next_s:
            return
        self.next_s = time.monotonic() + BEAT_S
        try:
            mine = simulationruns.beat(self.claim, progress=round(progress, 4), simulated_s=round(simulated_s, 3))
        except DatabaseError as problem:
            log.warning("the StateStore does not answer", problem=str(problem))
            close_old_connections()
            return
        if not mine:
            raise Stopped("cancelled, or another's")

    def _orphaned(self) -> bool:
        if self.stdin is None or not select.select([self.stdin], [], [], 0)[0]:
            return False
        return not os.read(self.stdin, 1)


def run(claim: Claim, stdin: int | None = None) -> None:
    """Until there is an answer, a reason why there is none, or nobody who wants it."""
    progress = RunProgress(claim, stdin)
    signal.signal(signal.SIGTERM, progress.stop)
    try:
        _answer(claim, progress)
    except Stopped as why:
        log.info("a simulation stops", simulation=claim.number, why=str(why))
    except (Unanswerable, sides.Broken) as why:
        simulationruns.fail(claim, str(why))
    except Refused as why:
        first = f": {why.errors[0].field} {why.errors[0].message}" if why.errors else ""
        simulationruns.fail(claim, f"{why.detail}{first}")


def _answer(claim: Claim, progress: RunProgress) -> None:
    progress.look(0.0, 0.0)
    row = Simulation.objects.select_related("base", "sub_cluster", "trace").defer("result", "page").get(pk=claim.number)
    case = _case(row)
    progress.look(0.0, 0.0)
    runs = sides.run(case, case.seeds(row.seeds), progress.look, sides.cores())
    progress.look(0.99, case.window_s)
    found = answer.of(case, runs)
    if not simulationruns.finish(claim, found.result, found.page, case.sample):
        raise Stopped("cancelled, or another's")


def _case(row: Simulation) -> Case:
    if row.kind == Simulation.Kind.DRAIN:
        return draining.of(row)
    return traced.of(row) if row.trace_name else cases.of(row)
