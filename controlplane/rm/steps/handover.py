"""Nodes that serve one tenant at a time change hands, however much its tenant has to run there.

A tenant who has waited for room for ``TURN_S``, and holds no such node of the partition, is promised the one on which
the fewest containers run: its holder is given no more there, and when the last has ended the next tenant gets it.
Nothing is stopped. A promise lives in the leader's memory alone; a new leader makes it again when as long has passed.
"""

from dataclasses import dataclass, field

import numpy as np

from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.tenancy import tenants_of, without_other_tenants
from controlplane.rm.memory.view import PlanView
from scheduler.core.plan import Refusal, Why

TURN_S = 30.0
FOR_ROOM = (Why.NO_ROOM, Why.RESERVED)  # of gangs nobody knows whether one node would do


@dataclass(slots=True)
class Handover:
    """Of one partition. since: when each tenant without such a node was first kept waiting; promised: by node."""

    since: dict[int, float] = field(default_factory=dict)
    promised: dict[int, int] = field(default_factory=dict)

    def view(self, m: Memory, view: PlanView) -> PlanView:
        """The view without places on nodes of another tenant, or promised to another."""
        return without_other_tenants(m, view, self.promised)

    def look(self, m: Memory, view: PlanView, refused: Refusal | None, now: float) -> None:
        """What follows from a plan of that view, which has placed nothing yet for those it ``refused``."""
        if view.holder is None:
            self.since, self.promised = {}, {}
            return
        waiting = self._waiting(m, view, refused)
        in_vain = {who for node, who in self.promised.items() if view.holder[view.nodes == node].tolist() == [who]}
        self.since = {who: now if who in in_vain else self.since.get(who, now) for who in waiting}
        self.promised = {n: who for n, who in self.promised.items() if who in waiting and who not in in_vain}
        for who, asks in waiting.items():
            if now - self.since[who] >= TURN_S and who not in self.promised.values():
                self._promise(m, view, who, np.array(asks))

    def _waiting(self, m: Memory, view: PlanView, refused: Refusal | None) -> dict[int, list[int]]:
        """Asks of the view that wait for room, of tenants who hold no such node: by tenant."""
        found: dict[int, list[int]] = {}
        if refused is None:
            return found
        asks = refused.ask[np.isin(refused.why, FOR_ROOM)]
        asks = asks[~view.snapshot.asks.gang[asks]]
        holders = set(m.containers.shared_of(_alone(m, view))["tenant"].tolist())
        for ask, who in zip(asks.tolist(), tenants_of(m, view.asks[asks]).tolist(), strict=True):
            if who not in holders:
                found.setdefault(who, []).append(ask)
        return found

    def _promise(self, m: Memory, view: PlanView, who: int, asks: np.ndarray) -> None:
        """The node on which one of these asks would fit alone, and where the fewest containers run."""
        s, row = view.snapshot, view.asks[asks]
        usable = np.zeros(len(view.nodes), np.bool_)
        for ask, mask in zip(asks.tolist(), m.asks.mask[row].tolist(), strict=True):
            fits = (s.nodes.capacity >= s.asks.shapes[s.asks.shape[ask]]).all(axis=1)
            usable |= fits & m.mask(m.asks.masks[int(mask)])[view.nodes]
        usable &= s.nodes.open & m.nodes.one_tenant[view.nodes]
        usable &= ~np.isin(view.nodes, list(self.promised))
        if usable.any():
            at = np.flatnonzero(usable)
            best = at[np.argmin(m.nodes.containers[view.nodes[at]])]
            self.promised[int(view.nodes[best])] = who


def _alone(m: Memory, view: PlanView) -> np.ndarray:
    """Slots of the containers on nodes of the view that serve one tenant at a time."""
    t = m.containers
    slots = np.flatnonzero(t.live)
    return slots[m.nodes.one_tenant[t.node[slots]] & np.isin(t.node[slots], view.nodes)]
