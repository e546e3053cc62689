"""The AM-RM proxy of a home RM: which of its jobs' tasks others are asked to start (Hydra sections 3.2 and 4.1).

Demand that fits at home stays there unless its queue's policy says otherwise.
The rest goes where there is headroom, or to those who own the nodes it names.
What a sub-cluster has not started after ``relax_after_s``, or cannot because
nobody leads it, is asked back and goes elsewhere: delay scheduling across
sub-clusters. Of one that has died it goes to the others inversely to their load.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.reasons.waiting import elsewhere
from controlplane.rm.steps import remote
from controlplane.rm.steps.subclusters import RemoteSubClusters, fitting
from scheduler.federation.split import SplitTargets, redistribute, split
from scheduler.lifecycle.guest import HandedTasks

GROUPS_PER_LOOK = 200
_ALONE_S = 2.0  # between two looks for other sub-clusters where there were none
_AVOID = 4  # times relax_after_s that a sub-cluster which did not start a group's tasks gets no more of them

Key = tuple[int, int]  # job, group


@dataclass(slots=True)
class _Wait:
    """Tasks of a group that wait in one sub-cluster. since: of the last that was started or handed there."""

    taken: int
    since: float


@dataclass(slots=True)
class AMRMProxy:
    """next_s: when to look again. wanting: something waits that others might start. divided: tasks of a group that were
    divided already and stayed.

    recovered: tasks of a group that came back in this look because nobody leads where they waited.
    """

    sub: int
    next_s: float = 0.0
    wanting: bool = False
    remotes: RemoteSubClusters = field(init=False)
    waits: dict[tuple[int, int, int], _Wait] = field(default_factory=dict)
    avoided: dict[tuple[int, int, int], float] = field(default_factory=dict)
    divided: dict[Key, int] = field(default_factory=dict)
    recovered: dict[Key, int] = field(default_factory=dict)
    next_group: int = 0  # where to go on where there are more than ``GROUPS_PER_LOOK``

    def __post_init__(self) -> None:
        self.remotes = RemoteSubClusters(self.sub)

    def run(self, m: Memory, store: Store, c: Changes) -> None:
        """Look at most every ``interval_s``, and only while somebody waits. ``m`` is refreshed."""
        now = c.at_us / 1e6
        if now < self.next_s:
            return
        self.wanting = self._wants_others(m, now)
        if not (self.waits or m.spanning or self.wanting):
            return
        self.remotes.refresh(store, m, now)
        if not self.remotes.loads and not m.spanning:
            self.next_s = now + _ALONE_S
            return
        self.next_s = now + m.queues.proxy_interval_s
        self._recall_late(m, store, c, now)
        self._redistribute(m, c, now)
        self._spread(m, c, now)

    def _wants_others(self, m: Memory, now: float) -> bool:
        """Whether anything waits here that could not simply start here: only then others' loads are worth reading."""
        for partition in range(len(m.partitions)):
            rows = m.asks.wanting(partition)
            if len(rows):
                d = _demand(m, rows, self.remotes.home_free(m, partition), now)
                if (d.short | d.may_leave).any():
                    return True
        return False

    def due_s(self) -> float:
        """When it should look again although nothing has happened; endless while nothing waits elsewhere."""
        return self.next_s if self.waits else np.inf

    def look_s(self) -> float:
        """When it should look whether others have room, of which nobody tells it; endless while nothing wants any."""
        return self.next_s if self.wanting else np.inf

    # What waits elsewhere

    def _recall_late(self, m: Memory, store: Store, c: Changes, now: float) -> None:
        stuck = []
        for key in sorted(m.spanning):
            found = m.asking.get(key)
            if found is None:
                m.spanning.discard(key)
                continue
            waiting = [sub for sub, handed in found[1].remote.items() if handed.waiting or handed.lowering]
            if not waiting:
                m.spanning.discard(key)
            for sub in waiting:
                if self._stuck(m, c, *found, sub, now):
                    stuck.append((*key, sub))
            self._report(c, key, found[1], waiting, now)
        self.waits = {k: w for k, w in self.waits.items() if (k[0], k[1]) in m.spanning}
        for row in store.withdraw(stuck):
            job, key = m.jobs[row.job_id], (row.job_id, row.group_no)
            group = job.groups[row.group_no]
            before = group.run.wanted
            remote.returned(m, c, job, group, row.sub_cluster_id, row.target)
            self.recovered[key] = self.recovered.get(key, 0) + group.run.wanted - before

    def _report(self, c: Changes, key: Key, group: GroupEntry, subs: list[int], now: float) -> None:
        """Where a group waits of which nothing waits here, nor pauses, of which only home can tell; why, those who keep
        it waiting say in their asks."""
        if group.run.wanted or group.run.backing_off:
            return
        parts = [f"{group.remote[sub].waiting:,} in {self.remotes.name(sub)}" for sub in subs]
        text = f"Its tasks wait in other sub-clusters: {', '.join(parts)}." if parts else ""
        if text != ((group.reason or {}).get("text", "")):
            group.reason = elsewhere(group, text, sum(group.remote[sub].waiting for sub in subs), now) if text else None
            c.groups[key] = group

    def _stuck(self, m: Memory, c: Changes, job: JobEntry, group: GroupEntry, sub: int, now: float) -> bool:
        """Ask back what waited too long there; whether nobody is there to answer."""
        handed, policy = group.remote[sub], m.queues.proxy(job.queue)
        key = (job.id, group.run.no, sub)
        wait = self.waits.get(key)
        if wait is None or wait.taken != handed.taken:
            wait = self.waits[key] = _Wait(handed.taken, now)
        gone = self.remotes.gone_s(sub, now) > policy.relax_after_s
        late = now - wait.since > policy.relax_after_s and self._better(m, job, group, sub)
        barred = self.remotes.closed(sub) or not policy.reach([self.sub, sub])[1]
        if not handed.lowering and (gone or late or barred):
            self.avoided[key] = now + _AVOID * policy.relax_after_s
            remote.recall(c, job, group, sub)
        return handed.lowering and gone

    def _better(self, m: Memory, job: JobEntry, group: GroupEntry, sub: int) -> bool:
        """Whether another sub-cluster, or home, could start at least one of its containers now; of a gang all."""
        home, others = self.remotes.room(m, group.partition, job.queue_row)
        free = {self.sub: home} | {other: amount for other, amount in others.items() if other != sub}
        able = self.remotes.matching(m, group, list(free)) > 0
        least = group.remote[sub].waiting if group.constraints.gang else 1
        fits = [fitting(amount, group.shape) >= max(1, least) for amount in free.values()]
        return any(ok and fit for ok, fit in zip(able, fits, strict=True))

    def _redistribute(self, m: Memory, c: Changes, now: float) -> None:
        """What waited in a sub-cluster that has died goes to the others and home, inversely to their load."""
        recovered, self.recovered = self.recovered, {}
        for key, count in recovered.items():
            job, group = m.asking.get(key, (None, None))
            if job is None or group is None or group.constraints.gang:
                continue
            home, others = self.remotes.room(m, group.partition, job.queue_row)
            e = _Excess(job, group, fitting(home, group.shape), False)
            subs, targets = self._split_targets(m, e, others, now)
            loads = np.array([self.remotes.load(sub, job.queue) for sub in subs])
            parts = redistribute(min(count, group.run.wanted), loads, targets.usable, targets.headroom)
            self._hand_over(m, c, e, dict(zip(subs[1:], parts[1:].tolist(), strict=True)), now)

    # What waits here

    def _spread(self, m: Memory, c: Changes, now: float) -> None:
        self.avoided = {k: until for k, until in self.avoided.items() if until > now}
        self.divided = {k: min(n, m.asking[k][1].run.wanted) for k, n in self.divided.items() if k in m.asking}
        for partition in range(len(m.partitions)):
            found = [x for x in _excess(m, partition, self.remotes, now) if self._fresh(m, x)]
            first = self.next_group % len(found) if len(found) > GROUPS_PER_LOOK else 0
            for excess in (found[first:] + found[:first])[:GROUPS_PER_LOOK]:
                self._divide(m, c, excess)
            self.next_group = first + GROUPS_PER_LOOK

    def _fresh(self, m: Memory, e: "_Excess") -> int:
        """How many of its waiting tasks are to be divided.

        All, while home is preferred or has let them wait too long; else those that came since it was done last.
        """
        wanted = e.group.run.wanted
        if e.late or e.group.constraints.gang or m.queues.proxy(e.job.queue).prefer_home:
            return wanted
        return wanted - min(self.divided.get(e.key, 0), wanted)

    def _divide(self, m: Memory, c: Changes, e: "_Excess") -> None:
        """Hand over what of the group's tasks another sub-cluster should start."""
        group, now, policy = e.group, c.at_us / 1e6, m.queues.proxy(e.job.queue)
        _, free = self.remotes.room(m, group.partition, e.job.queue_row)
        subs, targets = self._split_targets(m, e, free, now)
        if not targets.usable[1:].any():
            return
        if group.constraints.gang:
            loads = np.array([self.remotes.load(sub, e.job.queue) for sub in subs])
            parts = _whole(group.run.wanted, targets.usable, targets.headroom, loads)
        else:
            parts = split(
                policy.policy, self._fresh(m, e), targets, owned=self.remotes.owned(m, group, subs),
                alpha=policy.alpha, prefer_home=policy.prefer_home,
                within=policy.prefer_home and bool(targets.usable[0]),
            )  # fmt: skip
        self._hand_over(m, c, e, dict(zip(subs[1:], parts[1:].tolist(), strict=True)), now)

    def _split_targets(
        self, m: Memory, e: "_Excess", free: dict[int, np.ndarray], now: float
    ) -> tuple[list[int], SplitTargets]:
        """Where the group's tasks may go now, home first."""
        subs, targets = self.remotes.split_targets(m, e.group, m.queues.proxy(e.job.queue), e.fits, free)
        for at, sub in enumerate(subs):
            targets.usable[at] &= (*e.key, sub) not in self.avoided and not _lowering(e.group.remote.get(sub))
        return subs, targets

    def _hand_over(self, m: Memory, c: Changes, e: "_Excess", parts: dict[int, int], now: float) -> None:
        """Ask these sub-clusters for so many of the group's tasks."""
        for sub, k in parts.items():
            if k <= 0:
                continue
            remote.hand_over(m, c, e.job, e.group, sub, k)
            self.remotes.sent(sub, e.group.shape * k, now)
            self.waits[*e.key, sub] = _Wait(e.group.remote[sub].taken, now)
        self.divided[e.key] = e.group.run.wanted


