"""What application masters are told: each thing once, numbered without gaps by their home.

Where a container runs in another sub-cluster, that one's RM says what is to be
told in a report, in the transaction that did it, and the home numbers it in
the one that takes the report in.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from controlplane.rm.changes import ENDED, Changes
from controlplane.rm.columns import records
from controlplane.rm.memory.application import MASTER, Application
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Bus, BusDown
from controlplane.rm.steps.outcome import STATES
from wire.ids import format_container
from wire.states import ContainerReason, ContainerState, Want, reported_exit, terminal

MasterEvent = tuple[int, int, str, dict[str, Any]]  # number of the group, microseconds, kind, body


def emit(m: Memory, c: Changes) -> None:
    """What this round did to containers of applications becomes events for their masters."""
    mm = m.masters
    c.master_groups, mm.upserts = mm.upserts, {}
    if not mm.jobs:
        m.forget_launches(list(mm.launches))
        return
    if c.transitions:
        steps = np.concatenate(c.transitions)
        _steps(m, c, steps)
        m.forget_launches(steps["container"][steps["new"] >= int(ContainerState.SUCCEEDED)].tolist())
    _warnings(m, c)


def _steps(m: Memory, c: Changes, steps: np.ndarray) -> None:
    mm = m.masters
    steps = steps[np.isin(steps["job"], list(mm.jobs)) & (steps["group"] != MASTER)]
    if not len(steps):
        return
    ended = np.concatenate(c.ended) if c.ended else np.empty(0, ENDED)
    ends = {cid: (reason, began_us > 0) for cid, reason, began_us in records(ended, "id", "reason", "started_us")}
    names = ("container", "job", "group", "task", "old", "new", "exit_code", "node")
    for cid, job_id, no, task, old, new, exit_code, node in records(steps, *names):
        job = mm.jobs[job_id]
        group = job.groups[no]
        body: dict[str, Any] = {"container": format_container(cid), "ask": group.run.name, "index": task}
        if cid in mm.launches:
            body["tag"] = mm.launches[cid].tag
        if old < 0:
            place = m.nodes.rows[m.nodes.index[node]]
            body |= {"node": place.name, "rack": place.rack, "launch": group.held}
            if group.held:
                mm.open_grants.setdefault(cid, c.at_us / 1e6 + mm.grant_s)
                body["expires_in_s"] = mm.grant_s
            _event(c, job, group, "granted", body, c.at_us)
        elif new == ContainerState.RUNNING:
            _event(c, job, group, "started", body, c.at_us)
        elif terminal(new):
            why, began = ends.get(cid, (0, False))
            reason = ContainerReason(why)
            body |= {"state": STATES[new].name, "exit_code": reported_exit(new, reason, began, exit_code)}
            if mm.lost:
                body["message"] = mm.lost
            _event(c, job, group, "ended", body | {"reason": reason.name if reason else None}, c.at_us)
            mm.warned.discard(cid)


def receive(c: Changes, job: JobEntry, events: Iterable[MasterEvent]) -> None:
    """What another sub-cluster has to tell the job's master."""
    for no, at_us, kind, body in events:
        _event(c, job, job.groups[no], kind, body, at_us)


def _warnings(m: Memory, c: Changes) -> None:
    mm = m.masters
    if not (m.warned or mm.warned):
        return
    grace_s = m.queues.components.preemption.parameters.grace_s
    for cid in m.warned.keys() ^ mm.warned:
        slot = int(m.containers.slots_of(np.array([cid]))[0])
        job, group = m.containers.owner_of(slot) if slot >= 0 else (None, None)
        if job is None or group is None or job.id not in mm.jobs or group.run.no == MASTER:
            mm.warned.discard(cid)
            continue
        body = {"container": format_container(cid), "ask": group.run.name, "index": int(m.containers.task[slot])}
        if cid in m.warned:
            mm.warned.add(cid)
            warning = body | {"message": m.warned[cid], "stops_in_s": grace_s}
            _event(c, job, group, "warned", warning, c.at_us)
        else:
            mm.warned.discard(cid)
            if m.containers.want[slot] != Want.STOP:
                _event(c, job, group, "spared", body, c.at_us)


def _event(c: Changes, job: JobEntry, group: GroupEntry, kind: str, body: dict[str, Any], at_us: int) -> None:
    """One event more. Its home numbers it, and counts grants: those of several sub-clusters come in any order."""
    app: Application = job.application  # type: ignore[assignment]
    if job.home:
        c.home_events.setdefault(job.id, []).append((group.run.no, at_us, kind, body))
        c.homes.add(job.home)
        return
    if kind == "granted":
        group.granted += 1
        body = body | {"granted": group.granted}
        c.granted[job.id, group.run.no] = group.granted
    app.last_event += 1
    c.master_events.append((job.id, app.last_event, at_us, kind, body))


def announce(bus: Bus, c: Changes) -> None:
    """Wake those that listen for their masters. Without this hint they look again within seconds."""
    if c.master_events:
        try:
            bus.notify_masters({event[0] for event in c.master_events})
        except BusDown:
            pass
