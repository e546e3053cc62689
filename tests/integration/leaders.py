"""What leaders tell screens, without leaders."""

import time

import numpy as np

from controlplane.statestore import bus, nodeloads
from controlplane.statestore.models import SubCluster
from wire import keys
from wire.resources import AXES
from wire.states import NodeState


def say(home: SubCluster, *rows: dict[str, int], at: float | None = None) -> None:
    """What the leader says of nodes: ``id`` and what differs from an empty node that was just heard."""
    quiet = {"state": NodeState.UP} | dict.fromkeys(("health", "held", "containers", "age_ms"), 0)
    quiet |= dict.fromkeys((*AXES, "used_memory_mib", "used_cpu_milli"), 0)
    filled = [quiet | row for row in rows]
    columns = {name: np.array([row[name] for row in filled]) for name in (*quiet, "id")}
    bus.client().set(keys.nodes(home.pk), nodeloads.encode(at or time.time(), 1, columns))