@dataclass(frozen=True, slots=True)
class _Excess:
    """A group of which ``fits`` tasks could start at home now. late: it waits too long there, and others have room."""

    job: JobEntry
    group: GroupEntry
    fits: int
    late: bool

    @property
    def key(self) -> Key:
        return self.job.id, self.group.run.no


@dataclass(frozen=True, slots=True)
class _Demand:
    """Asks of a partition, first come first: (a,) each.

    shapes: (s, R) distinct ones; shape: whose is which. before: (a, R) what
    those before each want. late: waits too long here. short: is that, or home
    cannot start all of it now. may_leave: may go elsewhere although home could.
    """

    shapes: np.ndarray
    shape: np.ndarray
    before: np.ndarray
    late: np.ndarray
    short: np.ndarray
    may_leave: np.ndarray


def _excess(m: Memory, partition: int, remotes: RemoteSubClusters, now: float) -> Iterator[_Excess]:
    """Groups at home here of which another sub-cluster may have to start something.

    Those that this one cannot start all of while another could, and those that
    prefer nodes of others or whose policy does not prefer home; the oldest
    jobs first.
    """
    rows = m.asks.wanting(partition)
    if not len(rows):
        return
    home = remotes.home_free(m, partition)
    d = _demand(m, rows, home, now)
    possible = _possible(m, partition, remotes, rows, d)
    look = d.short & possible | d.may_leave
    for i in np.flatnonzero(look).tolist():
        owner = m.asks.owner[rows[i]]
        assert owner is not None
        job, group = owner
        if not job.home:
            fits = 0 if d.late[i] else fitting(home - d.before[i], group.shape)
            yield _Excess(job, group, min(fits, group.run.wanted), bool(d.late[i] & possible[i]))


