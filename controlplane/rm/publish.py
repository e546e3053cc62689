"""Step 7 of a round: desired documents for the nodes that changed, signed and complete."""

import numpy as np

from controlplane.rm.memory import Memory
from wire import desired
from wire.states import NodeState, Want

_ENTRY = np.dtype([("id", "<i8"), ("want", "u1")])
assert _ENTRY.itemsize == desired.ENTRY.size
TEMPLATE_REFRESH_S = 6 * 3600


class Signer:
    """Node keys by (key id, node), derived once. ``master``: the federation's lease secret."""

    def __init__(self, master: bytes, key_id: int):
        self.master, self.key_id = master, key_id
        self._keys: dict[int, bytes] = {}

    def key(self, node_id: int) -> bytes:
        found = self._keys.get(node_id)
        if found is None:
            found = self._keys[node_id] = desired.node_key(self.master, self.key_id, node_id)
        return found


def documents(
    m: Memory, sub: int, signer: Signer, expires_at: int, monotonic: float
) -> tuple[dict[int, bytes], dict[bytes, bytes]]:
    """(document per node id, templates that may be missing), for dirty and unheard nodes."""
    due = sorted(at for at in m.dirty_nodes | m.republish if m.nodes.state[at] < NodeState.LOST)
    for at in m.dirty_nodes:
        m.nodes.generation[at] += 1
    held = m.containers.by_node(due)
    templates: dict[bytes, bytes] = {}
    out = {int(m.nodes.id[at]): _document(m, sub, at, held[at], signer, expires_at, monotonic, templates) for at in due}
    return out, templates


def _document(
    m: Memory,
    sub: int,
    at: int,
    slots: np.ndarray,
    signer: Signer,
    expires_at: int,
    monotonic: float,
    templates: dict[bytes, bytes],
) -> bytes:
    t, generation = m.containers, int(m.nodes.generation[at])
    fresh = slots[t.added[slots] == 0]
    t.added[fresh] = generation
    entries = np.empty(len(slots), _ENTRY)
    entries["id"], entries["want"] = t.id[slots], t.want[slots]
    node_id = int(m.nodes.id[at])
    key = signer.key(node_id)
    unheard = slots[~t.echoed[slots] & (t.want[slots] == Want.RUN)]
    leases = b"".join(
        _lease(m, slot, node_id, signer.key_id, key, expires_at, monotonic, templates) for slot in unheard
    )
    return desired.encode_signed(
        sub, node_id, m.epoch, generation, m.queues.version, signer.key_id, key, entries.tobytes(), leases
    )


def _lease(
    m: Memory,
    slot: int,
    node_id: int,
    key_id: int,
    key: bytes,
    expires_at: int,
    monotonic: float,
    templates: dict[bytes, bytes],
) -> bytes:
    t = m.containers
    job, group = t.job[slot], t.group[slot]
    assert job is not None and group is not None
    if monotonic - group.published_at > TEMPLATE_REFRESH_S:
        group.published_at = monotonic
        templates[group.digest] = group.template
    memory_mib, vcores_milli = group.shape[:2].tolist()
    return desired.encode_lease(
        desired.Lease(
            int(t.id[slot]),
            node_id,
            job.id,
            group.run.no,
            int(t.attempt[slot]),
            int(t.task[slot]),
            m.epoch,
            expires_at,
            memory_mib,
            vcores_milli,
            int(t.gpus[slot]),
            job.owner,
            group.timeout_s,
            key_id,
            group.digest,
        ),
        key,
    )
