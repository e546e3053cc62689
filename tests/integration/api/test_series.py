"""History over time: what the duty writes is what the rows say, however often it runs or dies."""

import datetime as dt
import math
import random
import re
import threading
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.router.owed import owed
from controlplane.statestore import loads
from controlplane.statestore.models import Job, Lease, PolicyVersion, SubCluster
from controlplane.statestore.queries.series import reading
from controlplane.statestore.series import counters, duty, sketch
from controlplane.statestore.series.levels import levels, window
from controlplane.statestore.series.metrics import METRICS
from scheduler.shares.tree import lineage
from tests.integration.api.world import World, job
from wire.ids import container_id
from wire.states import ContainerReason, ContainerState

MIDNIGHT = dt.datetime(2030, 5, 2, tzinfo=dt.UTC)


pytestmark = pytest.mark.django_db(transaction=True)


def bin_of(seconds: float) -> int:
    """The bin of a latency, as the duty's statement has it."""
    ms = seconds * 1000
    return 0 if ms <= 1 else min(sketch.BIN_MAX, math.ceil(math.log(ms) / sketch.LN_GROWTH))


def lead(sub: SubCluster, epoch: int = 1) -> None:
    Lease.objects.update_or_create(sub_cluster=sub, defaults={"epoch": epoch, "holder": "here"})


def put_load(sub: SubCluster, used: dict[str, int], wanted: dict[str, int] | None = None, capacity: int = 1000) -> None:
    """A load row: each queue's memory in use and wanted; cores alike, no GPUs."""
    wanted = wanted or {}
    paths = sorted({*used, *wanted})
    both = [np.array([[d.get(p, 0), d.get(p, 0), 0] for p in paths], np.int64).reshape(-1, 3) for d in (used, wanted)]
    whole = np.array([capacity, capacity, 0], np.int64)
    part = loads.PartitionLoad(whole, whole - both[0].sum(axis=0), paths, *both)
    row = loads.Load(
        sub.pk, sub.name, "running", True, 0.0, 1, 1, 0, 1, whole, part.free, both[1].sum(axis=0), {"": part}
    )
    connection.ensure_connection()
    assert loads.put(connection.connection, row)


def rows(step_s: int, *columns: str) -> dict[tuple[str, dt.datetime], tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT name, at, {', '.join(columns)} FROM statestore_series "
            "JOIN statestore_seriesscope s ON s.id = scope_id WHERE step = %s",
            [step_s],
        )
        return {(name, at): tuple(rest) for name, at, *rest in cursor.fetchall()}


class Raw:
    """Containers and rounds put into the tables as RMs would, and what must come of them."""

    def __init__(self, world: World, seed: int) -> None:
        self.random = random.Random(seed)
        self.subs = [world.west, world.east]
        self.counter = dict.fromkeys((s.pk for s in self.subs), 0)
        self.seq = dict.fromkeys(self.counter, 0)
        self.expected: dict[tuple[str, dt.datetime], Counter] = defaultdict(Counter)
        self.jobs = []
        for queue in ("root.default", "root.prod.etl", "root.prod.web"):
            row = Job.objects.get(pk=world["operator"].post("jobs", job(queue=queue)).json()["id"])
            Job.objects.filter(pk=row.pk).update(submitted_at=MIDNIGHT - dt.timedelta(hours=2))
            self.jobs.append((row.pk, queue))
        self.at = MIDNIGHT - dt.timedelta(minutes=30)

    def round(self) -> None:
        """A round of one sub-cluster: some placed, some of them ended at once, some preempted."""
        sub = self.random.choice(self.subs)
        self.at += dt.timedelta(seconds=self.random.choice((0.1, 3, 20, 300)))
        placed = [self._place(sub) for _ in range(self.random.randint(0, 5))]
        self.seq[sub.pk] += 1
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO statestore_round VALUES (%s, %s, %s, %s, 1, 1, %s, 0, 1, 1, '')",
                [sub.pk, self.seq[sub.pk], self.seq[sub.pk], self.at, len(placed)],
            )

    def _place(self, sub: SubCluster) -> None:
        pk, queue = self.random.choice(self.jobs)
        attempt = self.random.choice((1, 1, 1, 2))
        self.counter[sub.pk] += 1
        values = [container_id(sub.pk, 1, self.counter[sub.pk]), sub.pk, 1, pk, 0, 0, attempt]
        what = self.random.choice(("live", "ended", "preempted"))
        reason = int(ContainerReason.PREEMPTED) if what == "preempted" else 0
        tail = [int(ContainerState.KILLED) if reason else int(ContainerState.SUCCEEDED), 1, 1, 1, 0, self.at, self.at]
        with connection.cursor() as cursor:
            if what == "live":
                cursor.execute(f"INSERT INTO statestore_container VALUES ({_marks(14)})", [*values, *tail])
            else:
                ended = [self.at, 0, reason, 1, 1]
                cursor.execute(
                    f"INSERT INTO statestore_container_history VALUES ({_marks(19)})", [*values, *tail, *ended]
                )
        latency = (self.at - (MIDNIGHT - dt.timedelta(hours=2))).total_seconds()
        for scope in ("cluster", f"sub-cluster:{sub.name}", *(f"queue:{p}" for p in lineage(queue))):
            found = self.expected[scope, self.at]
            found["decisions"] += 1
            found["preemptions"] += bool(reason)
            if attempt == 1:
                found[bin_of(latency)] += 1

    def windows(self, step_s: int) -> dict[tuple[str, dt.datetime], Counter]:
        """Worked out anew from every row."""
        found: dict[tuple[str, dt.datetime], Counter] = defaultdict(Counter)
        for (scope, at), counts in self.expected.items():
            found[scope, window(at, step_s)].update(counts)
        return found