def _possible(m: Memory, partition: int, remotes: RemoteSubClusters, rows: np.ndarray, d: _Demand) -> np.ndarray:
    """Of which asks another sub-cluster could start a container now: (a,) bool; of none that home has room for."""
    found = np.zeros(len(rows), np.bool_)
    short = np.flatnonzero(d.short)
    leaf = m.ledger.leaf_of(m.asks.job[rows[short]]).astype(np.int64)
    kinds, kind = np.unique(leaf * len(d.shapes) + d.shape[short], return_inverse=True)
    known: dict[tuple[tuple[int, ...], int], bool] = {}
    able = np.zeros(len(kinds), np.bool_)
    for i, (queue, shape) in enumerate(zip(*(part.tolist() for part in np.divmod(kinds, len(d.shapes))), strict=True)):
        key = remotes.binding(m, partition, queue), shape
        if key not in known:
            free = remotes.elsewhere(m, partition, key[0]).values()
            known[key] = any(fitting(amount, d.shapes[shape]) for amount in free)
        able[i] = known[key]
    found[short] = able[kind]
    return found


def _demand(m: Memory, rows: np.ndarray, home: np.ndarray, now: float) -> _Demand:
    """rows: (a,) of the ask table. home: (R,) what is free."""
    shapes, shape = m.asks.shapes_of(rows)
    amounts = shapes[shape] * m.asks.count[rows, None]
    upto = np.cumsum(amounts, axis=0)
    leaf = m.ledger.leaf_of(m.asks.job[rows])
    late = now - m.asks.since[rows] > m.queues.relax_s[leaf]  # it may be its queue that has no room here
    may_leave = m.queues.no_home_preference[leaf] | m.asks.constrained[rows]
    if m.unheld:  # it waits in vain from the start
        vain = np.isin(m.asks.key[rows], [(job << 16) + no for job, no in m.unheld])
        late, may_leave = late | vain, may_leave | vain
    return _Demand(shapes, shape, upto - amounts, late, (upto > home).any(axis=1) | late, may_leave)


def _lowering(handed: HandedTasks | None) -> bool:
    return handed is not None and handed.lowering


def _whole(count: int, usable: np.ndarray, headroom: np.ndarray, loads: np.ndarray) -> np.ndarray:
    """All of a gang to the one sub-cluster with most headroom that holds it, home (the first) before others.

    One that home can never hold waits where least is to be done: what others
    ask for there may wait in vain as well, and would keep it here for ever.
    """
    parts = np.zeros(len(usable), np.int64)
    able = usable & (headroom >= count)
    if able.any():
        parts[0 if able[0] else int(np.argmax(np.where(able, headroom, -1)))] = count
    elif not usable[0] and usable.any():
        parts[int(np.argmin(np.where(usable, loads, np.inf)))] = count
    return parts
