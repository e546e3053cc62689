"""The metrics of history by name: from which columns, in which unit, of which scopes."""

from dataclasses import dataclass
from enum import Enum

from wire.resources import RESOURCES

from .columns import CLUSTER, NODE, NODES, QUEUE, SUB_CLUSTER

_EVERYWHERE = (CLUSTER, SUB_CLUSTER, QUEUE)
_MACHINES = (CLUSTER, SUB_CLUSTER)


class Kind(Enum):
    MEAN = "mean"  # of the samples in a window
    RATE = "rate"  # per second
    COUNT = "count"  # in the window
    QUANTILE = "quantile"


@dataclass(frozen=True, slots=True)
class Metric:
    """scopes: the beginnings of the scopes that have it. factor: of the stored number. q: of a quantile.

    idle: whether a queue without a row has none of it; otherwise nothing is known of it then.
    """

    name: str
    unit: str
    kind: Kind
    column: str
    scopes: tuple[str, ...] = _EVERYWHERE
    factor: float = 1.0
    q: float = 0.0
    idle: bool = True

    def of(self, scope: str) -> bool:
        return scope.startswith(self.scopes)


def _all() -> list[Metric]:
    found = []
    for resource in RESOURCES:
        axis, unit = resource.axis, resource.unit
        found += [
            Metric(f"allocated_{axis}", unit, Kind.MEAN, f"allocated_{axis}", (*_EVERYWHERE, NODE)),
            Metric(f"pending_{axis}", unit, Kind.MEAN, f"pending_{axis}"),
            Metric(f"capacity_{axis}", unit, Kind.MEAN, f"capacity_{axis}", _MACHINES),
            Metric(f"guaranteed_{axis}", unit, Kind.MEAN, f"capacity_{axis}", (QUEUE,), idle=False),
        ]
    found += [
        Metric("used_memory_mib", "MiB", Kind.MEAN, "used_memory_mib", (*_MACHINES, NODE)),
        Metric("used_vcores_milli", "millicores", Kind.MEAN, "used_vcores_milli", (*_MACHINES, NODE)),
        Metric("pending_containers", "containers", Kind.MEAN, "pending_containers"),
        Metric("dominant_share", "share", Kind.MEAN, "share_ppm", factor=1e-6),
        Metric("decisions_per_s", "1/s", Kind.RATE, "decisions"),
        Metric("preemptions", "containers", Kind.COUNT, "preemptions"),
        Metric("allocation_latency_p50_s", "s", Kind.QUANTILE, "latency", q=0.5),
        Metric("allocation_latency_p99_s", "s", Kind.QUANTILE, "latency", q=0.99),
    ]
    return found + [Metric(name, "nodes", Kind.MEAN, name, _MACHINES) for name in NODES]


METRICS = {metric.name: metric for metric in _all()}
# What a tenant may know of machines that others use as well.
OPEN = frozenset(name for name in METRICS if name.startswith(("capacity_", "nodes_")))
