"""What writing history over time costs: 20 sub-clusters, 5,000 queues, all of them busy, in a Postgres of its own."""

import argparse
import json
import random
import subprocess
import sys
import time
from typing import Any

import psutil

from benchmarks.stack import REPO, BenchStack, percentile, stack
from benchmarks.submit_rate import hold_all_but_web

SUB_CLUSTERS = 20
QUEUES = 5000
TICKS = 60


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench series")
    parser.add_argument("--queues", type=int, default=QUEUES)
    parser.add_argument("--sub-clusters", type=int, default=SUB_CLUSTERS)
    parser.add_argument("--ticks", type=int, default=TICKS)
    parser.add_argument("--decisions", type=int, default=10_000, help="containers placed between two samples")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.inside:
        return measure(options.sub_clusters, options.queues, options.ticks, options.decisions)
    with stack("--sub-clusters", "1", "--nodes", "0") as running:
        hold_all_but_web(running)
        return _inside(running, argv)


def _inside(running: BenchStack, argv: list[str]) -> dict[str, Any]:
    """The measurement as a process that knows the stack's stores."""
    code = "import django; django.setup(); import json, sys; from benchmarks.series import main; "
    code += "print(json.dumps(main(sys.argv[1:])))"
    command = [sys.executable, "-c", code, *argv, "--inside"]
    done = subprocess.run(command, env=running.store_environ(), cwd=REPO, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(sub_clusters: int, queues: int, ticks: int, decisions: int) -> dict[str, Any]:
    import datetime as dt

    from django.db import connection

    from controlplane import clock
    from controlplane.router.owed import owed
    from controlplane.statestore.queries.series import reading
    from controlplane.statestore.series import duty
    from controlplane.statestore.series.metrics import METRICS

    paths = [f"root.d{i % 50}.q{i}" for i in range(queues - 51)]
    subs = _sub_clusters(sub_clusters)
    duty.run(clock.now() - dt.timedelta(hours=1))
    start = clock.now() - dt.timedelta(seconds=10 * ticks)
    took, cpu, stored, counter = [], [], [], 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = psutil.Process(cursor.fetchone()[0])  # the stack's Postgres is on this machine
    for tick in range(ticks):
        _loads(subs, paths, tick)
        counter = _placed(subs, counter, decisions)
        began, own, theirs = time.perf_counter(), time.process_time(), sum(backend.cpu_times()[:2])
        duty.run(start + dt.timedelta(seconds=10 * tick))
        took.append((time.perf_counter() - began) * 1000)
        cpu.append((time.process_time() - own) * 1000)
        stored.append((sum(backend.cpu_times()[:2]) - theirs) * 1000)
    with connection.cursor() as cursor:
        cursor.execute("SELECT step, count(*) FROM statestore_series GROUP BY 1 ORDER BY 1")
        rows = dict(cursor.fetchall())
        cursor.execute("SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('statestore_series')")
        size = int(cursor.fetchone()[0])
    began = time.perf_counter()
    scopes, metrics = ["cluster", "queue:root.d1"], list(METRICS.values())
    found = reading.read(scopes, metrics, start, clock.now(), 300, owed(scopes, metrics))
    return {
        "tick_p50_ms": round(percentile(took, 0.5)), "tick_p99_ms": round(percentile(took, 0.99)),
        "own_cpu_ms": round(sum(cpu) / ticks), "postgres_cpu_ms": round(sum(stored) / ticks),
        "percent_of_a_core": round((sum(cpu) + sum(stored)) / ticks / 100, 2),
        "rows_by_step": rows, "bytes_per_row": round(size / max(1, sum(rows.values()))),
        "read_ms": round((time.perf_counter() - began) * 1000), "series_read": len(found["series"]),
    }  # fmt: skip


def _sub_clusters(n: int) -> list[Any]:
    from controlplane.statestore.actions import subclusters
    from controlplane.statestore.actions.audit import SYSTEM
    from controlplane.statestore.models import Lease

    found = [subclusters.create(SYSTEM, f"s{i}") for i in range(n)]
    for sub in found:
        Lease.objects.update_or_create(sub_cluster=sub, defaults={"epoch": 1, "holder": "bench"})
    return found


def _loads(subs: list[Any], paths: list[str], seed: int) -> None:
    """Every queue uses or wants something in about a quarter of the sub-clusters."""
    import numpy as np
    from django.db import connection

    from controlplane.statestore import loads

    r = random.Random(seed)
    whole = np.array([10**9, 10**9, 10**5], np.int64)
    connection.ensure_connection()
    for sub in subs:
        here = r.sample(paths, len(paths) // 4)
        both = np.random.default_rng(seed).integers(0, 10_000, (2, len(here), 3))
        part = loads.PartitionLoad(whole, whole - both[0].sum(axis=0), here, *both)
        load = loads.Load(
            sub.pk, sub.name, "running", True, 0.0, 1, 1, 0, 1, whole, part.free, both[1].sum(axis=0), {"": part}
        )
        loads.put(connection.connection, load)


_PLACED = """
INSERT INTO statestore_container
SELECT (%s::bigint << 52) | (1::bigint << 32) | n, %s, 1, 0, 0, 0, 1, 2, 1, 1, 1, 0, now(), now()
  FROM generate_series(%s::bigint + 1, %s::bigint + %s) n
"""


def _placed(subs: list[Any], counter: int, decisions: int) -> int:
    from django.db import connection

    each = decisions // len(subs)
    with connection.cursor() as cursor:
        for sub in subs:
            cursor.execute(_PLACED, [sub.pk, sub.pk, counter, counter, each])
    return counter + each
