"""Snapshots for tests of the scheduling core: built from rows, or drawn by hypothesis."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from scheduler.core.snapshot import Asks, Backfill, Jobs, Nodes, Ordering, Queues, Snapshot, Users
from scheduler.shares.tree import subtree_sums
from tests.amounts import R
from wire.resources import AXES

Amounts = Sequence[int]


def arrays(rows: Sequence[Amounts], width: int = R) -> np.ndarray:
    """What a row leaves out at its end is 0."""
    return np.array([[*row, *[0] * (width - len(row))] for row in rows], np.int64).reshape(-1, width)


@dataclass
class Node:
    capacity: Amounts
    used: Amounts = ()
    open: bool = True
    rack: int = 0


@dataclass
class Queue:
    """``own``: used by containers that are not of the jobs in the snapshot, without what lies below."""

    path: str
    maximum: Amounts = (1 << 40,) * R
    guaranteed: Amounts = (0,) * R
    own: Amounts = (0,) * R
    weight: float = 1.0
    ordering: int = Ordering.PRIORITY
    preemptable: bool = True
    backfill: int = Backfill.NONE


@dataclass
class Ask:
    """One job with one group. ``user``: a number within its queue."""

    queue: int
    count: int
    shape: int = 0
    mask: int = 0
    user: int = 0
    priority: int = 0
    used: Amounts = (0,) * R
    since: float = 0.0
    gang: bool = False
    fill: int = -1
    near: Sequence[int] = field(default_factory=list)
    near_racks: Sequence[int] = field(default_factory=list)
    duration: float = 0.0


def ragged(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """(k + 1,) int32 offsets and the rows' values end to end, int32."""
    lengths = [len(r) for r in rows]
    return np.cumsum([0, *lengths]).astype(np.int32), np.array([x for r in rows for x in r], np.int32)


def tree(queues: Sequence[Queue]) -> Queues:
    """Parents by path; ``used`` summed up."""
    index = {q.path: i for i, q in enumerate(queues)}
    parent = np.array([index.get(q.path.rpartition(".")[0], -1) for q in queues], np.int32)
    used = arrays([q.own for q in queues])
    used = subtree_sums(parent, used)
    return Queues(
        [q.path for q in queues],
        parent,
        arrays([q.guaranteed for q in queues]),
        arrays([q.maximum for q in queues]),
        used,
        np.array([q.weight for q in queues], np.float64),
        np.array([q.ordering for q in queues], np.int8),
        np.array([q.preemptable for q in queues], np.bool_),
        backfill=np.array([q.backfill for q in queues], np.int8) if any(q.backfill for q in queues) else None,
    )


def build(
    nodes: Sequence[Node],
    queues: Sequence[Queue],
    asks: Sequence[Ask],
    shapes: Sequence[Amounts],
    masks: Sequence[Sequence[bool]] | None = None,
    user_maximum: dict[tuple[int, int], Amounts] | None = None,
) -> Snapshot:
    """A snapshot; asks are in order of submission, one job each. ``user_maximum``: by (queue, user)."""
    n, a = len(nodes), len(asks)
    allowed = [[True] * n] if masks is None else masks
    capacity = arrays([x.capacity for x in nodes])
    table: dict[tuple[int, int], int] = {}
    user = [table.setdefault((x.queue, x.user), len(table)) for x in asks]
    used = np.zeros((len(table), R), np.int64)
    for row, x in zip(user, asks, strict=True):
        used[row] += arrays([x.used])[0]
    most = [(user_maximum or {}).get(key, (1 << 40,) * R) for key in table]
    near_from, near = ragged([x.near for x in asks])
    rack_from, racks = ragged([x.near_racks for x in asks])
    return Snapshot(
        AXES,
        Nodes(
            capacity,
            capacity - arrays([x.used for x in nodes]),
            np.array([x.open for x in nodes], np.bool_),
            np.array([x.rack for x in nodes], np.int32),
        ),
        tree(queues),
        Users(np.array([q for q, _ in table], np.int32), used, arrays(most)),
        Jobs(np.array(user, np.int32), np.array([x.priority for x in asks], np.int32), arrays([x.used for x in asks])),
        Asks(
            key=np.arange(a, dtype=np.int64) << 8,
            count=np.array([x.count for x in asks], np.int64),
            job=np.arange(a, dtype=np.int32),
            shape=np.array([x.shape for x in asks], np.int32),
            mask=np.array([x.mask for x in asks], np.int32),
            since=np.array([x.since for x in asks], np.float64),
            gang=np.array([x.gang for x in asks], np.bool_),
            fill=np.array([x.fill for x in asks], np.int8),
            near_from=near_from,
            near=near,
            near_rack_from=rack_from,
            near_rack=racks,
            duration=np.array([x.duration for x in asks], np.float64),
            shapes=arrays(shapes),
            masks=np.array(allowed, np.bool_).reshape(len(allowed), n),
        ),
    )


