"""What is submitted to a simulated federation, and when. A workload is an iterable of these in order of time.

The times are seconds since the simulation's beginning. A workload is read as
it is needed, so a log of any length costs the memory of what is live.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class SubmittedGroup:
    """``count`` tasks of one shape; all at once or none with ``gang``.

    run_s: how long each task really runs: (count,) float64, or (1,) where all
    run alike. estimate_s: what its submitter says; 0: nothing. fails: (k,)
    positions of tasks whose first attempt ends with exit code 1. nodes, racks:
    where it would rather run; ``strict``: nowhere else. after: names of the
    job's groups that must have ended before. partition: None: its queue's.
    parallelism: so many at once make it of use, which admission may count. placement:
    "spread" or "pack"; None: the cluster's. timeout_s: a task that runs for longer
    fails then; 0: none does.
    """

    count: int
    memory_mib: int
    vcores_milli: int
    run_s: np.ndarray
    name: str = "tasks"
    gpus: int = 0
    estimate_s: float = 0.0
    gang: bool = False
    node_labels: str = ""
    nodes: tuple[str, ...] = ()
    racks: tuple[str, ...] = ()
    strict: bool = False
    after: tuple[str, ...] = ()
    retries: int = 3
    fails: tuple[int, ...] = ()
    partition: str | None = None
    parallelism: int = 0
    placement: str | None = None
    timeout_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Submission:
    """One job. number: what it is called in its source, for people. home: a sub-cluster's name, "" where the router
    decides. service: its tasks are to run for ever."""

    at_s: float
    queue: str
    user: str
    groups: tuple[SubmittedGroup, ...]
    number: int = 0
    priority: int = 0
    home: str = ""
    service: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """A node of a simulated sub-cluster. duty: in_service, or what operators wish of it instead."""

    name: str
    memory_mib: int
    vcores_milli: int
    gpus: int = 0
    rack: str = "default"
    labels: dict[str, str] = field(default_factory=dict)
    duty: str = "in_service"


@dataclass(frozen=True, slots=True)
class RunningContainers:
    """Containers of one group that run in one sub-cluster when a simulation begins.

    group: its position in the job. sub: the sub-cluster's name. task: (k,)
    positions in the group. node: (k,) positions among the sub-cluster's
    machines. gpus: (k,) bit masks of devices. ran_s: (k,) so long already, of
    the group's ``run_s``.
    """

    group: int
    sub: str
    task: np.ndarray
    node: np.ndarray
    gpus: np.ndarray
    ran_s: np.ndarray


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that has begun before a simulation does. job: with its home, submitted at 0."""

    job: Submission
    running: tuple[RunningContainers, ...]


def critical_path_s(groups: Sequence[SubmittedGroup]) -> float:
    """How long a job of these groups takes at least: the longest chain of groups, each by its longest task, s."""
    own = {group.name: float(group.run_s.max()) for group in groups}
    found = dict(own)
    for _ in groups:  # once if each comes after those that it waits for; as often as there are groups at most
        before = dict(found)
        for group in groups:
            found[group.name] = own[group.name] + max((found.get(name, 0.0) for name in group.after), default=0.0)
        if found == before:
            break
    return max(found.values())


class Disordered(ValueError):
    """A workload goes back in time."""


def in_order(workload: Iterable[Submission]) -> Iterator[Submission]:
    """The same submissions; ``Disordered`` at one that is earlier than its predecessor."""
    last = 0.0
    for each in workload:
        if each.at_s < last:
            raise Disordered(f"job {each.number} is submitted at {each.at_s:g} s, after one of {last:g} s")
        last = each.at_s
        yield each