def _marks(n: int) -> str:
    return ", ".join(["%s"] * n)


def told(step_s: int) -> dict[tuple[str, dt.datetime], Counter]:
    found = {}
    for key, (decisions, preemptions, latency) in rows(step_s, "decisions", "preemptions", "latency").items():
        counts = Counter({"decisions": decisions, "preemptions": preemptions} | sketch.unpacked(latency))
        if +counts:
            found[key] = +counts
    return found


class Stopped(Exception):
    pass


@pytest.mark.parametrize("seed", range(6))
def test_every_resolution_equals_what_all_rows_say(world: World, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the duty does between: run often or seldom, twice, die in the middle, or come after a long time."""
    raw = Raw(world, seed)
    for sub in raw.subs:
        lead(sub)
    duty.run()
    monkeypatch.setattr(counters, "MOST", 7)
    for _ in range(60):
        raw.round()
        match raw.random.choice(("nothing", "nothing", "run", "twice", "die")):
            case "run":
                duty.run(raw.at)
            case "twice":
                duty.run(raw.at)
                duty.run(raw.at)
            case "die":
                with monkeypatch.context() as broken, pytest.raises(Stopped):
                    broken.setattr(duty.writing, "write", _die)
                    duty.run(raw.at)
    while duty.step()[1]:
        pass
    for step_s in (10, 60, 600):
        assert told(step_s) == {key: +counts for key, counts in raw.windows(step_s).items()}, step_s
    whole = sum((counts for (scope, _), counts in raw.expected.items() if scope == "cluster"), Counter())
    ((_, totals),) = [(k, v) for k, v in told(0).items() if k[0] == "cluster"]
    assert totals == +whole


def _die(_: Any) -> int:
    raise Stopped


def test_gauges_are_sampled_once_a_window_and_added_up(world: World) -> None:
    lead(world.west)
    for minute in range(3):
        for second in range(0, 60, 5):  # twice a window
            put_load(world.west, {"root.prod.etl": 100 * (minute + 1), "root.default": 50}, {"root.prod.etl": 10})
            duty.run(MIDNIGHT + dt.timedelta(minutes=minute, seconds=second))
    fine = rows(10, "n_load", "allocated_memory_mib", "pending_memory_mib", "share_ppm")
    assert len([k for k in fine if k[0] == "queue:root.prod"]) == 18
    assert fine["queue:root.prod", MIDNIGHT] == (1, 100, 10, 100_000)
    assert fine["queue:root", MIDNIGHT] == (1, 150, 10, 150_000)
    assert fine["cluster", MIDNIGHT] == (1, 150, 10, 150_000)
    coarse = rows(60, "n_load", "allocated_memory_mib")
    assert coarse["sub-cluster:west", MIDNIGHT + dt.timedelta(minutes=1)] == (6, 6 * 250)
    assert rows(600, "n_load", "allocated_memory_mib")["queue:root.prod.etl", MIDNIGHT] == (18, 6 * (100 + 200 + 300))


def read(scope: str, metric: str, start: dt.datetime, end: dt.datetime, points: int = 300) -> list[float | None]:
    found = reading.read([scope], [METRICS[metric]], start, end, points, owed([scope], [METRICS[metric]]))
    values: list[float | None] = found["series"][0]["values"]
    assert len(values) == len(found["at"])
    return values


def test_gaps_are_null_and_idle_queues_zero(world: World) -> None:
    start = window(timezone.now() - dt.timedelta(minutes=30), 60)
    put_load(world.west, {"root.prod.etl": 100})
    duty.run(start)
    put_load(world.west, {"root.default": 100})
    duty.run(start + dt.timedelta(seconds=30))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE statestore_load SET at = now() - interval '1 hour'")
    duty.run(start + dt.timedelta(seconds=40))  # the leader is away
    end = start + dt.timedelta(minutes=1)
    assert read("queue:root.prod.etl", "allocated_memory_mib", start, end) == [100, None, None, 0, None, None]
    assert read("queue:root.default", "dominant_share", start, end) == [0, None, None, 0.1, None, None]
    assert read("sub-cluster:west", "allocated_memory_mib", start, end)[4] is None
    owed = read("queue:root.prod.etl", "guaranteed_memory_mib", start, end)
    assert owed[0] and owed[1:] == [None] * 5, "nobody leads now, so what an idle queue is guaranteed is not known"
    assert read("queue:root.default", "decisions_per_s", start, end) == [0, None, None, 0, 0, None]
    put_load(world.west, {"root.default": 100})
    assert read("queue:root.prod.etl", "guaranteed_memory_mib", start, end)[3] is None, "the policy is younger"
    PolicyVersion.objects.filter(active=True).update(activated_at=start)
    now = read("queue:root.prod.etl", "guaranteed_memory_mib", start, end)
    assert now == [400, None, None, 400, None, None], "an idle queue has what the policy in force guarantees it"


def test_of_many_queues_the_largest_have_fine_windows_and_all_coarse_ones(world: World, settings: Any) -> None:
    settings.HYDRA = settings.HYDRA | {"series_queues": 3}
    start = window(timezone.now() - dt.timedelta(minutes=30), 600)
    put_load(world.west, {f"root.q{i}": 1 + i for i in range(10)})
    duty.run(start)
    kept = [level.step_s for level in levels() if ("queue:root.q0", start) in rows(level.step_s, "n_load")]
    assert kept == [60, 600]
    assert {name for name, _ in rows(10, "n_load") if name.startswith("queue")} == {
        "queue:root", "queue:root.q9", "queue:root.q8",
    }  # fmt: skip
    end = start + dt.timedelta(minutes=10)
    assert read("queue:root.q0", "allocated_memory_mib", start, end)[0] == 1, "the next resolution has it"
    assert len(read("queue:root.q9", "allocated_memory_mib", start, end)) == 60


def test_two_at_once_do_the_work_once(world: World) -> None:
    raw = Raw(world, 1)
    lead(world.west)
    lead(world.east)
    duty.run()
    for _ in range(30):
        raw.round()
    barrier = threading.Barrier(4)

    def work() -> None:
        try:
            barrier.wait()
            duty.run(raw.at)
        finally:
            connection.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    duty.run(raw.at)
    assert told(10) == {key: +counts for key, counts in raw.windows(10).items()}


def test_what_is_too_old_goes_and_nothing_else(world: World) -> None:
    now = timezone.now()
    put_load(world.west, {"root.default": 1})
    for ago in (dt.timedelta(days=70), dt.timedelta(days=5), dt.timedelta(hours=10), dt.timedelta(minutes=5)):
        duty.run(now - ago)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO statestore_seriesscope (name) VALUES ('queue:root.gone')")
    assert duty.purge() > 0
    ages = {
        step: sorted({round((now - at).total_seconds() / 3600) for _, at in rows(step, "n_load")})
        for step in (10, 60, 600)
    }
    assert ages == {10: [0], 60: [0, 10], 600: [0, 10, 120]}
    assert not reading.known(["queue:root.gone"]) and reading.known(["queue:root.default"])


def test_a_range_is_read_once_and_of_what_is_asked_alone(world: World) -> None:
    metrics = [METRICS["allocation_latency_p50_s"], METRICS["allocation_latency_p99_s"], METRICS["decisions_per_s"]]
    for scope, asked, times in (
        ("sub-cluster:east", metrics[:2], 1), ("sub-cluster:east", metrics[2:], 1), ("sub-cluster:east", metrics, 2),
    ):  # fmt: skip
        with CaptureQueriesContext(connection) as found:
            reading.read([scope], asked, MIDNIGHT - dt.timedelta(days=390), MIDNIGHT, 300, {})
        reads = [each for each in found.captured_queries if re.search(r"FROM statestore_series\b", each["sql"])]
        assert len(reads) == times


def test_percentiles_keep_to_the_stated_error() -> None:
    r = random.Random(3)
    values = [r.lognormvariate(0, 3) for _ in range(20_000)]
    parts: list[sketch.Sketch] = [{}, {}, {}]
    for value in values:
        part = r.choice(parts)
        part[bin_of(value)] = part.get(bin_of(value), 0) + 1
    merged: Counter = sum((Counter(sketch.unpacked(sketch.packed(p))) for p in parts), Counter())
    values.sort()
    for q in (0.01, 0.5, 0.9, 0.99, 0.999):
        exact = values[max(0, math.ceil(q * len(values)) - 1)]
        found = sketch.quantile(merged, q)
        assert found is not None and abs(found - exact) <= max(sketch.ERROR * exact * 1.0001, 0.001)
    assert sketch.quantile({}, 0.5) is None


def test_points_are_bounded_and_fit_what_is_kept() -> None:
    now = timezone.now()
    for span in (60, 600, 3600, 86_400, 7 * 86_400, 60 * 86_400, 300 * 86_400):
        for points in (2, 60, 300, 1500):
            g = reading.grid(now - dt.timedelta(seconds=span), now, points, now)
            assert g.n <= points + 1 and g.bucket_s % g.level.step_s == 0
            assert g.start <= now - dt.timedelta(seconds=span) + dt.timedelta(seconds=1)
    week = reading.grid(now - dt.timedelta(days=7), now, 300, now)
    assert week.level.step_s == 600 and week.bucket_s == 2400
