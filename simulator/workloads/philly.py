"""Jobs of a GPU cluster for deep learning with 15 virtual clusters: Microsoft Philly.

Source: Jeon et al., "Analysis of Large-Scale Multi-Tenant GPU Clusters",
USENIX ATC '19, as the table ``sia_philly.csv`` (submission in local time,
duration in s, GPUs, virtual cluster), and the nodes of 11 virtual clusters in
``helios_philly_vc.csv``. A job becomes a gang of containers with one GPU each,
in the queue of its virtual cluster.

Our own assumptions: memory and cores per GPU and GPUs per node, which the
tables do not tell; the user, who is called like the virtual cluster; and local
time without the hour that was repeated when summer time ended. Left out and
counted in ``skipped``: jobs without a duration or without GPUs.
"""

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from simulator.workload import Machine, Submission, SubmittedGroup
from simulator.workloads.files import Record, Unreadable, rows
from simulator.workloads.source import Source, one_of

ESTIMATES = ("exact", "none")
# Virtual clusters with 18 jobs in all, of which no table tells the nodes.
WITHOUT_NODES = ("23dbec", "51b7ef", "925e2b", "795a4c")
# A job: submitted and run_s in s, its virtual cluster's position, its row.
ROW = np.dtype([("at", "<i8"), ("run_s", "<f8"), ("gpus", "<i4"), ("vc", "<i4"), ("row", "<i8")])
_PACKED = struct.Struct("<qdiiq")
GPU_MIB, GPU_MILLI, GPUS_PER_NODE = 32_768, 4000, 8
MOST_NODES = 1_000_000  # of a virtual cluster


def read(
    path: str | Path, *, memory_mib: int = GPU_MIB, vcores_milli: int = GPU_MILLI, estimates: str = "none"
) -> Source:
    """The jobs, the first at 0 s; memory and cores are per GPU. estimates: the duration (``exact``) or nothing.

    The table is not in order, so 40 bytes of each job are held.
    """
    exact = one_of("estimates", estimates, ESTIMATES) == "exact"
    place = Path(path)

    def begin(skipped: Counter[str]) -> Iterator[Submission]:
        table, names = _columns(place, skipped)
        order = np.argsort(table["at"], kind="stable")
        for i in order:
            at, run_s, gpus, vc, number = table[i].item()
            group = SubmittedGroup(
                count=gpus,
                memory_mib=memory_mib,
                vcores_milli=vcores_milli,
                gpus=1,
                run_s=np.array([run_s]),
                estimate_s=run_s if exact else 0.0,
                gang=True,
            )
            yield Submission(float(at - table["at"][order[0]]), f"root.{names[vc]}", names[vc], (group,), number)

    return Source(begin)


def queues(path: str | Path, others: Iterable[str] = WITHOUT_NODES) -> dict[str, Any]:
    """The ``queues`` of a policy document: each virtual cluster is guaranteed its part of all nodes, others nothing."""
    nodes = _nodes(path)
    total = sum(nodes.values())
    found: dict[str, Any] = {vc: {"guaranteed": count / total, "weight": float(count)} for vc, count in nodes.items()}
    return found | {vc: {"weight": 1.0} for vc in others if vc not in found}


def machines(
    path: str | Path, *, memory_mib: int = GPU_MIB, vcores_milli: int = GPU_MILLI, gpus: int = GPUS_PER_NODE
) -> list[Machine]:
    """The nodes of all virtual clusters, which stand open to everybody; ``gpus`` on each, memory and cores per GPU."""
    total = sum(_nodes(path).values())
    return [Machine(f"node-{i:04}", gpus * memory_mib, gpus * vcores_milli, gpus) for i in range(1, total + 1)]


def _nodes(path: str | Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows(Path(path), ("vc", "node num")):
        vc = row.text("vc")
        if vc in found:
            raise row.wrong("vc", f"{vc[:40]!r} is there twice", "remove one")
        found[vc] = row.whole("node num", least=1, most=MOST_NODES)
    if not found:
        raise Unreadable(f"{path}: there is no virtual cluster in it; add a row for each")
    return found


def _columns(path: Path, skipped: Counter[str]) -> tuple[np.ndarray, list[str]]:
    """(j,) ``ROW`` in the order of the table, and the names of virtual clusters."""
    found, names = bytearray(), dict[str, int]()
    for row in rows(path, ("timestamp", "duration", "num_gpus", "cluster")):
        run_s, gpus = row.number("duration"), row.whole("num_gpus", most=2**31 - 1)
        if run_s <= 0 or gpus < 1:
            skipped["no duration" if run_s <= 0 else "no GPUs"] += 1
            continue
        vc = names.setdefault(row.text("cluster"), len(names))
        found += _PACKED.pack(_seconds(row), run_s, gpus, vc, row.line - 1)
    return np.frombuffer(found, ROW), list(names)


def _seconds(row: Record) -> int:
    try:
        when = datetime.fromisoformat(row.text("timestamp"))
    except ValueError:
        raise row.wrong(
            "timestamp", f"{row.text('timestamp')[:40]!r} is no time", "write it as 2017-10-09 07:01:55"
        ) from None
    return round(when.replace(tzinfo=UTC).timestamp())
