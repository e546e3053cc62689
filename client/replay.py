"""Recorded jobs submitted again, as jobs that sleep: a trace played on a running cluster.

The file is a history of jobs, version 1 of the format ``hydra-history``: JSON
lines, gzipped where the name ends in ``.gz``; docs/operators.md describes it.
"""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from client.errors import client_error

FORMAT, VERSION = "hydra-history", 1
BATCH = 500  # jobs in one request
MOST_TIMES = 2000  # run times that travel with a group; its further tasks begin with the first of them again
_PLACES = ("node_labels", "nodes", "racks", "partition")
_SLEEP = """\
for bad in $REPLAY_FAILS; do
  [ "$bad" = "$HYDRA_TASK_INDEX" ] && [ "$HYDRA_ATTEMPT" = 1 ] && exit 1
done
shift $((HYDRA_TASK_INDEX % $#))
exec sleep "$1"
"""
Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line of a history. at_s: when it was submitted, s from the beginning."""

    at_s: float
    line: int
    job: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """speed: so many times faster than it was. queue: for all jobs, instead of their own. scale: of what tasks ask for.

    tag: on every job, so that they are found again. anywhere: leave out where tasks are to run, for a trace of another
    fleet.
    """

    speed: float = 1.0
    queue: str = ""
    scale: float = 1.0
    tag: str = ""
    anywhere: bool = False


@dataclass(slots=True)
class ReplayOutcome:
    """jobs: their numbers, in order. late_s: the most by which one was submitted later than it should have been."""

    jobs: list[int] = field(default_factory=list)
    late_s: float = 0.0


def read(path: Path) -> Iterator[Recorded]:
    """The jobs of a history, one after the other, the first at 0 s. Raises ``HydraError`` that names the line."""
    with _opened(path) as lines:
        yield from _jobs(path, lines)


def notes(path: Path) -> list[str]:
    """What whoever looks at these jobs has to know of them. Raises ``HydraError``."""
    with _opened(path) as lines:
        return [str(note) for note in _head(path, lines).get("notes") or ()]


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Its lines; what is wrong with the file is raised as ``HydraError``."""
    try:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as lines:
            yield lines
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise client_error(f"{path} cannot be read: {error}", field_name="FILE") from error


def _head(path: Path, lines: Any) -> dict[str, Any]:
    head = _object(path, 1, next(lines, ""))
    if (head.get("format"), head.get("version")) != (FORMAT, VERSION):
        remedy = f'its first line must be {{"format": "{FORMAT}", "version": {VERSION}}}'
        raise client_error(f"{path} is no history of jobs", field_name="FILE", remedy=remedy)
    return head


def _jobs(path: Path, lines: Any) -> Iterator[Recorded]:
    _head(path, lines)
    last, first = 0.0, None
    for number, text in enumerate(lines, 2):
        job = _object(path, number, text)
        at = job.get("at_s")
        if not isinstance(at, (int, float)) or isinstance(at, bool) or at < last:
            remedy = "seconds from the beginning, never less than in the line before"
            raise client_error(f"line {number} of {path}: at_s is {at!r}", field_name="at_s", remedy=remedy)
        last = at
        first = at if first is None else first  # it may be a part of a longer one
        yield Recorded(float(at - first), number, job | {"at_s": float(at - first)})


def _object(path: Path, number: int, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise client_error(f"line {number} of {path} is no JSON object", field_name="FILE")
    return found


def job_spec(r: Recorded, o: Options) -> Spec:
    """The job that plays this line. Raises ``HydraError`` that names the line and the field."""
    try:
        name = f"replay-{int(r.job.get('number') or r.line)}"
        return {
            "name": name,
            "queue": o.queue or r.job["queue"],
            "priority": int(r.job.get("priority") or 0),
            "tags": [o.tag] if o.tag else [],
            "groups": [_group(g, o) for g in r.job["groups"]],
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"line {r.line}: {error!s} is missing" if isinstance(error, KeyError) else f"line {r.line}: {error}"
        raise client_error(message, field_name="groups", remedy="see the format in docs/operators.md") from error


def losses(r: Recorded, o: Options) -> list[str]:
    """What the job that plays this line lacks of it, in words."""
    groups = r.job.get("groups") or ()
    places = o.anywhere and any(g.get(name) for g in groups for name in _PLACES)
    found = {
        "is a service, and is played as a batch job that ends": r.job.get("service"),
        "has a home, and the router chooses one": r.job.get("home"),
        "says where it is to run, and may run anywhere": places,
        f"has more than {MOST_TIMES:,} tasks in a group, of which later ones run as long as earlier ones": any(
            len(g.get("run_s") or ()) > MOST_TIMES for g in r.job.get("groups") or ()
        ),
    }
    return [text for text, lost in found.items() if lost]


def _place(g: dict[str, Any]) -> Spec:
    """Where the group's tasks are to run, as far as it says so."""
    found = {name: g[name] for name in ("node_labels", "partition") if g.get(name)}
    nodes, racks = list(g.get("nodes") or ()), list(g.get("racks") or ())
    if nodes or racks:
        found["locality"] = {"nodes": nodes, "racks": racks, "relax": not g.get("strict")}
    return found


def _group(g: dict[str, Any], o: Options) -> Spec:
    times = " ".join(f"{max(0.0, float(t)) / o.speed:.3f}" for t in g["run_s"][:MOST_TIMES])
    if not times:
        raise ValueError("run_s names no time")
    resources = {
        "memory_mib": max(1, round(int(g["memory_mib"]) * o.scale)),
        "vcores_milli": max(1, round(int(g["vcores_milli"]) * o.scale)),
    }
    if g.get("gpus"):
        resources["gpus"] = int(g["gpus"])
    found = {
        "name": g.get("name") or "tasks", "count": int(g["count"]), "resources": resources, "shell": True,
        "command": f"set -- {times}\n{_SLEEP}",
        "env": {"REPLAY_FAILS": " ".join(str(int(task)) for task in g.get("fails") or ())},
        "gang": bool(g.get("gang")), "after": list(g.get("after") or ()), "retries": int(g.get("retries", 3)),
    }  # fmt: skip
    found |= {} if o.anywhere else _place(g)
    found |= {name: g[name] for name in ("parallelism", "placement") if g.get(name)}
    if g.get("estimate_s"):
        found["estimated_duration_s"] = float(g["estimate_s"]) / o.speed
    return found


def play(
    jobs: Iterator[Recorded],
    o: Options,
    submit: Callable[[list[Spec]], list[int]],
    outcome: ReplayOutcome,
    told: Callable[[], None] = lambda: None,
) -> None:
    """Submit each job when its time has come, those of the same moment together, at most ``BATCH`` at once.

    outcome: grows with every request, after which ``told`` is called.
    """
    began, waiting = time.monotonic(), list[Recorded]()

    def ahead_s(r: Recorded) -> float:
        return began + r.at_s / o.speed - time.monotonic()

    def send() -> None:
        outcome.late_s = max(outcome.late_s, -ahead_s(waiting[0]))
        outcome.jobs += submit([job_spec(r, o) for r in waiting])
        waiting.clear()
        told()

    for r in jobs:
        if waiting and (ahead_s(r) > 0 or len(waiting) >= BATCH):
            send()
        time.sleep(max(0.0, ahead_s(r)))
        waiting.append(r)
    if waiting:
        send()