def drawn(most: int, gpus: int, least: int = 0) -> st.SearchStrategy[tuple[int, ...]]:
    """Up to ``most`` of each resource, ``gpus`` of GPUs; at least ``least`` of the first."""
    return st.tuples(
        *(st.integers(0 if at else least, gpus if axis == "gpus" else most) for at, axis in enumerate(AXES))
    )


_amounts = drawn(20, gpus=3)
_booleans = st.booleans()


@st.composite
def trees(draw: st.DrawFn, most: int = 6) -> list[Queue]:
    """Random queue trees, guarantees within the parent's, some over their maximum."""
    q = draw(st.integers(1, most))
    paths = ["root"]
    for i in range(1, q):
        paths.append(f"{paths[draw(st.integers(0, i - 1))]}.q{i}")
    own = [draw(_amounts) for _ in paths]
    total = {p: np.sum([own[i] for i, x in enumerate(paths) if x == p or x.startswith(p + ".")], axis=0) for p in paths}
    room = [draw(st.tuples(*[st.integers(-2, 40)] * R)) for _ in paths]
    return [
        Queue(
            p,
            maximum=tuple((total[p] + np.array(room[i])).tolist()),
            guaranteed=draw(_amounts),
            own=own[i],
            weight=draw(st.sampled_from([0.5, 1.0, 3.0])),
            ordering=draw(st.sampled_from(list(Ordering))),
            preemptable=draw(_booleans),
        )
        for i, p in enumerate(paths)
    ]


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Small sub-clusters in every state, overfull nodes and queues over their maximum among them."""
    n, a = draw(st.integers(0, 6)), draw(st.integers(0, 8))
    queues = draw(trees())
    parents = {q.path.rpartition(".")[0] for q in queues}
    leaves = [i for i, q in enumerate(queues) if q.path not in parents]
    overfull = draw(_booleans)
    nodes = [
        Node(draw(_amounts), draw(_amounts) if overfull else (), draw(_booleans), draw(st.integers(0, 2)))
        for _ in range(n)
    ]
    shapes = draw(st.lists(drawn(9, gpus=1, least=1), min_size=1, max_size=3))
    masks = draw(st.lists(st.lists(_booleans, min_size=n, max_size=n), min_size=1, max_size=3))
    nearby = st.lists(st.integers(0, n - 1), max_size=3, unique=True) if n else st.just([])
    racks = 1 + max((x.rack for x in nodes), default=0)
    asks = [
        Ask(
            queue=draw(st.sampled_from(leaves)),
            count=draw(st.integers(0, 7)),
            shape=draw(st.integers(0, len(shapes) - 1)),
            mask=draw(st.integers(0, len(masks) - 1)),
            user=draw(st.integers(0, 2)),
            priority=draw(st.integers(0, 2)),
            since=draw(st.sampled_from([-100.0, -4.0, 0.0])),
            gang=draw(st.integers(0, 4)) == 0,
            near=draw(nearby),
            near_racks=draw(st.lists(st.integers(0, racks - 1), max_size=2, unique=True)),
        )
        for _ in range(a)
    ]
    most = {(a.queue, a.user): draw(_amounts) for a in asks if draw(st.integers(0, 3)) == 0}
    return build(nodes, queues, asks, shapes, masks, most)
