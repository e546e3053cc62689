"""Planted bugs of leaders: commits, epochs and documents; what nodes report; what is counted."""

from dataclasses import replace
from typing import Any

import numpy as np

from controlplane.rm.codec import inbox
from controlplane.rm.driver import leader, liveness
from controlplane.rm.driver import round as rounds
from controlplane.rm.memory import nodes
from controlplane.rm.ports import StoreDown
from controlplane.rm.steps import collect, outcome
from simulator import commit, rows, store
from simulator.faults.planting import Real, nothing, plant
from simulator.faults.session import LeaderLease
from wire.states import ContainerState, NodeState

# Commits, epochs and documents


@plant("fence-unchecked", store.SimulatedStore, "_fence")
def _(real: Real) -> Real:
    """The fence lets every epoch pass."""
    return nothing


@plant("epoch-kept", LeaderLease, "take")
def _(real: Real) -> Real:
    """Who takes over does not raise the epoch."""

    def take(leader_lease: LeaderLease) -> int:
        leader_lease.lease.epoch = max(1, leader_lease.lease.epoch)
        leader_lease.extend()
        return leader_lease.lease.epoch

    return take


@plant("published-before-commit", rounds.Round, "_gather")
def _(real: Real) -> Real:
    """Nodes are told before the rows are written."""

    def gather(self: Any, c: Any) -> None:
        real(self, c)
        self._publish()

    return gather


@plant("commit-outcome-ignored", leader.Leader, "_round")
def _(real: Real) -> Real:
    """After a commit of unknown outcome the leader goes on with what it remembers."""

    def one(self: Any, duties: Any) -> None:
        try:
            real(self, duties)
        except StoreDown:
            self.store.broken = False

    return one


@plant("intents-gone-before-commit", rounds, "take_intents")
def _(real: Real) -> Real:
    """Intents are deleted when they are read, not with the commit."""

    def take(m: Any, held: Any, c: Any, *rest: Any) -> Any:
        real(m, held, c, *rest)
        held.own.intents = [row for row in held.own.intents if row.id not in c.intents]

    return take


@plant("generation-kept", rounds, "documents")
def _(real: Real) -> Real:
    """A document that names something else has the number of the last one."""

    def documents(m: Any, *rest: Any) -> Any:
        m.nodes.generation[sorted(m.dirty_nodes)] -= 1
        return real(m, *rest)

    return documents


@plant("not-published-again", leader.Leader, "_republish")
def _(real: Real) -> Real:
    """What a node has not echoed is not published again."""
    return nothing


@plant("lost-redis-unnoticed", rounds.Round, "lost_redis")
def _(real: Real) -> Real:
    """When Redis has lost its data, nothing is put into it again."""
    return nothing


@plant("taken-without-ask", commit, "_stands")
def _(real: Real) -> Real:
    """Nobody looks whether an ask still stands when tasks of it are started."""
    return lambda *args: True


@plant("limits-of-one", rows.Federation, "admitted_elsewhere")
def _(real: Real) -> Real:
    """What other sub-clusters run does not count against a limit that they share."""
    return lambda self, me, version, keys: dict.fromkeys(keys, 0)


# What nodes report


@plant("status-taken-twice", inbox, "read")
def _(real: Real) -> Real:
    """A status is taken whatever its number is."""
    return lambda positions, ids, known, payloads: real(positions, ids, np.zeros_like(known), payloads)


@plant("checksum-unchecked", inbox, "_intact")
def _(real: Real) -> Real:
    """A status is believed although its checksum does not match."""
    return lambda payloads, crcs: np.ones(len(payloads), np.bool_)


@plant("another-nodes-containers", collect, "_entries")
def _(real: Real) -> Real:
    """A node is believed what it says of another node's containers."""

    def entries(m: Any, held: Any, c: Any, box: Any) -> None:
        slots = m.containers.slots_of(box.entries["id"])
        real(m, held, c, replace(box, owner=np.where(slots >= 0, m.containers.node[slots], box.owner)))

    return entries


@plant("vanished-too-early", collect, "_vanished")
def _(real: Real) -> Real:
    """A container is missed in the status before the document that names it: off by one."""

    def vanished(m: Any, held: Any, c: Any, box: Any) -> None:
        m.nodes.echo_generation += 1
        real(m, held, c, box)
        m.nodes.echo_generation -= 1

    return vanished


@plant("vanished-unnoticed", collect, "_vanished")
def _(real: Real) -> Real:
    """A container that its node does not hold any more is not missed."""
    return nothing


@plant("lost-is-success", collect, "end_lost")
def _(real: Real) -> Real:
    """What is lost is told as if it had succeeded."""

    def end_lost(m: Any, c: Any, slots: np.ndarray, reason: Any) -> None:
        endings = np.zeros(len(slots), outcome.ENDING)
        endings["slot"], endings["state"] = slots, ContainerState.SUCCEEDED
        outcome.end(m, c, endings)

    return end_lost


@plant("lost-node-keeps-containers", collect, "lose")
def _(real: Real) -> Real:
    """A node is declared lost, and what it held lives on."""

    def lose(m: Any, held: Any, c: Any, positions: np.ndarray, state: Any = NodeState.LOST) -> None:
        for at in positions.tolist():
            m.nodes.state[at] = state
            c.nodes[int(m.nodes.id[at])] = (int(state), int(m.nodes.health[at]))

    return lose


@plant("lost-at-once", liveness, "lost_nodes")
def _(real: Real) -> Real:
    """A node is lost after half of the time."""
    return lambda state, seen, now, lost_s, certain_s: real(state, seen, now, lost_s / 2, certain_s)


# What is counted


@plant("ended-holds-on", outcome, "_vacate")
def _(real: Real) -> Real:
    """What an ended container held on its node stays taken."""
    return nothing


@plant("freed-twice", outcome, "_vacate")
def _(real: Real) -> Real:
    """What an ended container held is given back twice."""

    def vacate(*args: Any) -> None:
        real(*args)
        real(*args)

    return vacate


@plant("gpus-kept", nodes.NodeTable, "free_gpus")
def _(real: Real) -> Real:
    """GPUs of ended containers stay taken."""
    return nothing


@plant("gpus-shared", nodes.NodeTable, "take_gpus")
def _(real: Real) -> Real:
    """GPUs that were given away are not marked."""

    def take(self: Any, at: int, count: int) -> int:
        held = int(self.gpu_held[at])
        mask = int(real(self, at, count))
        self.gpu_held[at] = held
        return mask

    return take
