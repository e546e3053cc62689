"""Planted bugs of what operators and the GPG do: nodes that leave, jobs that move, nodes to avoid, shares."""

from typing import Any

from controlplane.rm.changes import Changes
from controlplane.rm.memory import view
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.nodes import NodeTable
from controlplane.rm.steps import intake, moving, rehoming
from simulator import commit
from simulator.faults.planting import Real, nothing, plant
from simulator.faults.world import World
from simulator.rows import Federation, SubCluster
from wire.states import NodeState


@plant("left-and-kept", intake, "lose")
def _(real: Real) -> Real:
    """What runs on a node that leaves for good is not lost."""
    return nothing


@plant("left-and-used", NodeTable, "put")
def _(real: Real) -> Real:
    """A node that has left for good is one like any other."""

    def put(self: Any, row: Any, seen: float = 0.0) -> int:
        return int(real(self, row._replace(revoked=False), seen))

    return put


@plant("gone-at-once", World, "retire")
def _(real: Real) -> Real:
    """Operators write that a node is gone while what runs there still stands in the rows, until its leader looks."""

    def retire(self: World, node: int) -> None:
        row = self.rows.subs[self.machines[node].sub].nodes[node]
        real(self, node)
        row["state"] = int(NodeState.DECOMMISSIONED)

    return retire


@plant("moved-and-counted", Memory, "_charge_all")
def _(real: Real) -> Real:
    """What a job holds is counted in its new queue, and in the old one."""

    def charge(self: Memory, job: Any, sign: int) -> None:
        if sign > 0:
            real(self, job, sign)

    return charge


@plant("moved-past-limit", moving, "_claim")
def _(real: Real) -> Real:
    """An admitted job moves into a queue that runs as many as it may."""
    return lambda *args: ""


@plant("moved-though-begun", rehoming, "_movable")
def _(real: Real) -> Real:
    """A job that its home could never hold gets another one whatever of it has begun or was handed over."""
    return lambda c, job: job.id not in c.jobs and job.application is None


@plant("moved-half", commit, "_rehome")
def _(real: Real) -> Real:
    """A job that gets another home stays admitted, though its new home has not admitted it."""

    def rehome(rows: Federation, own: SubCluster, c: Changes) -> None:
        before = {job: rows.jobs[job]["state"] for job in c.rehomed}
        real(rows, own, c)
        for job, state in before.items():
            rows.jobs[job]["state"] = state

    return rehome


@plant("avoids-all-that-holds", view, "_hold")
def _(real: Real) -> Real:
    """A job avoids where it failed, also what alone is large enough for it."""
    return lambda m, nodes, rows: len(nodes) > 0
