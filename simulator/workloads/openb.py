"""Nodes and pods of a production GPU cluster: Alibaba's cluster-trace-gpu-v2023 ("openb").

Source: Weng et al., "Beware of Fragmentation", USENIX ATC '23;
``openb_node_list_*.csv`` and ``openb_pod_list_*.csv``. Times are seconds since
the trace's beginning, memory is MiB, cores are thousandths.

A node has the label ``model`` where it has GPUs. A pod becomes a job of one
container that runs from when it was scheduled until it was deleted; pods that
never were (``Pending``) run as long as they existed, which is our own
assumption, as nobody knows what they would have done. Shares of a GPU are
rounded up to one. The trace names no tenants: the user is the pod's class of
service. Left out and counted in ``skipped``: pods without a run time.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simulator.workload import Machine, Submission, SubmittedGroup
from simulator.workloads.files import Record, rows
from simulator.workloads.source import Source, one_of

LABEL = "model"
ENDS_S = 12_902_960.0  # the last deletion in each of the three lists
ESTIMATES = ("exact", "none")
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = (
    "name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos", "creation_time", "deletion_time",
    "scheduled_time",
)  # fmt: skip
_MODEL = re.compile(r"[A-Za-z0-9_./-]+")


@dataclass(frozen=True, slots=True)
class Pod:
    """A row. models: those it may run on, empty where any will do. scheduled_s, deleted_s: None where it was not."""

    name: str
    memory_mib: int
    vcores_milli: int
    gpus: int
    models: tuple[str, ...]
    service: str
    created_s: float
    scheduled_s: float | None
    deleted_s: float | None


def machines(path: str | Path) -> list[Machine]:
    """The nodes, in the file's order."""
    return [
        Machine(
            name=node.text("sn"),
            memory_mib=node.whole("memory_mib", least=0),
            vcores_milli=node.whole("cpu_milli", least=0),
            gpus=node.whole("gpu", least=0),
            labels={LABEL: model} if (model := node.text("model")) else {},
        )
        for node in rows(Path(path), NODE_COLUMNS)
    ]


def pods(path: str | Path) -> list[Pod]:
    """The pods in order of creation; they are sorted in memory, as not all lists are in order."""
    return sorted((_pod(row) for row in rows(Path(path), POD_COLUMNS)), key=lambda pod: pod.created_s)


def read(
    path: str | Path,
    *,
    queue: str | Mapping[str, str] = "root.default",
    estimates: str = "none",
    ends_s: float = ENDS_S,
    unscheduled: bool = True,
) -> Source:
    """The pods as jobs.

    queue: of all jobs, or by class of service (LS, BE, Burstable, Guaranteed).
    estimates: the run time (``exact``) or nothing (``none``). ends_s: when pods
    end that were not deleted. unscheduled: keep those that never ran.
    """
    exact = one_of("estimates", estimates, ESTIMATES) == "exact"

    def begin(skipped: Counter[str]) -> Iterator[Submission]:
        for pod in pods(path):
            run_s = (ends_s if pod.deleted_s is None else pod.deleted_s) - _starts_s(pod)
            if pod.scheduled_s is None and not unscheduled:
                skipped["never scheduled"] += 1
            elif run_s <= 0:
                skipped["no run time"] += 1
            else:
                yield _submission(pod, run_s, run_s if exact else 0.0, _queue(pod, queue))

    return Source(begin)


def _starts_s(pod: Pod) -> float:
    return pod.created_s if pod.scheduled_s is None else pod.scheduled_s


def _submission(pod: Pod, run_s: float, estimate_s: float, queue: str) -> Submission:
    group = SubmittedGroup(
        count=1,
        memory_mib=pod.memory_mib,
        vcores_milli=pod.vcores_milli,
        gpus=pod.gpus,
        run_s=np.array([run_s]),
        estimate_s=estimate_s,
        node_labels=expression(pod.models),
    )
    digits = re.search(r"(\d{1,18})$", pod.name)
    return Submission(pod.created_s, queue, pod.service.lower(), (group,), int(digits[1]) if digits else 0)


def expression(models: tuple[str, ...]) -> str:
    """The nodes of these models, as a label expression; all nodes where none is named."""
    if len(models) < 2:
        return "".join(f"{LABEL} == {model}" for model in models)
    return f"{LABEL} in ({', '.join(models)})"


def _queue(pod: Pod, queue: str | Mapping[str, str]) -> str:
    if isinstance(queue, str):
        return queue
    if pod.service not in queue:
        raise ValueError(f"pod {pod.name}: there is no queue for the class {pod.service!r}; add it to the option queue")
    return queue[pod.service]


def _pod(row: Record) -> Pod:
    models = tuple(dict.fromkeys(m for m in row.text("gpu_spec").split("|") if m))  # some name a model twice
    for model in models:
        if not _MODEL.fullmatch(model):
            raise row.wrong("gpu_spec", f"{model[:40]!r} is no model", "write models as V100M16|V100M32")
    share = row.whole("gpu_milli", 0, 0)
    return Pod(
        name=row.text("name"),
        memory_mib=row.whole("memory_mib", least=0),
        vcores_milli=row.whole("cpu_milli", least=0),
        gpus=max(row.whole("num_gpu", least=0), 1 if share else 0),
        models=models,
        service=row.text("qos"),
        created_s=row.number("creation_time", least=0.0),
        scheduled_s=_when(row, "scheduled_time"),
        deleted_s=_when(row, "deletion_time"),
    )


def _when(row: Record, field: str) -> float | None:
    return row.number(field, least=0.0) if row.text(field) else None
