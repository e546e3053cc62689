"""One simulation from its row to its answer, in a process of its own that gives way to everything else.

One process reads, simulates and compares; the one that has started it says once
a second that it lives, and ends it when the row is no longer theirs: cancelled,
or taken back. So this is seen to in time whatever is being computed. Whoever
started both holds the other end of the standard input; when that closes, they
give the row back.
"""

import os
import select
import signal
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import FrameType

import structlog
from django.db import DatabaseError, close_old_connections, connections

from controlplane.embedded.spawn import die_with_parent
from controlplane.statestore.actions import simulationruns
from controlplane.statestore.actions.simulationruns import Claim
from controlplane.statestore.errors import Refused
from controlplane.statestore.models import Simulation
from controlplane.whatif import answer, cases, draining, sides, traced
from controlplane.whatif.cases import Case, Unanswerable

log = structlog.get_logger(__name__)
BEAT_S = 1.0
LOOK_S = 0.25  # between two looks at who still waits for an answer
LONGEST_S = 2 * 3600.0  # others wait for its place
TOO_LONG = "it was not done within two hours; ask for a shorter window, or for fewer seeds"
_fork = get_context("fork")


class Stopped(Exception):
    """Nobody waits for this run any more, or another runner has it."""


class Died(Exception):
    """The process that computed has ended without a word."""


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
            raise Stopped("answered, cancelled, or another's")

    def _orphaned(self) -> bool:
        if self.stdin is None or not select.select([self.stdin], [], [], 0)[0]:
            return False
        return not os.read(self.stdin, 1)


def run(claim: Claim, stdin: int | None = None) -> None:
    """Until there is an answer, a reason why there is none, or nobody who wants it.

    Raises ``Died`` when the computing process ends otherwise.
    """
    progress = RunProgress(claim, stdin)
    signal.signal(signal.SIGTERM, progress.stop)
    connections.close_all()  # a session must not be shared; whoever needs one opens it again
    receiver, sender = _fork.Pipe(duplex=False)
    process = _fork.Process(target=_compute, args=(claim, sender, os.getpid()))
    process.start()
    sender.close()
    try:
        _watch(progress, receiver)
        process.join()
    except Stopped as why:
        log.info("a simulation stops", simulation=claim.number, why=str(why))
        return
    finally:
        process.kill()
        process.join()
        receiver.close()
    if process.exitcode:
        raise Died(f"what computed simulation {claim.number} ended with status {process.exitcode}")


def _watch(progress: RunProgress, receiver: Connection) -> None:
    """Look again and again, whatever is being done, until the other process has ended. Raises ``Stopped``."""
    said, ends_s = (0.0, 0.0), time.monotonic() + LONGEST_S
    while True:
        progress.look(*said)
        if time.monotonic() > ends_s:
            simulationruns.fail(progress.claim, TOO_LONG)
            raise Stopped("it takes too long")
        if receiver.poll(LOOK_S):
            try:
                said = receiver.recv()
            except EOFError:
                return


def _compute(claim: Claim, sender: Connection, parent: int) -> None:
    """In a process of its own, which ends with the one that watches it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    die_with_parent(parent, signal.SIGKILL)
    try:
        _answer(claim, lambda *said: sender.send(said))
    except (Unanswerable, sides.Broken) as why:
        simulationruns.fail(claim, str(why))
    except Refused as why:
        first = f": {why.errors[0].field} {why.errors[0].message}" if why.errors else ""
        simulationruns.fail(claim, f"{why.detail}{first}")
    except (MemoryError, OSError, DatabaseError):
        raise  # another try may do
    except Exception as error:  # it would fail again
        log.error("a simulation failed", simulation=claim.number, exc_info=error)
        simulationruns.fail(claim, f"the simulator failed ({type(error).__name__}); the log of the worker says where")


def _answer(claim: Claim, say: sides.Look) -> None:
    row = Simulation.objects.select_related("base", "sub_cluster", "trace").defer("result", "page").get(pk=claim.number)
    case = _case(row)
    runs = sides.run(case, case.seeds(row.seeds), say, sides.cores())
    say(0.99, case.window_s)
    found = answer.of(case, runs)
    simulationruns.finish(claim, found.result, found.page, case.sample)


def _case(row: Simulation) -> Case:
    if row.kind == Simulation.Kind.DRAIN:
        return draining.of(row)
    return traced.of(row) if row.trace_name else cases.of(row)
