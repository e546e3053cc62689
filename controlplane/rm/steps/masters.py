"""Application masters that tenants bring: what they ask for, what they launch, and what they are told.

Everything they want is rows of web's; an intent only says which to read. So an
intent that comes twice changes nothing, and a new leader reads the rows.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import structlog

from contract import stored
from controlplane.rm.changes import Changes
from controlplane.rm.memory.application import MASTER, Application, Launch
from controlplane.rm.memory.jobs import GroupEntry, JobEntry, group_entry, make_guest
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.rows import AskRow, IntentRow, JobRow, LaunchRow, MasterAskRow, Wanted
from controlplane.rm.steps import remote, verdicts
from controlplane.rm.steps.outcome import ENDING, apply_instructions, end
from scheduler.lifecycle import job as master
from wire.ids import parse_container
from wire.states import ContainerReason, ContainerState, JobState, Want, terminal

log = structlog.get_logger(__name__)


def complete(rows: list[JobRow], store: Store) -> tuple[list[JobRow], Wanted]:
    """Jobs with the groups that their masters have asked for since, and what these want (a new leader's rebuild)."""
    wanted = store.masters(sorted(row.id for row in rows if row.kind == "application"))
    groups: dict[int, list[dict[str, Any]]] = {}
    for ask in wanted.asks:
        counts = {"count": max(ask.target, ask.started), "target": ask.target}
        groups.setdefault(ask.job_id, []).append(ask.spec | counts)
    return [_with_groups(row, groups[row.id]) if row.id in groups else row for row in rows], wanted


def _with_groups(row: JobRow, more: list[dict[str, Any]]) -> JobRow:
    return row._replace(spec=row.spec | {"groups": [*row.spec["groups"], *more]})


def restore(m: Memory, wanted: Wanted, theirs: Wanted) -> None:
    """What the memory holds of masters beside groups and containers. Jobs that were ending end with the next round.

    theirs: of jobs that are at home elsewhere.
    """
    mm, t = m.masters, m.containers
    for row in (*wanted.launches, *theirs.launches):
        job = mm.jobs.get(row.job_id)
        slot = int(t.slots_of(np.array([row.container_id]))[0])
        if job is not None and slot >= 0:
            m.launch(row.container_id, _launch(job, t.owner_of(slot)[1], row.spec))
    for job in mm.jobs.values():
        for group in job.groups[MASTER + 1 :]:
            if not job.home:
                mm.upserts[job.id, group.run.no] = group
            for slot in group.slots if group.held else ():
                cid = int(t.id[slot])
                if cid not in mm.launches and t.want[slot] == Want.RUN:
                    t.want[slot], mm.open_grants[cid] = Want.HOLD, t.allocated_us[slot] / 1e6 + mm.grant_s
    _restore_sessions(m, wanted)


def _restore_sessions(m: Memory, wanted: Wanted) -> None:
    """What masters of jobs that are at home here were told, and whether they were finishing."""
    mm = m.masters
    for ask in wanted.asks:
        if ask.job_id in mm.jobs:
            group = mm.jobs[ask.job_id].groups[ask.no]
            begun = group.run.claimed - int(group.run.remote.sum())
            group.granted = begun if ask.granted is None else ask.granted
    for row in wanted.sessions:
        job = mm.jobs.get(row.job_id)
        if job is not None and job.application is not None:
            job.application.last_event = row.last_event
            if row.verdict is not None:
                mm.resuming.append(row)
            elif terminal(job.groups[MASTER].run.state):
                mm.resuming.append(row._replace(verdict=JobState.SUCCEEDED))


def take(m: Memory, store: Store, c: Changes, intents: list[IntentRow]) -> None:
    """Carry out what masters want. intents: of any kind; others are left alone."""
    mine = [i for i in intents if i.kind in ("master", "containers") and i.job_id in m.masters.jobs]
    if not mine:
        return
    at_home = {i.job_id: job for i in mine if not (job := m.masters.jobs[i.job_id]).home}
    known = {job.id: len(job.groups) for job in at_home.values()}
    asks = [(i.job_id, no) for i in mine if i.job_id in at_home for no in i.payload.get("asks", ())]
    launches = [cid for i in mine for cid in _numbers(i.payload.get("launched", ()))]
    ending = [i.job_id for i in mine if i.payload.get("finished") and i.job_id in at_home]
    wanted = store.some_masters(known, asks, launches, ending)
    for ask in wanted.asks:
        _ask(m, c, m.masters.jobs[ask.job_id], ask)
    for launch in wanted.launches:
        _start(m, launch)
    for intent in mine:
        _release(m, m.masters.jobs.get(intent.job_id), _numbers(intent.payload.get("release", ())))
    verdicts.apply(m, c, wanted.sessions)


def _numbers(containers: Any) -> list[int]:
    return [parse_container(text) for text in containers]


def _ask(m: Memory, c: Changes, job: JobEntry, row: MasterAskRow) -> None:
    """One ask as its row says it now: a group more, or another count."""
    no, app = row.no, job.application
    if job.run.stopping or app is None or no > len(job.groups):
        return
    if no == len(job.groups):
        group = _group(app, job, row)
        if group is None:
            return
        master.join(job.run, group.run)
        m.enlist(job, group)
    else:
        group = job.groups[no]
        group.run.resize(row.target)
        remote.shrink(c, job, group)
    m.masters.upserts[job.id, no] = group
    m.stale.add((job.id, no))
    c.groups[job.id, no] = group


def _group(app: Application, job: JobEntry, row: MasterAskRow) -> GroupEntry | None:
    """The job's next group, as an ask's row says; None where that cannot be read."""
    try:
        spec = stored.group(row.spec | {"count": row.target})
        group = group_entry(app.identity, row.no, spec, {}, app.log_max_bytes)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        log.exception("an ask cannot be read", job=job.id, ask=row.no)  # one job must not stop the sub-cluster
        return None
    job.groups.append(group)
    app.specs.append(spec)
    return group


def join_guests(m: Memory, store: Store, rows: list[AskRow]) -> None:
    """Groups that masters of guests have asked for since the guests came. rows: of what was handed to us."""
    known = {}
    for row in rows:
        job = m.masters.jobs.get(row.job_id)
        if job is not None and job.home and row.group_no >= len(job.groups):
            known[job.id] = len(job.groups)
    for ask in store.some_masters(known, [], [], []).asks if known else ():
        job = m.masters.jobs[ask.job_id]
        app: Application = job.application  # type: ignore[assignment]
        if ask.no == len(job.groups) and (group := _group(app, job, ask)) is not None:
            make_guest(group)
            job.run.groups.append(group.run)
            m.enlist(job, group)


def _start(m: Memory, row: LaunchRow) -> None:
    """A granted container learns what it is to run. Once: a second row of it cannot be."""
    t, cid = m.containers, row.container_id
    slot = int(t.slots_of(np.array([cid]))[0])
    if slot < 0 or t.want[slot] != Want.HOLD:
        return
    job, group = t.owner_of(slot)
    if job.id == row.job_id and not job.run.stopping:
        m.launch(cid, _launch(job, group, row.spec))
        m.masters.open_grants.pop(cid, None)
        t.want[slot] = Want.RUN
        m.dirty_nodes.add(int(t.node[slot]))


def _launch(job: JobEntry, group: GroupEntry, spec: dict[str, Any]) -> Launch:
    app: Application = job.application  # type: ignore[assignment]
    no = group.run.no
    full = replace(stored.launched(app.specs[no], spec), count=group.run.count)
    made = group_entry(app.identity, no, full, {}, app.log_max_bytes)
    return Launch(made.template(), made.digest, made.timeout_s, spec.get("tag", ""))


def _release(m: Memory, job: JobEntry | None, containers: list[int]) -> None:
    """Containers of the job that its master does not want any more."""
    t = m.containers
    for slot in t.slots_of(np.array(containers, np.int64)).tolist():
        if slot >= 0 and t.owner_of(slot)[0] is job and t.owner_of(slot)[1].run.no != MASTER:
            t.want[slot] = Want.STOP
            m.dirty_nodes.add(int(t.node[slot]))


def enforce_deadlines(m: Memory, c: Changes) -> None:
    """Take back grants that nobody used or that are to stop, and stop masters that have finished but do not end."""
    mm, t, now = m.masters, m.containers, c.at_us / 1e6
    verdicts.apply(m, c, mm.resuming)
    mm.resuming = []
    if mm.open_grants:
        ids = np.fromiter(mm.open_grants, np.int64, len(mm.open_grants))
        slots, due = t.slots_of(ids), np.fromiter(mm.open_grants.values(), np.float64, len(mm.open_grants))
        stopped = (slots >= 0) & (t.want[slots] == Want.STOP)
        gone = stopped | ((slots >= 0) & (due <= now))
        for cid in ids[gone | (slots < 0)].tolist():
            del mm.open_grants[cid]
        endings = np.zeros(int(gone.sum()), ENDING)
        endings["slot"], endings["state"] = slots[gone], ContainerState.KILLED
        endings["reason"] = np.where(stopped[gone], ContainerReason.STOPPED, ContainerReason.UNUSED)
        end(m, c, endings)
    for job in list(mm.jobs.values()):
        app = job.application
        if app is not None and 0 < app.leave_us <= c.at_us:
            app.leave_us = 0
            apply_instructions(m, c, job, [master.StopAll()])
