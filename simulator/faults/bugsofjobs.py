"""Planted bugs of job masters, of jobs that span sub-clusters, and of nodes."""

import hmac
from dataclasses import replace
from typing import Any

import numpy as np

from controlplane.rm.steps import amrmproxy, guests, outcome, planning, remote
from nodemanager import containers, core, events, lifecycle
from scheduler.lifecycle import group, job
from scheduler.lifecycle.guest import UNLOWERED
from simulator import commit
from simulator.faults import agent
from simulator.faults.planting import Real, nothing, plant
from wire import desired
from wire.states import ContainerState, GroupState, TaskState

# Job masters


@plant("attempt-kept", group.GroupRun, "_next")
def _(real: Real) -> Real:
    """A task that is tried again keeps the number of its attempt."""

    def chosen(self: Any, k: int) -> Any:
        repeats = list(self.to_retry)[:k]
        indices, _ = real(self, k)
        self.launches[repeats] = np.maximum(self.launches[repeats] - 1, 1)
        return indices, self.launches[indices]

    return chosen


@plant("success-forgotten", group.GroupRun, "restore")
def _(real: Real) -> Real:
    """A new leader starts again what has succeeded."""

    def restore(self: Any, index: int, state: int, failures: int, launches: int) -> None:
        real(self, index, TaskState.PENDING if state == TaskState.SUCCEEDED else state, failures, launches)

    return restore


@plant("groups-open-early", job, "open_groups")
def _(real: Real) -> Real:
    """A group begins when the first task of those it waits for has succeeded."""

    def open_groups(run: Any) -> None:
        done = {g.no for g in run.groups if g.succeeded}
        for each in run.groups:
            if each.state == GroupState.WAITING and done.issuperset(each.after):
                each.become(GroupState.PENDING)

    return open_groups


@plant("kill-forgets-delayed", group.GroupRun, "halt")
def _(real: Real) -> Real:
    """A killed job's starts that wait for their back-off start all the same."""

    def halt(self: Any) -> None:
        self.next_fresh = self.count
        self.to_retry.clear()

    return halt


@plant("pause-not-forgiven", commit, "_forgive")
def _(real: Real) -> Real:
    """When a pause is ended the task's row keeps its failures, so that with the next leader it pauses on."""
    return nothing


@plant("stop-untold", outcome, "_stop_all")
def _(real: Real) -> Real:
    """Nodes are not told to stop a killed job's containers."""

    def stop_all(m: Any, *rest: Any) -> None:
        dirty = set(m.dirty_nodes)
        real(m, *rest)
        m.dirty_nodes = dirty

    return stop_all


@plant("given-up-early", group.GroupRun, "_verdict")
def _(real: Real) -> Real:
    """A task is given up one failure too early."""

    def verdict(self: Any, e: Any, stopping: Any) -> Any:
        self.retries -= 1
        found = real(self, e, stopping)
        self.retries += 1
        return found

    return verdict


@plant("gang-in-parts", planning.Planner, "_place")
def _(real: Real) -> Real:
    """The last container that a plan places is left for the next round."""

    def place(self: Any, c: Any, plan: Any, view: Any) -> None:
        self.m.placeable = True
        part = slice(0, max(1, len(plan.place.ask) - 1))
        real(
            self,
            c,
            replace(plan, place=replace(plan.place, ask=plan.place.ask[part], node=plan.place.node[part])),
            view,
        )

    return place


# Jobs that span


@plant("taken-back-at-once", remote, "recall")
def _(real: Real) -> Real:
    """What is asked back is started elsewhere before the other side has agreed."""

    def recall(c: Any, entry: Any, of: Any, sub: int, keep: int = 0) -> None:
        real(c, entry, of, sub, keep)
        handed = of.remote[sub]
        job.returned(entry.run, of.run, handed.tasks(handed.wish, handed.target)[0])

    return recall


@plant("ended-and-kept", guests, "end")
def _(real: Real) -> Real:
    """Who is told that a job has ended with asks it has not read keeps in mind what waited."""
    return nothing


