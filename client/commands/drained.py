"""What a drain would make wait, as sentences and tables."""

from __future__ import annotations

from client.commands.figures import value
from client.screen import Column, Format, plain, show
from contract.simulations import DrainedGroup, DrainedJob, DrainedQueue, SimulatedDrain, SimulatedEstimate
from wire.counts import counted, mean, mean_of

_HOUR_S = 3600.0


def show_drained(d: SimulatedDrain, limit: int) -> None:
    """limit: of rows in each table; 0: all."""
    print(f"\n{d.sub_cluster} drained at {plain(d.at)}, seen {_time(d.horizon_s)} ahead:")
    print(f"* {_counted(d.containers, d.jobs)} would wait that would not otherwise")
    print(f"* {_counted(d.longer_containers, d.longer_jobs)} would wait longer than otherwise")
    print(f"* all of these wait {_time(d.wait_mean_s.value)} longer on average{_range(d.wait_mean_s)}")
    running = counted(d.running, "container runs", "containers run")
    print(f"* {running} there now; {d.services:,} of them are of services, and leave")
    print(f"* {_empty(d)}")
    if d.lost_core_hours is not None and d.deadline_s is not None:
        lost = value(d.lost_core_hours.value, "core hours")
        print(f"* what still runs there after {_time(d.deadline_s)} is stopped, and begins elsewhere: {lost} are lost")
    if d.total_never or d.never_forecast:
        print(
            f"* {counted(d.total_never, 'task group')} of {counted(d.never_jobs, 'live job')} could start nowhere "
            f"else, nor could {d.never_forecast:,} of the jobs that are taken to come"
        )
    queues: list[Column[DrainedQueue]] = [
        ("QUEUE", lambda q: q.queue), ("JOBS", lambda q: mean(q.jobs)), ("CONTAINERS", lambda q: mean(q.containers)),
        ("LONGER BY", lambda q: _time(q.wait_s)),
    ]  # fmt: skip
    live: list[Column[DrainedJob]] = [
        ("WAITS LONGER", lambda j: f"{j.job} {j.name}"), ("OWNER", lambda j: j.owner), ("QUEUE", lambda j: j.queue),
        ("CONTAINERS", lambda j: mean(j.containers)),
        ("BY", lambda j: f"{_time(j.wait_s)}{' or more' if j.open else ''}"),
    ]  # fmt: skip
    never: list[Column[DrainedGroup]] = [
        ("STARTS NOWHERE ELSE", lambda g: f"{g.job} {g.name}"), ("GROUP", lambda g: g.group),
        ("OWNER", lambda g: g.owner), ("QUEUE", lambda g: g.queue), ("CONTAINERS", lambda g: g.containers),
        ("BECAUSE", lambda g: g.why),
    ]  # fmt: skip
    print()
    show(d.queues, queues, Format.table, nothing="No queue waits longer.", limit=limit)
    for rows, columns in ((d.live, live), (d.never, never)):
        if rows:
            print()
            show(rows, columns, Format.table, nothing="", limit=limit)  # type: ignore[arg-type]
    print()


def _empty(d: SimulatedDrain) -> str:
    if d.empty_s.value is None:
        return f"it is not empty within {_time(d.seen_s or d.horizon_s)}: {mean_of(d.left, 'container')} left then"
    return f"it is empty after {_time(d.empty_s.value)}{_range(d.empty_s)}"


def _counted(containers: SimulatedEstimate, jobs: SimulatedEstimate) -> str:
    return f"{mean_of(containers.value or 0.0, 'container')} of {mean_of(jobs.value or 0.0, 'job')}"


def _range(e: SimulatedEstimate) -> str:
    return f" ({_time(e.low)} to {_time(e.high)})" if e.over and e.low != e.high else ""


def _time(amount_s: float | None) -> str:
    if amount_s is None or amount_s < _HOUR_S:
        return value(amount_s, "s")
    return f"{amount_s / _HOUR_S:,.1f} h"
