"""Preemption between queues in plain Python: one rule at a time, one container at a time, everything looked up anew."""

from collections.abc import Callable

import numpy as np

from scheduler.core.snapshot import Running, Snapshot
from scheduler.preemption.policy import PreemptionPolicy

LITTLE = 1e-6
Vector = list[float]


def fair(amount: float, rows: list[tuple[float, float, float, float]]) -> Vector:
    """Weighted max-min over rows of (base, weight, low, high): halve the interval in which the level must lie."""

    def at(t: float) -> Vector:
        return [min(max(base + t * weight, low), high) for base, weight, low, high in rows]

    lowest, highest = -1e12, 1e18
    for _ in range(200):
        middle = (lowest + highest) / 2
        if sum(at(middle)) <= amount:
            lowest = middle
        else:
            highest = middle
    return at(lowest)


class Ideals:
    """What each queue would hold of resource k if all guarantees were honoured, by queue."""

    def __init__(self, s: Snapshot, k: int, wanted: Vector, spared: Vector, capacity: float):
        q = s.queues
        self.children: list[list[int]] = [[] for _ in q.parent]
        for i, p in enumerate(q.parent.tolist()):
            if p >= 0:
                self.children[p].append(i)
        self.sure: Vector = q.guaranteed[:, k].tolist()
        self.most: Vector = q.maximum[:, k].tolist()
        self.used: Vector = q.used[:, k].tolist()
        self.weight: Vector = q.weight.tolist()
        self.parent: list[int] = q.parent.tolist()
        self.preemptable: list[bool] = q.preemptable.tolist()
        self.wanted, self.spared = wanted, spared
        self.out = [0.0] * len(self.used)
        self.out[0] = capacity
        for i in range(len(self.used)):
            if self.children[i]:
                self._divide(i)

    def own(self, i: int) -> float:
        return self.used[i] - sum(self.used[c] for c in self.children[i])

    def fixed(self, i: int) -> bool:
        return not self.preemptable[i] or (self.parent[i] >= 0 and self.fixed(self.parent[i]))

    def kept(self, i: int) -> float:
        """What cannot be taken from the queue."""
        inside = min(self.used[i], self.sure[i])
        if self.children[i]:
            return max(inside, self.own(i) + sum(map(self.kept, self.children[i])))
        return self.used[i] if self.fixed(i) else max(self.spared[i], inside)

    def demand(self, i: int) -> float:
        inside = sum(map(self.demand, self.children[i])) if self.children[i] else 0
        return max(self.kept(i), min(self.own(i) + inside + self.wanted[i], max(self.used[i], self.most[i])))

    def rightful(self, i: int) -> float:
        """What it may hold without taking from others what they hold beyond their guarantee."""
        wanted = self.demand(i)
        if self.children[i]:
            inside = max(self.sure[i], self.own(i) + sum(map(self.rightful, self.children[i])))
        else:
            inside = max(self.sure[i], self.used[i])
        return max(self.guaranteed(i), min(wanted, inside))

    def guaranteed(self, i: int) -> float:
        return max(self.kept(i), min(self.sure[i], self.demand(i)))

    def _divide(self, i: int) -> None:
        amount, rows = self.out[i] - self.own(i), self.children[i]
        steps = [list(map(f, rows)) for f in (self.kept, self.guaranteed, self.rightful, self.demand)]
        if i == 0:
            steps.pop()
        least, parts = [0.0] * len(rows), steps[-1]
        for number, step in enumerate(steps):
            if sum(step) > amount:
                weights = [least, [self.sure[c] for c in rows], *[[self.weight[c] for c in rows]] * 2][number]
                weights = step if number == 0 else weights
                bases = [self.sure[c] if number > 1 else 0.0 for c in rows]
                parts = fair(amount, list(zip(bases, (max(w, 1e-9) for w in weights), least, step, strict=True)))
                break
            least = step
        for c, part in zip(rows, parts, strict=True):
            self.out[c] = part


