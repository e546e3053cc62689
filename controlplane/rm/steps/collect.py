"""Step 1 of a round: what nodes reported, and which have fallen silent."""

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.codec import inbox
from controlplane.rm.codec.inbox import ENTRIES, Inbox
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.steps import drain, reclaim, verdicts
from controlplane.rm.steps.outcome import ENDING, end, end_lost, move
from wire.states import ContainerReason, ContainerState, NodeState
from wire.status import MAX_ENTRIES

STARTS_AT_ONCE = 64  # in a round, all of which are written at once
YOUNG_MS = 2000
_COLUMN_MAX = 2**31 - 1  # a node may say more than the column holds
# Comparing a column with a member of an enumeration takes five times as long.
_RUNNING, _SUCCEEDED = int(ContainerState.RUNNING), int(ContainerState.SUCCEEDED)
_REGISTERED, _UP, _UNHEALTHY = int(NodeState.REGISTERED), int(NodeState.UP), int(NodeState.UNHEALTHY)
_LOST, _DECOMMISSIONED = int(NodeState.LOST), int(NodeState.DECOMMISSIONED)


def take_statuses(
    m: Memory, store: Store, c: Changes, positions: list[int], payloads: list[bytes | None], answered: float
) -> int:
    """Take these nodes' statuses in; how many were malformed."""
    ids = m.nodes.id[positions].tolist()
    box = inbox.read(positions, ids, m.nodes.seq, payloads)
    if len(box.at):
        _heads(m, c, box, answered)
        _entries(m, store, c, box)
    return box.rejected


def _heads(m: Memory, c: Changes, box: Inbox, answered: float) -> None:
    n, at, h = m.nodes, box.at, box.heads
    # Of a lost node the first status this leader reads may be one from before it fell silent.
    old_news = (n.seq[at] == 0) & (n.state[at] == _LOST)
    n.seq[at], n.seen[at] = h[:, 0], answered
    n.echo_epoch[at], n.echo_generation[at] = h[:, 1], h[:, 2]
    n.record_policy_version(at, h[:, 3], c.at_us)
    n.load[at] = h[:, 5:8]
    health = h[:, 4].astype(np.int16)
    state = np.where(health == 0, _UP, _UNHEALTHY).astype(np.int8)
    changed = ((n.state[at] != state) | (n.health[at] != health)) & (n.state[at] != _DECOMMISSIONED)
    changed &= ~old_news
    for i in np.flatnonzero(changed).tolist():
        position = int(at[i])
        if n.state[position] in (_LOST, _REGISTERED):
            m.dirty_nodes.add(position)  # it may hold containers of its former life
        n.state[position], n.health[position] = state[i], health[i]
        c.nodes[int(n.id[position])] = (int(state[i]), int(health[i]))
        m.placeable = True


def _entries(m: Memory, store: Store, c: Changes, box: Inbox) -> None:
    t, e = m.containers, box.entries
    slots = t.slots_of(e["id"])
    mine = (slots >= 0) & (t.node[slots] == box.owner)  # nobody reports another node's containers
    if not mine.all():
        known = np.flatnonzero(mine)  # which picks records out several times as fast as a mask
        slots, e = slots.take(known), e.take(known)
    t.seen_round[slots] = m.round_number
    t.echoed[slots] = True
    memory_mib = np.minimum(e["memory_mib"], _COLUMN_MAX)
    t.memory[slots], t.cpu_ms[slots], t.ran_ms[slots] = memory_mib, e["cpu_ms"], e["ran_ms"]
    news = np.flatnonzero(e["state"] > t.state[slots])
    _, first = np.unique(slots[news], return_index=True)  # a status may list a container twice
    news = news[np.sort(first)]
    over = e["state"][news] >= _SUCCEEDED
    moved, ended = _not_young(m, e, slots, news[~over]), news[over]
    move(m, c, slots[moved], e["state"][moved], e["ran_ms"][moved])
    endings = np.zeros(len(ended), ENDING)
    endings["slot"], endings["memory_mib"] = slots[ended], memory_mib[ended]
    for name in ("state", "reason", "exit_code", "ran_ms", "cpu_ms"):
        endings[name] = e[name][ended]
    drain.reasons(m, endings)
    reclaim.reasons(m, endings)
    verdicts.apply_for_containers(m, store, c, endings["slot"])
    end(m, c, endings)
    _vanished(m, store, c, box)


def _not_young(m: Memory, e: np.ndarray, slots: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Of these steps those that are worth a row now.

    Where many containers start at once, most are of short tasks and over before anybody has looked: their start is
    known from their end. One that runs on is told by a later status, of which a node sends one every heartbeat.
    """
    if len(moved) <= STARTS_AT_ONCE:
        return moved
    shared = m.containers.shared_of(slots[moved])
    young = (e["state"][moved] == _RUNNING) & (e["ran_ms"][moved] < YOUNG_MS) & ~shared["service"]
    if m.masters.jobs:  # application masters wait for theirs
        young &= ~np.isin(shared["job"], list(m.masters.jobs))
    written: np.ndarray = moved[~young]
    return written


def _vanished(m: Memory, store: Store, c: Changes, box: Inbox) -> None:
    """End containers their node should hold by the document it obeys, yet does not list.

    A status that is full may leave some out, and so proves nothing.
    """
    t, n = m.containers, m.nodes
    applied = np.zeros(len(n), np.bool_)
    applied[box.at] = (n.echo_epoch[box.at] == m.epoch) & (box.heads[:, ENTRIES] < MAX_ENTRIES)
    # Whole columns first: of what is left there are few, and picking rows out costs most.
    unseen = np.flatnonzero(t.live & applied[t.node] & (t.seen_round != m.round_number))
    added = t.added[unseen]
    missing = (added > 0) & (added <= n.echo_generation[t.node[unseen]])
    _lost(m, store, c, unseen[missing], ContainerReason.VANISHED)


def lose(m: Memory, store: Store, c: Changes, positions: np.ndarray, state: NodeState = NodeState.LOST) -> None:
    """Declare these nodes lost (or gone for good), with everything on them."""
    if not len(positions):
        return
    for at in positions.tolist():
        m.nodes.state[at] = state
        c.nodes[int(m.nodes.id[at])] = (int(state), int(m.nodes.health[at]))
    slots, _ = m.containers.by_node(np.unique(positions))
    _lost(m, store, c, slots, ContainerReason.NODE_LOST)


def _lost(m: Memory, store: Store, c: Changes, slots: np.ndarray, reason: ContainerReason) -> None:
    verdicts.apply_for_containers(m, store, c, slots)
    end_lost(m, c, slots, reason)