@plant("given-back-and-kept", guests, "_apply_ask")
def _(real: Real) -> Real:
    """A sub-cluster gives back what it was asked for, and starts it."""

    def apply_ask(m: Any, c: Any, entry: Any, row: Any) -> None:
        real(m, c, entry, row)
        if row.wish < row.target:
            entry.groups[row.group_no].run.handed = guests._handed(row._replace(wish=UNLOWERED))

    return apply_ask


@plant("reports-dropped", remote, "_events")
def _(real: Real) -> Real:
    """Of what a report tells only the first is taken in."""
    return lambda m, held, c, entry, sub, events: real(m, held, c, entry, sub, events[:1])


@plant("ends-unreported", outcome, "report")
def _(real: Real) -> Real:
    """A job's home does not hear of what has ended elsewhere."""

    def report(c: Any, t: Any, entry: Any, of: Any, events: np.ndarray) -> None:
        if events["state"][0] == ContainerState.ALLOCATED:
            real(c, t, entry, of, events)

    return report


@plant("away-forgotten", remote, "restore")
def _(real: Real) -> Real:
    """A new leader does not know what its predecessor has handed over."""
    return nothing


@plant("whole-gang-split", amrmproxy, "_whole")
def _(real: Real) -> Real:
    """One task of a gang that is handed over stays at home."""

    def whole(count: int, *rest: Any) -> np.ndarray:
        parts: np.ndarray = real(count, *rest)
        parts[1:] = np.maximum(parts[1:] - 1, 0)
        return parts

    return whole


# Nodes


@plant("absent-is-empty", agent.Agent, "_document")
def _(real: Real) -> Real:
    """A node that finds no document takes it for an empty one."""

    def document(self: Any, answer: bytes | None, now: float) -> None:
        if answer is None:
            empty = desired.Desired(
                desired.WRITER_RM,
                self.machine.sub,
                self.machine.node,
                self.core.epoch,
                self.core.generation + 1,
                0,
                {},
                {},
            )
            self.dispatch(events.DesiredRead(empty, now, self.clock.wall_s))
        else:
            real(self, answer, now)

    return document


@plant("old-document-obeyed", core.HANDLERS, events.DesiredRead)
def _(real: Real) -> Real:
    """A node obeys a document although it knows a newer one."""

    def on_desired(self: Any, event: Any) -> None:
        self.epoch = self.generation = 0
        real(self, event)

    return on_desired


@plant("signature-unchecked", hmac, "compare_digest")
def _(real: Real) -> Real:
    """Nobody looks at a document's signature."""
    return lambda one, other: True


@plant("running-begun-again", core.Core, "_entry")
def _(real: Real) -> Real:
    """A lease is taken once more although its container is known."""

    def entry(self: Any, doc: Any, cid: int, want: int, event: Any) -> None:
        if want == 1 and cid in doc.leases:
            self.containers.pop(cid, None)
        real(self, doc, cid, want, event)

    return entry


@plant("restart-adopts-nothing", core.HANDLERS, events.RuntimeListed)
def _(real: Real) -> Real:
    """After a restart the agent does not look at what its supervisor holds."""
    return lambda self, event: real(self, replace(event, containers=[]))


@plant("exit-code-dropped", containers, "terminal_state")
def _(real: Real) -> Real:
    """However a command has ended, it has succeeded."""
    return lambda verdict, how: real(verdict, replace(how, code=0, signal=0))


@plant("ends-forgotten-early", core.Core, "_end")
def _(real: Real) -> Real:
    """A node forgets an end when it has reported it once."""

    def end(self: Any, container: Any, *rest: Any, **more: Any) -> None:
        container.omitted = True
        real(self, container, *rest, **more)

    return end


@plant("stopping-is-ended", core, "container_report")
def _(real: Real) -> Real:
    """A container that is being stopped is told to have ended."""

    def report(c: Any) -> Any:
        reported = real(c)
        return replace(reported, state=ContainerState.KILLED) if c.phase is lifecycle.Phase.STOPPING else reported

    return report
