"""Nodes that serve one tenant at a time, because all their tasks run as one user."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from controlplane.rm.memory.view import PlanView

if TYPE_CHECKING:
    from controlplane.rm.memory.memory import Memory

FREE, MIXED = -1, -2  # in place of a tenant: nobody's yet, and of several, who are there since before


def holders(m: "Memory") -> np.ndarray:
    """Whose tasks each node serves alone: (n,) int64 tenants; ``FREE`` also where tenants do not matter."""
    found = np.full(len(m.nodes), FREE, np.int64)
    t = m.containers
    slots = np.flatnonzero(t.live)
    slots = slots[m.nodes.one_tenant[t.node[slots]]]
    nodes, tenants = t.node[slots], t.shared_of(slots)["tenant"]
    found[nodes] = tenants
    found[nodes[found[nodes] != tenants]] = MIXED
    return found


def tenants_of(m: "Memory", rows: np.ndarray) -> np.ndarray:
    """Whose these rows of the ask table are: (a,) int64."""
    found: np.ndarray = m.ledger.users.tenant[m.ledger.jobs.user[m.asks.job[rows]]]
    return found


def without_other_tenants(m: "Memory", view: PlanView, promised: Mapping[int, int]) -> PlanView:
    """The view without places on nodes that serve another tenant now.

    promised: tenants by node, who get it when it is free; until then nobody is given any more there.
    """
    if not m.nodes.one_tenant[view.nodes].any():
        return view
    held = holders(m)
    for node, who in promised.items():
        held[node] = who if held[node] in (FREE, who) else MIXED
    holder, tenant, s = held[view.nodes], tenants_of(m, view.asks), view.snapshot
    alike = np.where(np.isin(tenant, holder), tenant, FREE)  # who holds none of these nodes may use the same ones
    kinds, mask = np.unique(np.stack((s.asks.mask.astype(np.int64), alike), axis=1), axis=0, return_inverse=True)
    masks = [s.asks.masks[number] & ((holder == FREE) | (holder == who)) for number, who in kinds.tolist()]
    table = np.array(masks, np.bool_).reshape(len(kinds), len(view.nodes))
    asks = replace(s.asks, mask=mask.reshape(-1).astype(np.int32), masks=table)
    return replace(view, snapshot=replace(s, asks=asks), holder=holder)


def of_one_tenant(m: "Memory", view: PlanView, ask: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Which of these containers leave each such node to one tenant, (k,) bool; of a gang all or none.

    ask: rows of the view. node: positions in the node table. A node that two would have gets the first one's.
    """
    kept = np.ones(len(ask), np.bool_)
    alone = m.nodes.one_tenant[node]
    if not alone.any():
        return kept
    tenant = tenants_of(m, view.asks)[ask]
    first = np.full(len(m.nodes), -1, np.int64)
    at = np.flatnonzero(alone)[::-1]
    first[node[at]] = tenant[at]
    kept = ~alone | (first[node] == tenant)
    torn = np.unique(ask[~kept & view.snapshot.asks.gang[ask]])
    stays: np.ndarray = kept & ~np.isin(ask, torn)
    return stays
