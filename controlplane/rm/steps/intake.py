"""Step 2 of a round, its impure half: what web wants of this RM, from the intent table."""

from typing import Any

import numpy as np
import structlog

from controlplane.rm.changes import Changes
from controlplane.rm.memory import windows
from controlplane.rm.memory.jobs import GroupEntry, JobEntry, entry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.memory.nodes import R
from controlplane.rm.memory.queues import QueueTree
from controlplane.rm.ports import Store
from controlplane.rm.rows import IntentRow, JobRow
from controlplane.rm.steps import guests, masters, moving, remote, revisions, services
from controlplane.rm.steps.collect import lose
from controlplane.rm.steps.outcome import apply_instructions, emit_event
from scheduler.lifecycle import job as master
from scheduler.lifecycle.group import GroupRun
from scheduler.lifecycle.job import JobRun
from wire.labels import LabelError
from wire.states import JobState, NodeState

BATCH = 1000  # intents that a round takes at most
TO_HOMES = ("kill", "priority", "move", "scale", "restart", "update")  # what is wanted of a job
ELSEWHERE_US = 30_000_000  # between two looks at the nodes of other sub-clusters
log = structlog.get_logger(__name__)


def take_intents(
    m: Memory, store: Store, c: Changes, intents: list[IntentRow], log_max_bytes: int, answered: float
) -> None:
    """Carry these out, which stand in the order in which they were asked for."""
    if not intents:
        _look_elsewhere(m, store, c)
        return
    # A submit seen twice, or one that a former leader has taken already, changes nothing.
    wanted = [i.job_id for i in intents if i.kind == "submit" and i.job_id not in m.jobs]
    rows = {row.id: row for row in store.jobs(wanted)}
    for intent in intents:
        _apply_intent(m, store, c, intent, rows, log_max_bytes)
        c.intents.append(intent.id)
    _moved_here(m, store, c, intents)
    masters.take(m, store, c, intents)
    changed = {i.node_id for i in intents if i.kind == "node"}
    if changed:
        registered = {i.node_id for i in intents if i.kind == "node" and "duty" not in i.payload}
        _nodes_changed(m, store, c, changed, registered, answered)
    if any(i.kind == "maintenance" for i in intents):
        windows.take(m.nodes, store.windows())
    m.outdated |= any(i.kind == "adopt" for i in intents)
    if any(i.kind == "policy" for i in intents):
        _policy_changed(m, store)
    _look_elsewhere(m, store, c)
    m.placeable = True


def _moved_here(m: Memory, store: Store, c: Changes, intents: list[IntentRow]) -> None:
    """What is wanted of jobs that have moved here is left to the leader whose memory has them."""
    # What ends in this round is still live by its row.
    odd = {job for job in c.strayed if job not in c.jobs or not c.jobs[job].finished_us}
    unknown = store.at_home(odd) if odd else set()
    if unknown:
        m.outdated = True
        left = {i.id for i in intents if i.job_id in unknown and i.kind in (*TO_HOMES, "master")}
        c.intents = [number for number in c.intents if number not in left]


def _apply_intent(
    m: Memory, store: Store, c: Changes, intent: IntentRow, rows: dict[int, JobRow], log_max_bytes: int
) -> None:
    job = m.jobs.get(intent.job_id)
    if job is not None and job.home and intent.kind in TO_HOMES:
        if "ended" in intent.payload:
            guests.end(m, c, job)
            return
        job = None  # it has another home
    match intent.kind:
        case "submit":
            row = rows.pop(intent.job_id, None)
            if row is not None and row.state == JobState.SUBMITTED:
                _submit(m, c, row, log_max_bytes)
        case "kill" if job is not None:
            message = intent.payload.get("message") or "killed on request"
            emit_event(c, job, "kill", message)
            apply_instructions(m, c, job, master.kill(job.run, message))
        case "priority" if job is not None:
            m.reprioritise(job, int(intent.payload["priority"]))
            remote.update_asks(c, job)
            c.jobs[job.id] = job
        case "scale" if job is not None:
            services.scale(m, store, c, job, intent.payload)
        case "restart" if job is not None:
            services.restart(m, c, job, intent.payload)
        case "update" if job is not None:
            revisions.update(m, store, c, job, intent.payload, log_max_bytes)
        case "master" if job is None or job.home:
            c.strayed.add(intent.job_id)
        case kind if kind in TO_HOMES and job is None:
            c.strayed.add(intent.job_id)  # it may have got another home meanwhile
        case "move" if job is not None:
            moving.move(m, store, c, job, str(intent.payload["queue"]))


def _submit(m: Memory, c: Changes, row: JobRow, log_max_bytes: int) -> None:
    try:
        job = entry(row, log_max_bytes)
    except LabelError as error:
        _refuse(c, row, f"node_labels cannot be read: {error}")
        return
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # one job must not stop the sub-cluster
        log.exception("a job cannot be read", job=row.id)
        _refuse(c, row, f"the stored specification cannot be read: {error!r}; submit it again")
        return
    m.add_job(job)
    c.jobs[job.id] = job
    for group in job.groups:
        c.groups[job.id, group.run.no] = group
    if job.waiting_row < 0:  # no limit concerns it
        job.admitted_us = c.at_us
        apply_instructions(m, c, job, master.admit(job.run))


def _refuse(c: Changes, row: JobRow, message: str) -> None:
    """End a job that can never run, without keeping it or believing its specification."""
    groups = [_unread(no, g) for no, g in enumerate(row.spec.get("groups", ()))]
    run = JobRun(row.id, [g.run for g in groups])
    job = JobEntry(run, groups, row.owner_id, row.queue, row.priority, row.submitted_at.date())
    master.reject(run, message)
    c.end(job)
    for group_entry in job.groups:
        group_entry.finished_us = c.at_us
        c.groups[job.id, group_entry.run.no] = group_entry


def _unread(no: int, spec: Any) -> GroupEntry:
    count = spec.get("count") if isinstance(spec, dict) else None
    run = GroupRun(no, f"{no}", count if isinstance(count, int) and count > 0 else 1, 0, ())
    return GroupEntry(run, np.zeros(R, np.int64), bytes, 0)


def _nodes_changed(
    m: Memory, store: Store, c: Changes, changed: set[int], registered: set[int], answered: float
) -> None:
    """Take in what was registered (again) or changed; of what was revoked the containers are lost."""
    gone = []
    for row in store.nodes():
        if row.id not in changed:
            continue
        at = m.nodes.put(row, answered)
        if row.id in registered:
            m.nodes.seq[at] = 0  # it may have been installed anew
            m.nodes.seen[at] = answered
            m.dirty_nodes.add(at)
        if m.nodes.state[at] == NodeState.DECOMMISSIONED:
            gone.append(at)
    lose(m, store, c, np.array(gone, np.int64), NodeState.DECOMMISSIONED)


def _policy_changed(m: Memory, store: Store) -> None:
    version, rows = store.queues()
    m.take_queues(QueueTree(version, rows, store.policy(version)))


def _look_elsewhere(m: Memory, store: Store, c: Changes) -> None:
    """What other sub-clusters have, now and then and for each new policy: limits are shares of the whole federation."""
    queues = m.queues
    if c.at_us - queues.shared_out_us < ELSEWHERE_US:
        return
    before, queues.shared_out_us = queues.elsewhere, c.at_us
    queues.share_out(store.elsewhere(singly=bool(queues.partitions)))
    if any((queues.elsewhere[name][i] != sides[i]).any() for name, sides in before.items() for i in range(2)):
        m.placeable = True
