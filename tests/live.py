"""Worlds in which containers run, for tests of preemption and of estimates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from scheduler.core.snapshot import Running, Snapshot
from tests.worlds import Amounts, Ask, Node, Queue, arrays, build


@dataclass
class Live:
    """One running container. ``ask``: the position of the ask whose job it belongs to, or -1."""

    queue: int
    node: int
    shape: Amounts
    priority: int = 0
    started: float = 0.0
    ends: float = float("inf")
    spared: bool = False
    ask: int = -1
    last: bool = False


def live(
    nodes: Sequence[Node],
    queues: Sequence[Queue],
    asks: Sequence[Ask],
    shapes: Sequence[Amounts],
    running: Sequence[Live],
    masks: Sequence[Sequence[bool]] | None = None,
) -> Snapshot:
    """A snapshot whose nodes, queues, users and jobs use what runs, beyond what their rows say."""

    def more(used: Amounts, mine: list[Live]) -> Amounts:
        return tuple((arrays([used])[0] + arrays([x.shape for x in mine]).sum(axis=0)).tolist())

    snapshot = build(
        [replace(n, used=more(n.used, [x for x in running if x.node == i])) for i, n in enumerate(nodes)],
        [replace(q, own=more(q.own, [x for x in running if x.queue == i])) for i, q in enumerate(queues)],
        [replace(a, used=more(a.used, [x for x in running if x.ask == i])) for i, a in enumerate(asks)],
        shapes,
        masks,
    )
    return replace(
        snapshot,
        running=Running(
            id=np.arange(len(running), dtype=np.int64) + 1000,
            node=np.array([x.node for x in running], np.int32),
            job=np.array([x.ask for x in running], np.int32),
            queue=np.array([x.queue for x in running], np.int32),
            priority=np.array([x.priority for x in running], np.int32),
            shape=arrays([x.shape for x in running]),
            started=np.array([x.started for x in running], np.float64),
            ends=np.array([x.ends for x in running], np.float64),
            protected=np.array([x.spared for x in running], np.bool_),
            master=np.array([x.last for x in running], np.bool_),
        ),
    )
