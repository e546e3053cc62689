"""Placement one container at a time, without any cleverness: is each choice one that the rules allow?

Where the rules leave one node, only that one is right; where several are
equally good (on one level of emptiness or alignment), each of them is.
"""

import numpy as np

from scheduler.core.plan import Why
from scheduler.core.snapshot import Memo, Snapshot
from scheduler.placement.fills import Fill
from scheduler.placement.place import PlacementPolicy
from scheduler.placement.tables import BINS, LEVELS

NODE, RACK, ANY = range(3)


class PlacementReference:
    """Follows a round pass by pass. ``holds``: by ask, the node reserved for it."""

    def __init__(self, s: Snapshot, memo: Memo, policy: PlacementPolicy, now: float, holds: dict[int, int]):
        self.s, self.policy, self.now, self.holds, self.cursor = s, policy, now, holds, memo.cursor
        self.free = s.nodes.free.copy()
        self.usable = s.nodes.open.copy()
        self.usable[list(holds.values())] = False
        self.queue, self.user = s.ask_queue, s.jobs.user[s.asks.job]
        self.left = s.asks.count.copy()
        self.queue_room = s.queues.maximum - s.queues.used
        self.user_room = s.users.maximum - s.users.used
        gangs = s.asks.count[s.asks.gang]
        self.batch = max(policy.batch, int(gangs.max()) if len(gangs) else 0)
        self.why, self.detail = np.zeros(len(self.left), int), np.full(len(self.left), -1)
        self.missed: set[int] = set()
        self.lists: dict[tuple, list[int]] = {}  # the order of nodes for kinds that fill node by node
        misses = dict(zip(memo.delayed.tolist(), memo.missed.tolist(), strict=True))
        late_at = dict(zip(memo.delayed.tolist(), memo.delayed_since.tolist(), strict=True))
        self.late_at = [late_at.get(key, self.now) for key in s.asks.key.tolist()]
        self.misses = [misses.get(key, 0) for key in s.asks.key.tolist()]

    def settle(self) -> None:
        """After the last pass: room that others took meanwhile was no opportunity."""
        for a in sorted(self.missed):
            if not self._able(a):
                self.missed.discard(a)
                if self.why[a] == Why.LOCALITY_WAIT:
                    self.why[a] = self._why_no_node(a, 1)

    def follow(self, order, entity, share_room, overshoot: bool, chosen: list[tuple[int, int]]) -> None:
        """One pass, which placed ``chosen``; fails where that is not what the rules say."""
        self.entity, self.share, self.overshoot = entity, share_room.copy(), overshoot
        self.beyond = set(range(len(share_room)))
        rest = iter(chosen)
        for a in order.tolist():
            if self.left[a]:
                self._serve(a, rest)
        assert next(rest, None) is None, "more was placed than the rules allow"

    def _serve(self, a: int, rest) -> None:
        asks = self.s.asks
        self.why[a], self.detail[a] = Why.PLACED, -1
        least = int(self.left[a]) if asks.gang[a] else 1
        swept: list[int] = []
        while self.left[a]:
            begun = asks.gang[a] and self.left[a] < asks.count[a]  # what was decided for all of a gang stands
            found = None if begun else self._binding(a, least)
            if found is None and asks.gang[a]:
                self._list(a, self._able(a), -1)
                if self._units(a, self._able(a)) < self.left[a]:
                    found = self._why_no_node(a, least), -1
            valid = self._valid(a, swept) if found is None else set()
            if found is None and not valid:
                found = self._why_no_node(a, least), -1
            if found is not None:
                self.why[a], self.detail[a] = found
                return
            ask, node = next(rest)
            assert (ask, node in valid) == (a, True), f"{(ask, node)} instead of {a} on one of {valid}"
            self._take(a, node)

    # limits

    def _fits(self, room: np.ndarray, a: int, units: int = 1) -> bool:
        shape = self.s.asks.shapes[self.s.asks.shape[a]]
        return bool(((room >= shape * units) | (shape == 0)).all())

    def _binding(self, a: int, units: int):
        q = int(self.queue[a])
        while q >= 0:
            if not self._fits(self.queue_room[q], a, units):
                return Why.QUEUE_MAXIMUM, q
            q = int(self.s.queues.parent[q])
        if not self._fits(self.user_room[self.user[a]], a, units):
            return Why.USER_MAXIMUM, int(self.user[a])
        e = int(self.entity[a])
        more = units if self.overshoot and e in self.beyond else 0  # a whole gang is one unit
        if units > more and not self._fits(self.share[e], a, units - more):
            return Why.QUEUE_SHARE, -1
        return (Why.ROUND_FULL, -1) if self.batch < units else None

    def _take(self, a: int, node: int) -> None:
        shape = self.s.asks.shapes[self.s.asks.shape[a]]
        if not self._fits(self.share[self.entity[a]], a):
            self.beyond.discard(int(self.entity[a]))
        self.free[node] -= shape
        self.share[self.entity[a]] -= shape
        self.user_room[self.user[a]] -= shape
        q = int(self.queue[a])
        while q >= 0:
            self.queue_room[q] -= shape
            q = int(self.s.queues.parent[q])
        self.left[a] -= 1
        self.batch -= 1
        self.cursor = (node + 1) % len(self.free)

    # nodes

    def _able(self, a: int) -> list[int]:
        mask = self.s.asks.masks[self.s.asks.mask[a]]
        return [n for n in range(len(self.free)) if self.usable[n] and mask[n] and self._fits(self.free[n], a)]

    def _units(self, a: int, nodes, room=None) -> int:
        room, total = self.free if room is None else room, 0
        for n in nodes:
            units = 0
            while units < 99 and self._fits(room[n], a, units + 1):
                units += 1
            total += units
        return total

    def _near(self, a: int) -> tuple[list[int], list[int]]:
        asks = self.s.asks
        near = asks.near[asks.near_from[a] : asks.near_from[a + 1]].tolist()
        racks = asks.near_rack[asks.near_rack_from[a] : asks.near_rack_from[a + 1]].tolist()
        return near, racks + [int(self.s.nodes.rack[n]) for n in near]

    def level(self, a: int) -> int:
        asks, p = self.s.asks, self.policy
        near, racks = self._near(a)
        waited, missed = self.now - self.late_at[a], self.misses[a]
        mask = asks.masks[asks.mask[a]]
        node_hope = any(self.usable[n] and mask[n] and self._fits(self.s.nodes.capacity[n], a) for n in near)
        rack_hope = any(self.usable[n] and self.s.nodes.rack[n] in racks for n in range(len(self.free)))
        if asks.gang[a] or not (near or racks):
            return ANY
        past_node = not node_hope or waited >= p.node_wait_s or 0 < p.node_misses <= missed
        seconds = (p.node_wait_s if node_hope else 0) + (p.rack_wait_s if rack_hope else 0)
        times = (p.node_misses if node_hope else 0) + (p.rack_misses if rack_hope else 0)
        counted = (p.node_misses > 0 or not node_hope) and (p.rack_misses > 0 or not rack_hope)
        if waited >= seconds or (counted and missed >= times) or (past_node and not rack_hope):
            return ANY
        return RACK if past_node else NODE

    def _valid(self, a: int, swept: list[int]) -> set[int]:
        """The nodes of which any may be next. ``swept``: preferred nodes that have had one in this sweep."""
        near, racks = self._near(a)
        able = self._able(a)
        own = [(self.holds[a], self._fits(self.free[self.holds[a]], a))] if a in self.holds else []
        hoped = own + [(n, n in able) for n in near]  # in this order; a reserved node is nobody's preferred one
        if any(able_now for _, able_now in hoped):
            if not any(able_now for _, able_now in hoped[len(swept) :]):
                swept.clear()
            while not hoped[len(swept)][1]:
                swept.append(hoped[len(swept)][0])
            swept.append(hoped[len(swept)][0])
            return {swept[-1]}
        level = self.level(a)
        for rack in racks if level >= RACK else []:
            if found := self._best(a, able, rack):
                return found
        return self._best(a, able, -1) if level >= ANY else set()

    def _fill(self, a: int) -> Fill:
        return Fill(int(self.s.asks.fill[a])) if self.s.asks.fill[a] >= 0 else self.policy.fill

    def _best(self, a: int, able: list[int], rack: int) -> set[int]:
        fill = self._fill(a)
        inside = [n for n in able if rack in (-1, self.s.nodes.rack[n])]
        if fill in (Fill.PACK, Fill.FIRST_FIT):
            return set([n for n in self._list(a, able, rack) if n in inside][:1])
        score = self._emptiness if fill == Fill.SPREAD else lambda n: self._alignment(a, n)
        best = max((score(n) for n in inside), default=0)
        return {n for n in inside if score(n) == best}

    def _list(self, a: int, able: list[int], rack: int) -> list[int]:
        """Nodes in the order in which they are filled, which is fixed when it is first looked at."""
        fill, asks = self._fill(a), self.s.asks
        inside = [n for n in able if rack in (-1, self.s.nodes.rack[n])]
        kind = (int(asks.shape[a]), int(asks.mask[a]), fill, rack)
        return self.lists.setdefault(kind, self._order(inside, fill, rack))

    def _order(self, nodes: list[int], fill: Fill, rack: int) -> list[int]:
        if fill == Fill.PACK:
            return sorted(nodes, key=self._fullness)
        return nodes if rack >= 0 else sorted(nodes, key=lambda n: (n < self.cursor, n))

    def _shares(self, n: int) -> list[float]:
        return [int(f) * (1.0 / int(c)) for f, c in zip(self.free[n], self.s.nodes.capacity[n], strict=True) if c]

    def _emptiness(self, n: int) -> int:
        return int(max(min([1.0, *self._shares(n)]), 0.0) * LEVELS)

    def _fullness(self, n: int) -> int:
        return int(min(max([0.0, *self._shares(n)]), 1.0) * (BINS - 1))

    def _alignment(self, a: int, n: int) -> int:
        largest = self.s.nodes.capacity.max(axis=0, initial=1).astype(float)
        part = self.s.asks.shapes[self.s.asks.shape[a]] / largest
        direction = LEVELS * part / (part.sum() or 1.0) / largest
        product = 0.0
        for free, d in zip(self.free[n].tolist(), direction.tolist(), strict=True):
            product += max(free, 0) * d
        return int(product)

    def _why_no_node(self, a: int, units: int) -> Why:
        nodes, asks = self.s.nodes, self.s.asks
        if not nodes.open.any():
            return Why.NO_NODES
        matching = np.flatnonzero(asks.masks[asks.mask[a]])
        if self._units(a, matching, nodes.capacity) < units:
            return Why.NO_NODE_MATCHES
        able = self._able(a)
        held = self._units(a, [n for n in matching.tolist() if n in self.holds.values()])
        if asks.gang[a]:
            now = self._units(a, able)
            return Why.RESERVED if now + held >= units else Why.GANG if now else Why.NO_ROOM
        if able:
            self._list(a, able, -1)
            self.missed.add(a)
            return Why.LOCALITY_WAIT
        return Why.RESERVED if held else Why.NO_ROOM
