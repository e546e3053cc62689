"""Runs side by side: as many processes as cores are allowed, each with its share of policies and seeds."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

import structlog
from django.db import connections

from controlplane import kernels
from controlplane.embedded.spawn import die_with_parent
from controlplane.whatif import pace
from controlplane.whatif.cases import Case
from simulator.measures import Run

log = structlog.get_logger(__name__)
INTERPRETED = 100_000  # containers times nodes that are simulated in less time than it takes to load the kernels
LOOK_S = 0.25  # between two looks at what processes say
_fork = get_context("fork")  # the workload is read once, and is there in each of them
Look = Callable[[float, float], None]  # progress 0 to 1, simulated s of the slowest; what it raises ends all of it
Task = tuple[str, int]  # policy, seed


class Broken(Exception):
    """A run ended without a result."""


@dataclass(slots=True)
class _Process:
    process: Any
    receiver: Connection
    tasks: list[Task]
    at_s: float = 0.0  # of the run it is at
    found: list[Run] = field(default_factory=list)


def run(case: Case, seeds: Sequence[int], look: Look, at_once: int) -> list[Run]:
    """Every policy with every seed, in that order. Raises ``Broken`` when a process dies, and what ``look`` raises."""
    small = case.size <= INTERPRETED
    if not small:
        _quietly(kernels.load)
    tasks = [(policy, seed) for seed in seeds for policy in case.policies]
    count = max(1, min(at_once, len(tasks)))
    parts = [_start(case, tasks[at::count], small) for at in range(count)]
    try:
        while live := [part for part in parts if len(part.found) < len(part.tasks)]:
            for receiver in wait([part.receiver for part in live], LOOK_S):
                _receive(next(part for part in live if part.receiver is receiver))
            look(*_progress(case, parts))
    finally:
        for part in parts:
            part.process.kill()
            part.process.join()
    by_task = {(found.policy, found.seed): found for part in parts for found in part.found}
    return [by_task[policy, seed] for policy in case.policies for seed in seeds]


def cores() -> int:
    """How many processes may compute at a time here: at most two, which is one for each policy."""
    return min(2, len(os.sched_getaffinity(0)))


def _progress(case: Case, parts: list[_Process]) -> tuple[float, float]:
    whole = case.window_s * (1 + pace.TAIL)
    done = sum(len(part.found) + min(0.99, part.at_s / whole) * (len(part.found) < len(part.tasks)) for part in parts)
    behind = [part.at_s for part in parts if len(part.found) < len(part.tasks)]
    return done / sum(len(part.tasks) for part in parts), min(behind, default=whole)


def _receive(part: _Process) -> None:
    try:
        kind, what = part.receiver.recv()
    except EOFError:
        part.process.join(5)
        raise Broken(f"a simulating process ended with status {part.process.exitcode}") from None
    if kind == "run":
        part.found.append(what)
        part.at_s = 0.0
    elif kind == "wrong":
        raise Broken(what)
    else:
        part.at_s = what


def _start(case: Case, tasks: list[Task], small: bool) -> _Process:
    connections.close_all()  # a session must not be shared; whoever needs one opens it again
    receiver, sender = _fork.Pipe(duplex=False)
    process = _fork.Process(target=_work, args=(case, tasks, small, sender, os.getpid()), daemon=True)
    process.start()
    sender.close()
    return _Process(process, receiver, tasks)


def _work(case: Case, tasks: list[Task], small: bool, sender: Connection, parent: int) -> None:
    """In a process of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this one ends it
    die_with_parent(parent, signal.SIGKILL)
    try:
        if not small and not kernels.compiled():
            _quietly(kernels.compile_now)
        for policy, seed in tasks:
            sender.send(("run", case.simulation(policy, seed).run(lambda at_s: sender.send(("at", at_s)))))
    except Exception as error:  # whatever it is, whoever asked hears that it is over
        log.error("a simulation failed", exc_info=error)
        sender.send(("wrong", f"the simulator failed ({type(error).__name__}); the log of the worker says where"))
    sender.close()


def _quietly(get: Callable[[], None]) -> None:
    """Compiled kernels, if they can be had."""
    try:
        get()
    except (OSError, subprocess.SubprocessError, ImportError) as error:
        log.warning("kernels could not be compiled; this is simulated slowly", error=str(error))
