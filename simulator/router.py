"""Where a simulated job is at home: the Router's own function, on what leaders last told."""

import random
from collections import Counter
from collections.abc import Callable

from controlplane.policy.federation import routers
from controlplane.statestore.nodesets import ordered
from scheduler.core.nodeselection import partition_of_ask
from scheduler.federation.feasible import GroupNeed, NodeKind, NodeKinds, Verdict
from scheduler.federation.routing import HomeCandidate, RoutedJob, Router, route
from simulator.rows import Federation, SubCluster
from simulator.specs import demand
from simulator.workload import Submission, SubmittedGroup
from wire.resources import AXES, NOTHING, amounts

_FRESH_S = 0.5  # as web processes read it


class SimulatedRouter:
    """Routes jobs."""

    def __init__(self, rows: Federation, seed: int):
        self.rows = rows
        self._random = random.Random(seed)
        self._names = {sub.name: sub.id for sub in rows.subs.values()}
        self._by_path: Callable[[str], Router] | None = None
        self._version, self._read_s = 0, -1e9
        self._candidates: dict[int, HomeCandidate] = {}
        self._where: dict[str, int] | None = None
        self._usual: dict[str, str] = {}  # the partition of each queue
        self._kinds: dict[bool, NodeKinds] = {}  # by whether each node stands by its name

    def home(self, s: Submission, owner: int) -> int | None:
        """The sub-cluster that takes the job; None when its queue's policy rejects it or none takes any."""
        if s.home:
            return self._names[s.home]
        by = self._router(s.queue)
        if len(self._names) == 1 and "reject" not in (by.name, by.fallback):
            return next(iter(self._names.values()))
        owned = self._owned(s) if "locality" in (by.name, by.fallback) else {}
        count = sum(g.count for g in s.groups)
        job = RoutedJob(f"job-{s.number}", s.queue, owner, demand(s), count, owned, self._verdicts(s))
        decision = route(self._fresh(), job, by, self._random.random())
        return None if decision.home is None else decision.home.id

    def _router(self, queue: str) -> Router:
        policy = self.rows.policy
        assert policy is not None
        if self._by_path is None or self._version != policy.version:
            self._by_path, self._version = routers(policy.document), policy.version
            self._usual = {row.path: row.default_partition for row in policy.queues}
            self._kinds.clear()
        return self._by_path(queue)

    def _verdicts(self, s: Submission) -> dict[int, Verdict]:
        """Which sub-clusters have the nodes for it, whether these are up or not."""
        policy = self.rows.policy
        assert policy is not None
        partitions = ordered((policy.document or {}).get("partitions"))
        usual = self._usual.get(s.queue, "")
        needs = [_need(g, partition_of_ask(partitions, g.partition, usual)) for g in s.groups]
        by_name = any(need.names for need in needs)
        if by_name not in self._kinds:
            self._kinds[by_name] = NodeKinds(self._nodes(by_name), partitions)
        return self._kinds[by_name].verdicts(needs, self.rows.subs)

    def _nodes(self, by_name: bool) -> list[NodeKind]:
        alike: Counter[tuple[object, ...]] = Counter()
        kinds: dict[tuple[object, ...], NodeKind] = {}
        for sub in self.rows.subs.values():
            for row in sub.nodes.values():
                name = row["name"] if by_name else ""
                kind = NodeKind(sub.id, name, row["rack"], row["labels"], amounts(row[a] for a in AXES))
                key = (sub.id, name, kind.rack, tuple(sorted(row["labels"].items())), kind.capacity)
                kinds[key] = kind
                alike[key] += 1
        return [kinds[key]._replace(number=number) for key, number in alike.items()]

    def _fresh(self) -> list[HomeCandidate]:
        now = self.rows.clock.now
        if now - self._read_s >= _FRESH_S:
            self._read_s = now
            for sub in self.rows.subs.values():
                self._read(sub)
        return list(self._candidates.values())

    def _read(self, sub: SubCluster) -> None:
        """What its leader has told; what was sent there since stays counted."""
        load = sub.load
        known = self._candidates.get(sub.id)
        accepts, led = sub.state == "running", bool(sub.lease.holder)
        if known is not None and (load is None or known.read_at == sub.loaded_at):
            known.accepts, known.led = accepts, led
            return
        if load is None:
            size = amounts(sum(row[a] for row in sub.nodes.values()) for a in AXES)
            found = HomeCandidate(sub.id, sub.name, accepts, led, len(sub.nodes), size, list(NOTHING), -1.0)
        else:
            size = amounts(load.capacity.tolist())
            limited = load.limited.by_queue
            found = HomeCandidate(
                sub.id, sub.name, accepts, led, load.nodes_up, size, load.demand.tolist(), sub.loaded_at, limited
            )
        self._candidates[sub.id] = found

    def _owned(self, s: Submission) -> dict[int, int]:
        """By sub-cluster, how many of the job's containers name something found there."""
        if self._where is None:
            self._where = {}
            for sub in self.rows.subs.values():
                for row in sub.nodes.values():
                    self._where[row["name"]] = self._where[row["rack"]] = sub.id
        found: dict[int, int] = {}
        for g in s.groups:
            for name in (*g.nodes, *g.racks):
                if name in self._where:
                    found[self._where[name]] = found.get(self._where[name], 0) + g.count
        return found


def _need(g: SubmittedGroup, partition: str) -> GroupNeed:
    shape = amounts(getattr(g, axis) for axis in AXES)
    return GroupNeed(g.count, shape, g.gang, g.node_labels, g.strict, g.nodes, g.racks, partition)