class Plain:
    """The victims of one round in which nothing is warned yet and no container is about to end."""

    def __init__(self, s: Snapshot, policy: PreemptionPolicy, eligible: Callable[[int], bool] = lambda ask: True):
        assert s.running is not None
        self.s, self.policy, self.live = s, policy, s.running
        self.left = [int(n) if eligible(i) else 0 for i, n in enumerate(s.asks.count)]
        self.room, self.chosen = s.nodes.free.tolist(), set[int]()
        self.resources = range(len(s.axis))
        self.shape = [s.asks.shapes[x].tolist() for x in s.asks.shape]
        self.size, self.queue = self.live.shape.tolist(), s.ask_queue.tolist()
        self._books()
        self.taken = [0] * len(s.axis)
        n = len(self.live.id)
        self.master = [False] * n if self.live.master is None else self.live.master.tolist()
        self.refused = False  # whether the bound of the round let one stay that is no master
        order, groups = cheapest_first(self.live), self._groups(self._asking())
        for group in groups:
            self._serve(group, [x for x in order if not self.master[x]])
        if any(self.master) and not self.refused:
            for group in groups:
                self._serve(group, sorted(order, key=lambda x: self.master[x]))

    def _capacity(self) -> Vector:
        nodes = self.s.nodes
        part = np.where(nodes.open[:, None], nodes.capacity, np.maximum(nodes.capacity - nodes.free, 0))
        return [float(x) for x in part.sum(axis=0)]

    def _books(self) -> None:
        q, s = len(self.s.queues.parent), self.s
        self.capacity = self._capacity()
        self.debt, self.owed, self.ideal = ([[0.0] * len(s.axis) for _ in range(q)] for _ in range(3))
        for k in self.resources:
            wanted, spared = [0.0] * q, [0.0] * q
            for a, n in enumerate(self.left):
                wanted[self.queue[a]] += n * self.shape[a][k]
            for x in np.flatnonzero(self.live.protected).tolist():
                spared[self.live.queue[x]] += self.size[x][k]
            ideals = Ideals(s, k, wanted, spared, self.capacity[k])
            for i in range(q):
                used = ideals.used[i]
                self.ideal[i][k] = ideals.out[i]
                if ideals.children[i]:
                    continue
                self.owed[i][k] = max(0.0, ideals.out[i] - used)
                if not ideals.fixed(i) and used > ideals.sure[i] * (1 + self.policy.dead_zone):
                    self.debt[i][k] = max(0.0, used - ideals.out[i]) * self.policy.natural_termination
        self.alive = np.bincount(self.live.queue, minlength=q).tolist()
        self.starving = [max(row) <= 0 for row in s.queues.used.tolist()]

    def _asking(self) -> list[int]:
        """Asks of queues that are owed something; the queue that lacks most of its ideal first."""

        def lack(q: int) -> float:
            return max(o / max(i, LITTLE) for o, i in zip(self.owed[q], self.ideal[q], strict=True))

        def rank(a: int) -> tuple[float, int, int, int]:
            return -lack(self.queue[a]), self.queue[a], -int(self.s.jobs.priority[self.s.asks.job[a]]), a

        asking = [a for a, n in enumerate(self.left) if n and max(self.owed[self.queue[a]]) > LITTLE]
        return sorted(asking, key=rank)

    def _groups(self, asking: list[int]) -> list[list[int]]:
        """Those of one shape and mask together."""
        groups: dict[tuple[int, int], list[int]] = {}
        for a in asking:
            groups.setdefault((int(self.s.asks.shape[a]), int(self.s.asks.mask[a])), []).append(a)
        return list(groups.values())

    def wants(self, a: int) -> str:
        owed, shape = self.owed[self.queue[a]], self.shape[a]
        if self.left[a] <= 0:
            return ""
        if all(owed[k] + LITTLE >= shape[k] for k in self.resources if shape[k]):
            return "entitled"
        some = all(owed[k] > LITTLE for k in self.resources if shape[k])
        return "exception" if some and self.starving[self.queue[a]] else ""

    def eligible(self, a: int, x: int, paid: list[int]) -> bool:
        """Whether container x may be taken for ask a after those in ``paid``."""
        p, q = int(self.live.queue[x]), self.queue[a]
        if x in self.chosen or self.live.protected[x] or p == q:
            return False
        if self.wants(a) == "exception" and self.alive[p] - sum(self.live.queue[y] == p for y in paid) <= 1:
            return False
        debt = [self.debt[p][k] - sum(self.size[y][k] for y in paid if self.live.queue[y] == p) for k in self.resources]
        if not any(debt[k] > LITTLE and self.shape[a][k] and self.size[x][k] for k in self.resources):
            return False
        return not self.chosen or not self.bounded(x, paid)

    def bounded(self, x: int, paid: list[int]) -> bool:
        """Whether x is more than the round may still take; a master also if that has let another than a master stay."""
        if self.master[x] and self.refused:
            return True
        for k in self.resources:
            bound = np.floor(self.policy.per_round * self.capacity[k])
            if self.taken[k] + sum(self.size[y][k] for y in paid) + self.size[x][k] > bound:
                self.refused = self.refused or not self.master[x]
                return True
        return False

    def fits(self, a: int, node: int, given: list[int]) -> bool:
        have = [self.room[node][k] + sum(self.size[x][k] for x in given) for k in self.resources]
        return all(have[k] >= self.shape[a][k] for k in self.resources if self.shape[a][k])

    def usable(self, a: int, node: int) -> bool:
        return bool(self.s.nodes.open[node] and self.s.asks.masks[self.s.asks.mask[a], node])

    def place(self, a: int, node: int, given: list[int]) -> None:
        q = self.queue[a]
        for k in self.resources:
            self.room[node][k] += sum(self.size[x][k] for x in given) - self.shape[a][k]
            self.owed[q][k] -= self.shape[a][k]
            self.taken[k] += sum(self.size[x][k] for x in given)
            for x in given:
                self.debt[self.live.queue[x]][k] -= self.size[x][k]
        for x in given:
            self.alive[self.live.queue[x]] -= 1
        self.chosen.update(given)
        self.left[a] -= 1
        self.starving[q] = False

    def _serve(self, group: list[int], order: list[int]) -> None:
        """Ask after ask: where something is free, else where the candidates seen so far on a node make it fit.

        An ask goes on in the order where the one before it was served. One
        that is entitled begins anew after an exception, which passes over more.
        """
        failed, walk, last = "", Walk(order), ""
        for a in group:
            while self.wants(a):
                if failed and (failed == "entitled" or self.wants(a) == "exception"):
                    break
                if (last, self.wants(a)) == ("exception", "entitled"):
                    walk = Walk(order)
                last = self.wants(a)
                if not self._free(a) and not self._victims(a, walk):
                    failed = last
                    break

    def _free(self, a: int) -> bool:
        for node in range(len(self.room)):
            if self.usable(a, node) and self.fits(a, node, []):
                self.place(a, node, [])
                return True
        return False

    def _victims(self, a: int, walk: "Walk") -> bool:
        while not self._gathered(a, walk):
            if not walk.ahead:
                return False
            x = walk.ahead.pop(0)
            walk.node = int(self.live.node[x])
            if self.usable(a, walk.node) and self.eligible(a, x, []):
                walk.seen.setdefault(walk.node, []).append(x)
            else:
                walk.node = -1
        return True

    def _gathered(self, a: int, walk: "Walk") -> bool:
        """Whether those seen on the node at hand make room for ask a; those who then cannot pay are passed over."""
        seen, paid = walk.seen.get(walk.node, []), list[int]()
        if not seen or not self.fits(a, walk.node, seen):
            return False
        for y in seen:
            if self.eligible(a, y, paid):
                paid.append(y)
        if not self.fits(a, walk.node, paid):
            walk.seen[walk.node] = paid
            return False
        for y in paid[::-1]:  # the most valuable stay where they can
            if self.fits(a, walk.node, [z for z in paid if z != y]):
                paid.remove(y)
        self.place(a, walk.node, paid)
        walk.seen[walk.node] = [y for y in seen if y not in paid]
        return True


class Walk:
    """How far down the order a group of asks has come, and what it has seen, by node."""

    def __init__(self, order: list[int]):
        self.ahead, self.seen, self.node = list(order), dict[int, list[int]](), -1


def cheapest_first(live: Running) -> list[int]:
    """The lowest priority, then the newest."""
    return sorted(range(len(live.id)), key=lambda x: (live.priority[x], -live.started[x], -live.id[x]))


def plain_round(s: Snapshot, policy: PreemptionPolicy) -> set[int]:
    """Rows of the running that are to go."""
    return Plain(s, policy).chosen
