"""What a round sees: arrays over nodes, queues, users, jobs and asks. Nothing here changes during a round.

A snapshot is one partition of one sub-cluster. Resources are vectors over
``axis`` (``memory_mib``, ``vcores_milli``, ``gpus``); r is its length. Indices
are positions in these arrays, times are seconds on the caller's clock.
"""

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np


class Ordering(IntEnum):
    """How the jobs of a leaf queue are served."""

    FIFO = 0  # by submission
    PRIORITY = 1  # the higher priority first, then by submission
    FAIR = 2  # weighted max-min over the jobs, then by submission


class Backfill(IntEnum):
    """Which asks may start before one that waits in the same queue; see ``scheduler.placement.backfill``."""

    NONE = 0  # all that fit
    EASY = 1  # those that do not delay the first one that waits
    CONSERVATIVE = 2  # those that delay none that stands before them
    STRICT = 3  # nobody


@dataclass(frozen=True, slots=True)
class Nodes:
    """n nodes.

    capacity: (n, r) int64. free: (n, r) int64, may be negative on an overfull
    node. open: (n,) bool, may take new containers. rack: (n,) int32, numbered
    from 0 without gaps. reservable: (n,) bool, what becomes free there may be kept
    for an ask; everywhere where None.
    """

    capacity: np.ndarray
    free: np.ndarray
    open: np.ndarray
    rack: np.ndarray
    reservable: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Queues:
    """q queues, parents before children.

    parent: (q,) int32, -1 at the root. guaranteed, maximum, used: (q, r) int64,
    in resource units of this sub-cluster; ``used`` counts the whole subtree.
    weight: (q,) float64, of what is left beyond the guarantees. ordering: (q,)
    int8 ``Ordering``, read at leaves. preemptable: (q,) bool, whether others
    may take back what the queue has borrowed. lent: the row of what other
    partitions' containers hold of these nodes, which gives way to whatever is
    asked for here; -1 without one. owed: (q, r) int64, the part of
    ``guaranteed`` for which others give way; all of it where None. settled: no
    queue is owed more than it holds. backfill: (q,) int8 ``Backfill``, read at
    leaves; none where None. elsewhere: (q, r) bool, whether all that it
    may hold is in other sub-clusters now; nowhere where None.
    """

    paths: list[str]
    parent: np.ndarray
    guaranteed: np.ndarray
    maximum: np.ndarray
    used: np.ndarray
    weight: np.ndarray
    ordering: np.ndarray
    preemptable: np.ndarray
    lent: int = -1
    owed: np.ndarray | None = None
    settled: bool = False
    backfill: np.ndarray | None = None
    elsewhere: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Users:
    """u users, one row per leaf queue in which they have jobs.

    queue: (u,) int32. used, maximum: (u, r) int64.
    """

    queue: np.ndarray
    used: np.ndarray
    maximum: np.ndarray


@dataclass(frozen=True, slots=True)
class Jobs:
    """j jobs in order of submission.

    user: (j,) int32, the row of ``Users``. priority: (j,) int32, higher first.
    used: (j, r) int64.
    """

    user: np.ndarray
    priority: np.ndarray
    used: np.ndarray


@dataclass(frozen=True, slots=True)
class Asks:
    """a asks, one per task group that wants containers, by job.

    key: (a,) int64, what the ask is called from round to round, ascending.
    count: (a,) int64 wanted now. job, shape, mask: (a,) int32 positions in
    jobs, shapes, masks. since: (a,) float64, when it began to wait. gang: (a,)
    bool, all of ``count`` at once or none. fill: (a,) int8 ``placement.fills.Fill``, or -1 for
    the policy's. near: the preferred nodes of ask i are
    ``near[near_from[i]:near_from[i + 1]]`` (int32 positions); near_rack
    likewise, racks. duration: (a,) float64 s its containers are expected to run, 0 unknown.
    shapes: (s, r) int64 per container. masks: (m, n) bool, nodes that an ask
    may use at all (labels, strict locality, avoided nodes).
    """

    key: np.ndarray
    count: np.ndarray
    job: np.ndarray
    shape: np.ndarray
    mask: np.ndarray
    since: np.ndarray
    gang: np.ndarray
    fill: np.ndarray
    near_from: np.ndarray
    near: np.ndarray
    near_rack_from: np.ndarray
    near_rack: np.ndarray
    duration: np.ndarray
    shapes: np.ndarray
    masks: np.ndarray


@dataclass(frozen=True, slots=True)
class Running:
    """c live containers of this partition.

    id: (c,) int64. node, job: (c,) int32; job -1 where it is not among the
    snapshot's. queue: (c,) int32. priority: (c,) int32. shape: (c, r) int64.
    started: (c,) float64 s when it was allocated. ends: (c,) float64 s when it is
    expected to end, infinity where nobody knows. protected: (c,) bool, may not be
    preempted. master: (c,) bool, application masters: they may go when nothing
    else can give a queue what it is owed, and for nothing less; None: there are none.
    overdue: (c,) bool, has outlived its estimate, whatever ``ends`` makes of that; None: nobody has.
    """

    id: np.ndarray
    node: np.ndarray
    job: np.ndarray
    queue: np.ndarray
    priority: np.ndarray
    shape: np.ndarray
    started: np.ndarray
    ends: np.ndarray
    protected: np.ndarray
    master: np.ndarray | None = None
    overdue: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``running`` is there when the caller wants preemption, estimates or backfilling, and None otherwise.

    reclaim: whether any of it may be preempted in this round.
    """

    axis: tuple[str, ...]
    nodes: Nodes
    queues: Queues
    users: Users
    jobs: Jobs
    asks: Asks
    running: Running | None = None
    reclaim: bool = True

    @property
    def ask_queue(self) -> np.ndarray:
        """Leaf queue of each ask: (a,) int32."""
        found: np.ndarray = self.users.queue[self.jobs.user[self.asks.job]]
        return found


def _ids() -> np.ndarray:
    return np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Memo:
    """What a round may carry to the next, and may be lost.

    cursor: node to fill next. delayed, missed, delayed_since: (m,) int64 keys of asks
    that have let opportunities pass for the sake of locality, ascending, how many
    (int64), and (float64 s) when the first of them was.
    reserved, reserved_node, reserved_at: (k,) int64 keys of asks that hold a
    node free, the node's position, and (float64 s) since when. warned,
    warned_due: (w,) int64 container ids told that they will be preempted, and
    (float64 s) when.
    """

    cursor: int = 0
    delayed: np.ndarray = field(default_factory=_ids)
    missed: np.ndarray = field(default_factory=_ids)
    delayed_since: np.ndarray = field(default_factory=lambda: np.empty(0))
    reserved: np.ndarray = field(default_factory=_ids)
    reserved_node: np.ndarray = field(default_factory=_ids)
    reserved_at: np.ndarray = field(default_factory=lambda: np.empty(0))
    warned: np.ndarray = field(default_factory=_ids)
    warned_due: np.ndarray = field(default_factory=lambda: np.empty(0))
