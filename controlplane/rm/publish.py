"""Step 7 of a round: desired documents for the nodes that changed, signed and complete."""

from itertools import pairwise

import numpy as np

from controlplane.rm.memory import Memory
from controlplane.rm.records import LEASE, WANTED
from wire import desired
from wire.states import NodeState, Want

TEMPLATE_REFRESH_S = 6 * 3600


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
    due = np.array(sorted(m.dirty_nodes | m.republish), np.int64)
    due = due[m.nodes.state[due] < NodeState.LOST]
    m.nodes.generation[list(m.dirty_nodes)] += 1
    t, generations = m.containers, m.nodes.generation[due]
    slots, starts = t.by_node(due)
    fresh = t.added[slots] == 0
    t.added[slots[fresh]] = np.repeat(generations, np.diff(starts))[fresh]
    entries = np.empty(len(slots), WANTED)
    entries["id"], entries["want"] = t.id[slots], t.want[slots]
    unheard = ~t.echoed[slots] & (t.want[slots] == Want.RUN)
    leases = _leases(m, slots[unheard], signer.key_id, expires_at).tobytes()
    lease_starts = np.r_[0, np.cumsum(unheard)][starts]

    packed, out = entries.tobytes(), {}
    e_bytes, l_bytes = (starts * WANTED.itemsize).tolist(), (lease_starts * LEASE.itemsize).tolist()
    columns = zip(m.nodes.id[due].tolist(), generations.tolist(), pairwise(e_bytes), pairwise(l_bytes), strict=True)
    for node_id, generation, (e0, e1), (l0, l1) in columns:
        key = signer.key(node_id)
        out[node_id] = desired.encode_signed(
            sub, node_id, m.epoch, generation, m.queues.version, signer.key_id, key, packed[e0:e1],
            desired.sign_leases(leases[l0:l1], key),
        )  # fmt: skip
    return out, _templates(m, slots[unheard], monotonic)


def _leases(m: Memory, slots: np.ndarray, key_id: int, expires_at: int) -> np.ndarray:
    """Leave to start each of these containers, unsigned: (k,) ``LEASE``."""
    t, rows = m.containers, np.zeros(len(slots), LEASE)
    shared = t.shared[t.ask[slots]]
    rows["container"], rows["node"] = t.id[slots], m.nodes.id[t.node[slots]]
    rows["attempt"], rows["task"], rows["gpus"] = t.attempt[slots], t.task[slots], t.gpus[slots]
    rows["epoch"], rows["expires_at"], rows["key_id"] = m.epoch, expires_at, key_id
    for name in ("job", "group", "memory_mib", "vcores_milli", "tenant", "timeout_s", "template"):
        rows[name] = shared[name]
    return rows


def _templates(m: Memory, slots: np.ndarray, monotonic: float) -> dict[bytes, bytes]:
    """Templates these containers need that were not put for a while, by digest."""
    found = {}
    _, first = np.unique(m.containers.ask[slots], return_index=True)
    for slot in slots[first].tolist():
        _, group = m.containers.owner_of(slot)
        if monotonic - group.published_at > TEMPLATE_REFRESH_S:
            group.published_at = monotonic
            found[group.digest] = group.template
    return found
