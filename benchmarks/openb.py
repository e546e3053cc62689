"""The pods of a production GPU cluster in order of arrival, until its nodes are full: how much of them is allocated.

Whole GPUs, as Hydra gives them; a pod that names GPU models runs on nodes with
that label only. Beside each fill policy a reference places one pod at a time
on the node with the least left over.
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.snapshots import one_queue
from controlplane.kernels import compile_now
from scheduler.core.snapshot import Memo
from scheduler.placement.fills import Fill
from scheduler.placement.place import PlacementPolicy
from scheduler.round import RoundPolicy, plan_round
from simulator.workloads import openb
from wire.resources import CORES, GPUS, MEMORY

BATCH = 100  # pods that arrive between two rounds
ASKED = 1.5  # times the cluster's GPUs, in all


def load(folder: Path) -> tuple[np.ndarray, list[str], np.ndarray, list[frozenset[str]]]:
    """Capacities (n, 3), GPU models of the nodes, pods (p, 3) in order of arrival, models each pod accepts."""
    nodes = openb.machines(folder / "openb_node_list_all_node.csv")
    pods = openb.pods(folder / "openb_pod_list_default.csv")
    capacity = np.array([[n.memory_mib, n.vcores_milli, n.gpus] for n in nodes], np.int64)
    shapes = np.array([[p.memory_mib, p.vcores_milli, p.gpus] for p in pods], np.int64)
    return capacity, [n.labels.get(openb.LABEL, "") for n in nodes], shapes, [frozenset(p.models) for p in pods]


def stream(capacity: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """Pods in order, the list repeated until they ask for ``ASKED`` times the GPUs: (k,) positions."""
    per_list = shapes[:, GPUS].sum()
    times = int(np.ceil(ASKED * capacity[:, GPUS].sum() / per_list))
    order = np.tile(np.arange(len(shapes)), times)
    asked = np.cumsum(shapes[order, GPUS])
    return order[: int(np.searchsorted(asked, ASKED * capacity[:, GPUS].sum())) + 1]


def masks_of(models: list[str], accepted: list[frozenset[str]]) -> tuple[np.ndarray, np.ndarray]:
    """(m, n) nodes that each distinct wish allows, and each pod's (p,)."""
    kinds: dict[frozenset[str], int] = {}
    mask = np.array([kinds.setdefault(a, len(kinds)) for a in accepted], np.int32)
    return np.array([[not kind or model in kind for model in models] for kind in kinds], np.bool_), mask


def ours(
    fill: Fill, capacity: np.ndarray, order: np.ndarray, shapes: np.ndarray, masks: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Allocated (3,) at the end, and at the first pod that found no node."""
    free, memo = capacity.copy(), Memo()
    policy = RoundPolicy(placement=PlacementPolicy(fill=fill))
    first: np.ndarray | None = None
    for start in range(0, len(order), BATCH):
        pods = order[start : start + BATCH]
        s = one_queue(capacity, free, shapes[pods], masks, mask[pods])
        plan, memo = plan_round(s, memo, policy, 0.0)
        np.subtract.at(free, plan.place.node, shapes[pods[plan.place.ask]])
        if first is None and len(plan.place.ask) < len(pods):
            first = (capacity - free).sum(axis=0)
    return (capacity - free).sum(axis=0), first


def best_fit(
    capacity: np.ndarray, order: np.ndarray, shapes: np.ndarray, masks: np.ndarray, mask: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """The reference: each pod on the node whose largest remaining share is least."""
    free, largest = capacity.copy(), np.maximum(capacity.max(axis=0), 1)
    first: np.ndarray | None = None
    for p in order.tolist():
        able = masks[mask[p]] & (free >= shapes[p]).all(axis=1)
        if not able.any():
            first = (capacity - free).sum(axis=0) if first is None else first
            continue
        left = ((free - shapes[p]) / largest).max(axis=1)
        free[int(np.where(able, left, np.inf).argmin())] -= shapes[p]
    return (capacity - free).sum(axis=0), first


def report(used: np.ndarray, first: np.ndarray | None, capacity: np.ndarray, began: float) -> dict[str, Any]:
    total = capacity.sum(axis=0)
    at_first = used if first is None else first
    return {
        "gpu_percent": round(100 * used[GPUS] / total[GPUS], 2),
        "cpu_percent": round(100 * used[CORES] / total[CORES], 2),
        "memory_percent": round(100 * used[MEMORY] / total[MEMORY], 2),
        "gpu_percent_at_first_refusal": round(100 * at_first[GPUS] / total[GPUS], 2),
        "seconds": round(time.process_time() - began, 2),
    }


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench openb")
    parser.add_argument("--data", type=Path, default=os.environ.get("HYDRA_DATA"), help="folder with the trace")
    options = parser.parse_args(argv)
    if options.data is None:
        parser.error("--data or HYDRA_DATA must name the folder that holds alibaba_gpu_v2023")
    compile_now()
    capacity, models, shapes, accepted = load(options.data / "alibaba_gpu_v2023")
    masks, mask = masks_of(models, accepted)
    order = stream(capacity, shapes)
    found = {}
    for fill in Fill:
        began = time.process_time()
        found[fill.name.lower()] = report(*ours(fill, capacity, order, shapes, masks, mask), capacity, began)
    began = time.process_time()
    found["best_fit_reference"] = report(*best_fit(capacity, order, shapes, masks, mask), capacity, began)
    return {"pods": len(order), **found}
