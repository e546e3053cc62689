"""Step 7 of a round: desired documents for the nodes that changed, signed and complete."""

from itertools import pairwise

import numpy as np

from controlplane.rm.codec.records import DOCUMENT, LEASE, WANTED
from controlplane.rm.columns import summed
from controlplane.rm.memory.memory import Memory
from wire import desired
from wire.resources import DIVISIBLE
from wire.states import ContainerState, NodeState, Want

TEMPLATE_REFRESH_S = 6 * 3600
# Comparing a column with a member of an enumeration takes five times as long.
_LOST, _ALLOCATED = int(NodeState.LOST), int(ContainerState.ALLOCATED)
_HOLD, _RUN = int(Want.HOLD), int(Want.RUN)


class Signer:
    """Node keys by (key id, node), derived once. ``master``: the federation's lease secret."""

    def __init__(self, master: bytes, key_id: int):
        self.master, self.key_id = master, key_id
        self._keys: dict[int, desired.Key] = {}

    def key(self, node_id: int) -> desired.Key:
        found = self._keys.get(node_id)
        if found is None:
            found = self._keys[node_id] = desired.Key(desired.node_key(self.master, self.key_id, node_id))
        return found


def documents(
    m: Memory, sub: int, signer: Signer, expires_at: int, monotonic: float
) -> tuple[dict[int, bytes], dict[bytes, bytes]]:
    """(document per node id, templates that may be missing), for dirty and unheard nodes."""
    m.nodes.generation[positions(m.dirty_nodes)] += 1
    due = np.sort(positions(m.dirty_nodes | m.republish))
    due = due[m.nodes.state[due] < _LOST]
    t, generations = m.containers, m.nodes.generation[due]
    slots, starts = t.by_node(due)
    want = t.want.take(slots)
    published = want != _HOLD
    if not published.all():
        slots, want, starts = slots[published], want[published], summed(published)[starts]
    fresh = np.flatnonzero(t.added.take(slots) == 0)
    t.added[slots[fresh]] = generations[np.searchsorted(starts, fresh, side="right") - 1]
    entries = np.empty(len(slots), WANTED)
    entries["id"], entries["want"] = t.id.take(slots), want
    run = want == _RUN
    unheard = run & ~t.echoed.take(slots)
    leases = _leases(m, slots[unheard], signer.key_id, expires_at).tobytes()
    lease_starts = summed(unheard)[starts]

    heads = _heads(m, sub, due, generations, signer.key_id)
    heads["entries"], heads["leases"] = np.diff(starts), np.diff(lease_starts)
    head, packed, out = heads.tobytes(), entries.tobytes(), {}
    ends = (np.arange(len(due) + 1) * DOCUMENT.itemsize).tolist()
    e_bytes, l_bytes = (starts * WANTED.itemsize).tolist(), (lease_starts * LEASE.itemsize).tolist()
    columns = zip(heads["node"].tolist(), pairwise(ends), pairwise(e_bytes), pairwise(l_bytes), strict=True)
    for node_id, (h0, h1), (e0, e1), (l0, l1) in columns:
        key = signer.key(node_id)
        body = head[h0:h1] + packed[e0:e1]
        if l1 > l0:
            body += desired.sign_leases(leases[l0:l1], key)
        out[node_id] = body + key.mac(body)
    # One may be heard of that still waits for its template, which Redis has lost meanwhile.
    begins = run & (t.state.take(slots) == _ALLOCATED)
    return out, _templates(m, slots[begins], monotonic)


def positions(nodes: set[int]) -> np.ndarray:
    """As an array: (k,) int64. A list as an index costs numpy several times as much."""
    return np.fromiter(nodes, np.int64, len(nodes))


def _heads(m: Memory, sub: int, due: np.ndarray, generations: np.ndarray, key_id: int) -> np.ndarray:
    """What the documents of these nodes begin with, but for how much they hold: (k,) ``DOCUMENT``."""
    rows = np.zeros(len(due), DOCUMENT)
    rows["magic"], rows["version"], rows["writer"] = desired.MAGIC, desired.VERSION, desired.WRITER_RM
    rows["sub_cluster"], rows["node"], rows["epoch"], rows["generation"] = sub, m.nodes.id[due], m.epoch, generations
    rows["policy_version"], rows["key_id"] = m.queues.target, key_id
    return rows


def _leases(m: Memory, slots: np.ndarray, key_id: int, expires_at: int) -> np.ndarray:
    """Leave to start each of these containers, unsigned: (k,) ``LEASE``."""
    t, rows = m.containers, np.zeros(len(slots), LEASE)
    shared = t.shared_of(slots)
    rows["container"], rows["node"] = t.id[slots], m.nodes.id[t.node[slots]]
    rows["attempt"], rows["task"], rows["gpus"] = t.attempt[slots], t.task[slots], t.gpus[slots]
    rows["epoch"], rows["expires_at"], rows["key_id"] = m.epoch, expires_at, key_id
    for name in ("job", "group", *DIVISIBLE, "tenant", "timeout_s"):
        rows[name] = shared[name]
    rows["template"] = t.templates_of(slots)
    m.masters.own_templates(t.id[slots], rows)
    return rows


def _templates(m: Memory, slots: np.ndarray, monotonic: float) -> dict[bytes, bytes]:
    """Templates these containers need that were not put for a while, by digest."""
    if not len(slots):
        return {}
    found = {}
    _, first = np.unique(m.containers.ask[slots], return_index=True)
    for slot in slots[first].tolist():
        _, group = m.containers.owner_of(slot)
        m.need_template(group)
        if monotonic - group.published_at > TEMPLATE_REFRESH_S:
            group.published_at = monotonic
            found[group.digest] = group.template()
    return found | m.masters.templates(m.containers.id[slots])
