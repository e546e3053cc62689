"""The columns of a row of history, and rows as the duty puts them together."""

import datetime as dt
from dataclasses import dataclass, field

from wire.resources import AXES

from .sketch import Sketch

LOADED = (*(f"{what}_{axis}" for what in ("allocated", "capacity", "pending") for axis in AXES), "share_ppm")
MEASURED = ("used_memory_mib", "used_vcores_milli", "pending_containers")
NODES = ("nodes_registered", "nodes_up", "nodes_unhealthy", "nodes_lost")
COUNTED = ("decisions", "preemptions")
SAMPLES = ("n_load", "n_measured", "n_nodes")
NUMBERS = (*SAMPLES, *LOADED, *MEASURED, *NODES, *COUNTED)
SAMPLED_BY = dict.fromkeys(LOADED, "n_load") | dict.fromkeys(MEASURED, "n_measured") | dict.fromkeys(NODES, "n_nodes")

CLUSTER = "cluster"
QUEUE = "queue:"
SUB_CLUSTER = "sub-cluster:"
NODE = "node:"
WHOLE = "root"  # the queue that is the cluster


@dataclass(slots=True)
class WindowRow:
    """What is to be added to one scope's window. numbers: by column, what is missing is 0. rank: 0 is always kept."""

    numbers: dict[str, int] = field(default_factory=dict)
    latency: Sketch = field(default_factory=dict)
    rank: int = 0
    queues: int = 0  # of the whole cluster: how many queues the window has

    def add(self, column: str, n: int) -> None:
        self.numbers[column] = self.numbers.get(column, 0) + n


Rows = dict[tuple[str, dt.datetime], WindowRow]  # by scope and the beginning of its window of ``FINEST_S``
