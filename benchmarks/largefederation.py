"""A large federation in the stores, without its machines: its queues, its nodes, jobs in its queues, and who leads.

What moves is written by ``benchmarks.leading``, a process of its own that plays all the leaders.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import psutil
import psycopg

from benchmarks.hollow_rm import wait_for_kernels
from benchmarks.stack import REPO, BenchStack
from benchmarks.submit_rate import hold_all_but_web
from wire.states import JobState

TOP = ("ads", "fraud", "maps", "platform", "research", "risk", "search", "speech", "video", "vision")
GROUPS = ("batch", "dev", "etl", "eval", "features", "nightly", "prod", "reports", "serving", "train")
JOB_QUEUE = "root.ads.batch"  # everybody may submit to the queues below it
BULK = 1000
HOLDER = "bench"
READY_S = 60.0

_LEASES = """
UPDATE statestore_lease SET holder = %s, epoch = epoch + 1, expires_at = clock_timestamp() + interval '1 day'
"""
# Whole racks of 40 are alike: every eighth has GPUs, every third is small.
_NODES = """
INSERT INTO statestore_node (sub_cluster_id, name, rack, labels, memory_mib, vcores_milli, gpus, enforces,
    host, version, registered_at, state, health, health_text, duty, duty_message)
SELECT s.id, 'node-' || lpad(i::text, 4, '0'), 'r' || lpad((1 + i / 40)::text, 2, '0'), k.labels, k.memory_mib,
       k.vcores_milli, k.gpus, '["memory", "cpu"]', '10.0.0.1', '1', now(), 1, 0, '', 'in_service', ''
  FROM statestore_subcluster s, generate_series(0, %(nodes)s - 1) i, LATERAL (VALUES
       (CASE WHEN i / 40 %% 8 = 7 THEN 0 WHEN i / 40 %% 3 = 0 THEN 1 ELSE 2 END)) c(kind),
       (VALUES (0, '{"gpu": "a100", "zone": "a"}'::jsonb, 1048576, 96000, 8),
               (1, '{"disk": "ssd", "zone": "b"}'::jsonb, 131072, 32000, 0),
               (2, '{"disk": "ssd", "zone": "a"}'::jsonb, 262144, 64000, 0))
       k(kind, labels, memory_mib, vcores_milli, gpus)
 WHERE k.kind = c.kind ORDER BY s.id, i
"""
_CORDONED = "UPDATE statestore_node SET duty = 'cordoned' WHERE id % 997 = 0"
_RUNNING = f"""
UPDATE statestore_job SET state = {JobState.RUNNING}, admitted_at = now(), started_at = now() WHERE id % 3 = 0
"""


def document(queues: int, kept: dict[str, Any]) -> dict[str, Any]:
    """A policy of so many queues below the root: ten departments of ten groups, uneven. kept: the rest."""
    rng = np.random.default_rng(7)
    leaves = queues - len(TOP) * (1 + len(GROUPS))
    found: dict[str, Any] = {"default": {"guaranteed": 0.0, "open_to_all": True}}
    each = np.diff(np.linspace(0, leaves - 1, len(TOP) * len(GROUPS) + 1).astype(int)).reshape(len(TOP), -1)
    for top, part, counts in zip(TOP, _parts(rng, len(TOP)), each, strict=True):
        below = {
            group: {
                "guaranteed": share, "maximum": min(1.0, round(3 * share, 4)),
                "children": {f"team-{i:02}": {"guaranteed": s} for i, s in enumerate(_parts(rng, count))},
            }
            for group, share, count in zip(GROUPS, _parts(rng, len(GROUPS)), counts.tolist(), strict=True)
        }  # fmt: skip
        found[top] = {"guaranteed": part, "children": below, "open_to_all": top == TOP[0]}
    return kept | {"queues": found}


def _parts(rng: np.random.Generator, n: int) -> list[float]:
    """n uneven parts of one that are together no more than it."""
    drawn = rng.lognormal(0.0, 0.8, n)
    return [float(part) for part in np.floor(1e4 * drawn / drawn.sum()) / 1e4]


def fill(running: BenchStack, nodes: int, queues: int, jobs: int) -> None:
    """Nodes per sub-cluster, queues in all, live jobs in all. Only the web process and the stores run from then on."""
    wait_for_kernels()
    hold_all_but_web(running)
    with running.client("operator") as operator:
        policy = document(queues, operator.policy().document or {})
        operator.apply_policy(policy, f"{queues} queues")
    with psycopg.connect(running.database_url(), autocommit=True) as store:
        store.execute(_LEASES, (HOLDER,))
        store.execute(_NODES, {"nodes": nodes})
        store.execute(_CORDONED)
        takers = leaves_below(policy["queues"], JOB_QUEUE) or ["root.default"]
        _submit(running, jobs, takers)
        store.execute(_RUNNING)
        store.execute("VACUUM (ANALYZE)")


def leaves_below(queues: dict[str, Any], path: str) -> list[str]:
    node: dict[str, Any] = {"children": queues}
    for name in path.split(".")[1:]:
        node = node["children"].get(name, {"children": {}})
    return [f"{path}.{name}" for name in node["children"]]


def _submit(running: BenchStack, jobs: int, queues: list[str]) -> None:
    with running.client() as tenant:
        for start in range(0, jobs, BULK):
            tenant.submit_many([_job(i, queues) for i in range(start, min(jobs, start + BULK))])


def _job(i: int, queues: list[str]) -> dict[str, Any]:
    group = {"name": "map", "count": 8, "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    return {"name": f"nightly-{i:05}", "queue": queues[i % len(queues)], "tags": ["nightly"], "groups": [group]}


@contextmanager
def leading(running: BenchStack, *words: str) -> Iterator[psutil.Process]:
    """All the leaders at work, in a process of their own, from their first words on."""
    command = [sys.executable, "-m", "benchmarks.leading", *words]
    with subprocess.Popen(command, env=running.store_environ(), cwd=REPO, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            if not process.stdout.readline():
                sys.exit("bench: the process that plays the leaders has ended")
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait(READY_S)
