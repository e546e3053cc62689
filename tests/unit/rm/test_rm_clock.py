"""When things happened, as rows tell it: never before they were asked for."""

from collections.abc import Callable

import pytest

from controlplane.rm.adapters import clock
from controlplane.rm.adapters.clock import DatabaseClock
from simulator.clock import seconds
from tests.doubles import MemoryCluster as Cluster
from tests.playing import ONE_GIB, ready


def test_a_job_submitted_while_a_round_begins_starts_after_it_was_submitted(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = ready(cluster)
    submitted: list[int] = []
    read = leader.store.intents

    def intents(limit: int) -> list[dict[str, object]]:
        cluster.clock.now += 0.01  # the round has begun; now the job is stored, and seen at once
        submitted.append(cluster.submit(ONE_GIB))
        return read(limit)

    monkeypatch.setattr(leader.store, "intents", intents)
    leader.round()
    (job,) = submitted
    entry, container = leader.memory.jobs[job], cluster.changes[-1]
    assert entry.submitted_us == cluster.clock.now_us()
    assert min(entry.admitted_us, entry.started_us, container.at_us) >= entry.submitted_us, seconds(container.at_us)


def machine(monkeypatch: pytest.MonkeyPatch, delays_us: list[int], ahead_us: int) -> Callable[[], int]:
    """The database's clock, ``ahead_us`` before this machine's. Its answers take so long, half of it each way."""
    now_us = 1_000_000
    left = list(delays_us)

    def ask() -> int:
        nonlocal now_us
        delay = left.pop(0)
        now_us += delay // 2
        said = now_us + ahead_us
        now_us += delay - delay // 2
        return said

    monkeypatch.setattr(clock.time, "monotonic_ns", lambda: now_us * 1000)
    return ask


def test_the_clock_of_rows_is_never_behind_the_database_however_slow_its_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    delays_us = [40_000, 900, 7_000, 80_000, 2_000]
    ours = DatabaseClock(machine(monkeypatch, delays_us, ahead_us=-3_600_000_000))
    behind = clock.time.monotonic_ns() // 1000 - 3_600_000_000
    assert 0 <= ours.now_us() - behind <= min(delays_us)
