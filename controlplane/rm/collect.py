"""Step 1 of a round: what nodes reported, and which have fallen silent."""

import numpy as np

from controlplane.rm import drain, inbox, reclaim
from controlplane.rm.changes import Changes
from controlplane.rm.inbox import Inbox
from controlplane.rm.memory import Memory
from controlplane.rm.outcome import ENDING, end, end_lost, move
from wire.states import ContainerReason, ContainerState, NodeState

_COLUMN_MAX = 2**31 - 1  # a node may say more than the column holds


def take_statuses(m: Memory, c: Changes, positions: list[int], payloads: list[bytes | None], answered: float) -> int:
    """Take these nodes' statuses in; how many were malformed."""
    ids = m.nodes.id[positions].tolist()
    box = inbox.read(positions, ids, m.nodes.seq, payloads)
    if len(box.at):
        _heads(m, c, box, answered)
        _entries(m, c, box)
    return box.rejected


def _heads(m: Memory, c: Changes, box: Inbox, answered: float) -> None:
    n, at, h = m.nodes, box.at, box.heads
    # Of a lost node the first status this leader reads may be one from before it fell silent.
    old_news = (n.seq[at] == 0) & (n.state[at] == NodeState.LOST)
    n.seq[at], n.seen[at] = h[:, 0], answered
    n.echo_epoch[at], n.echo_generation[at] = h[:, 1], h[:, 2]
    n.policy_version[at] = h[:, 3]
    n.load[at] = h[:, 5:8]
    health = h[:, 4].astype(np.int16)
    state = np.where(health == 0, NodeState.UP, NodeState.UNHEALTHY).astype(np.int8)
    changed = ((n.state[at] != state) | (n.health[at] != health)) & (n.state[at] != NodeState.DECOMMISSIONED)
    changed &= ~old_news
    for i in np.flatnonzero(changed).tolist():
        position = int(at[i])
        if n.state[position] in (NodeState.LOST, NodeState.REGISTERED):
            m.dirty_nodes.add(position)  # it may hold containers of its former life
        n.state[position], n.health[position] = state[i], health[i]
        c.nodes[int(n.id[position])] = (int(state[i]), int(health[i]))
        m.placeable = True


def _entries(m: Memory, c: Changes, box: Inbox) -> None:
    t, e = m.containers, box.entries
    slots = t.slots_of(e["id"])
    mine = slots >= 0
    mine[mine] = t.node[slots[mine]] == box.owner[mine]  # nobody reports another node's containers
    slots, e = slots[mine], e[mine]
    t.seen_round[slots] = m.round_number
    t.echoed[slots] = True
    memory_mib = np.minimum(e["memory_mib"], _COLUMN_MAX)
    t.memory[slots], t.cpu_ms[slots], t.ran_ms[slots] = memory_mib, e["cpu_ms"], e["ran_ms"]
    news = np.flatnonzero(e["state"] > t.state[slots])
    _, first = np.unique(slots[news], return_index=True)  # a status may list a container twice
    news = news[np.sort(first)]
    over = e["state"][news] >= ContainerState.SUCCEEDED
    moved, ended = news[~over], news[over]
    move(m, c, slots[moved], e["state"][moved], e["ran_ms"][moved])
    endings = np.zeros(len(ended), ENDING)
    endings["slot"], endings["memory_mib"] = slots[ended], memory_mib[ended]
    for name in ("state", "reason", "exit_code", "ran_ms", "cpu_ms"):
        endings[name] = e[name][ended]
    drain.reasons(m, endings)
    reclaim.reasons(m, endings)
    end(m, c, endings)
    _vanished(m, c, box)


def _vanished(m: Memory, c: Changes, box: Inbox) -> None:
    """End containers their node should hold by the document it obeys, yet does not list."""
    t, n = m.containers, m.nodes
    obeys = np.zeros(len(n), np.bool_)
    obeys[box.at] = n.echo_epoch[box.at] == m.epoch
    live = np.flatnonzero(t.live)
    at = t.node[live]
    missing = obeys[at] & (t.seen_round[live] != m.round_number) & (t.added[live] > 0)
    missing &= t.added[live] <= n.echo_generation[at]
    end_lost(m, c, live[missing], ContainerReason.VANISHED)


def lose(m: Memory, c: Changes, positions: np.ndarray, state: NodeState = NodeState.LOST) -> None:
    """Declare these nodes lost (or gone for good), with everything on them."""
    if not len(positions):
        return
    for at in positions.tolist():
        m.nodes.state[at] = state
        c.nodes[int(m.nodes.id[at])] = (int(state), int(m.nodes.health[at]))
    slots, _ = m.containers.by_node(np.unique(positions))
    end_lost(m, c, slots, ContainerReason.NODE_LOST)
