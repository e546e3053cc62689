"""Tasks of jobs at home here that other sub-clusters start: handing over, asking back, and what became of them."""

import numpy as np

from controlplane.rm.changes import TASK, Changes
from controlplane.rm.memory.application import MASTER
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.rows import HandedRow
from controlplane.rm.steps import masterevents, verdicts
from controlplane.rm.steps.outcome import TaskRows, apply_instructions, conclude
from controlplane.rm.steps.reports import EVENT
from scheduler.lifecycle import job as master
from scheduler.lifecycle.guest import HandedTasks
from wire.states import ContainerState, TaskState

BATCH = 2000


def hand_over(m: Memory, c: Changes, job: JobEntry, group: GroupEntry, sub: int, k: int) -> None:
    """Let another sub-cluster start the group's next ``k`` tasks."""
    handed = group.remote.setdefault(sub, HandedTasks())
    handed.append(*group.run.hand_over(k))
    master.handed_over(job.run, k)
    c.hand(job, group, sub)
    m.stale.add((job.id, group.run.no))
    m.spanning.add((job.id, group.run.no))


def recall(c: Changes, job: JobEntry, group: GroupEntry, sub: int, keep: int = 0) -> None:
    """Ask for what waits there, but for ``keep`` tasks. It comes back once that sub-cluster has agreed."""
    handed = group.remote[sub]
    handed.wish = handed.taken + keep
    c.hand(job, group, sub)


def shrink(c: Changes, job: JobEntry, group: GroupEntry) -> None:
    """Ask back what waits elsewhere of a master's ask beyond its target; with what is being asked back that comes."""
    coming = sum(h.target - max(h.wish, h.taken) for h in group.remote.values() if h.lowering)
    surplus = group.run.claimed - group.run.target - coming
    for sub, handed in group.remote.items():
        back = min(surplus, handed.waiting)
        if back > 0 and not handed.lowering:
            recall(c, job, group, sub, keep=handed.waiting - back)
            surplus -= back


def update_asks(c: Changes, job: JobEntry) -> None:
    """The job's priority or queue has changed: where tasks of it wait, its rows are to be read again."""
    for group in job.groups:
        for sub in group.remote:
            c.hand(job, group, sub)


def take_reports(m: Memory, store: Store, c: Changes) -> bool:
    """Take in what other sub-clusters say of our jobs; whether there is more."""
    rows = store.reports(BATCH)
    misdirected = []
    for row in rows:
        job = m.jobs.get(row.job_id)
        if job is None or job.home:
            misdirected.append(row.id)
            continue
        if row.group_no is not None and row.target is not None:
            returned(m, c, job, job.groups[row.group_no], row.sub_cluster_id, row.target)
        else:
            events = np.frombuffer(row.events, EVENT)
            _events(m, store, c, job, row.sub_cluster_id, events)
            masterevents.receive(c, job, row.master_events or ())
        c.reports_read.append(row.id)
    if misdirected:  # of jobs that live elsewhere by now
        store.forward_reports(misdirected)
    return len(rows) >= BATCH


def returned(m: Memory, c: Changes, job: JobEntry, group: GroupEntry, sub: int, target: int) -> None:
    """A sub-cluster, or the row of an ask that nobody serves, says which target stands now.

    What has been wished since it was asked is wished again.
    """
    handed = group.remote.get(sub)
    if handed is None or not handed.lowering:
        return  # a former leader asked for it, and the row has told this one already
    index, _ = handed.lowered(target)
    apply_instructions(m, c, job, master.returned(job.run, group.run, index))
    if job.run.stopping and handed.waiting and group.run.no != job.kept:
        recall(c, job, group, sub)
    if group.run.open_ended and not job.run.stopping:
        m.masters.upserts[job.id, group.run.no] = group
        shrink(c, job, group)
    m.stale.add((job.id, group.run.no))
    m.placeable = True


def _events(m: Memory, store: Store, c: Changes, job: JobEntry, sub: int, events: np.ndarray) -> None:
    began = events["state"] == ContainerState.ALLOCATED
    for no in np.unique(events["group"]).tolist():
        of_group = events["group"] == no
        _begun(c, job, job.groups[no], sub, events[of_group & began])
        if (of_group & ~began).any():
            if no == MASTER:
                verdicts.apply_for_jobs(m, store, c, [job.id])
            _ended(m, c, job, job.groups[no], events[of_group & ~began])


def _begun(c: Changes, job: JobEntry, group: GroupEntry, sub: int, events: np.ndarray) -> None:
    if not len(events):
        return
    handed = group.remote.get(sub)
    if handed is not None:
        handed.taken = min(handed.target, handed.taken + len(_record_begun(c, job, group, events)))
    first_us = int(events["at_us"].min())
    group.started_us = group.started_us or first_us
    if not job.started_us:
        c.begin(job, first_us)
    c.groups[job.id, group.run.no] = group


def _record_begun(c: Changes, job: JobEntry, group: GroupEntry, events: np.ndarray) -> np.ndarray:
    """Attempts began elsewhere; the tasks of which that is news."""
    before = job.run.state
    news = master.begun(job.run, group.run, events["task"])
    if job.run.state != before:
        c.jobs[job.id] = job
    return news


def _ended(m: Memory, c: Changes, job: JobEntry, group: GroupEntry, events: np.ndarray) -> None:
    """Attempts that ended elsewhere, where their containers' rows are written; here those of their tasks."""
    _record_begun(c, job, group, events)  # one that a rebuild found waiting
    events = events[np.argsort(events["state"] != ContainerState.SUCCEEDED, kind="stable")]
    tasks = np.zeros(len(events), TASK)
    tasks["submitted_on"], tasks["job"], tasks["group"] = job.day, job.id, group.run.no
    tasks["index"], tasks["container"] = events["task"], events["container"]
    tasks["exit_code"], tasks["finished_us"] = events["exit_code"], c.at_us
    task_rows = TaskRows()
    instructions = conclude(m, c, job, group, events, tasks["index"], task_rows)
    task_rows.write(c, tasks)
    apply_instructions(m, c, job, instructions)
    m.placeable = True


def restore(jobs: dict[int, JobEntry], store: Store) -> None:
    """What was handed over by former leaders (a rebuild): tasks that wait, run, or have ended unread elsewhere.

    Read in the order in which a task moves on, so that none is missed; one that
    is seen twice counts once.
    """
    mine = [job.id for job in jobs.values()]
    for row in store.remote_asks(mine):
        _restore_ask(jobs[row.job_id].groups[row.group_no], jobs[row.job_id], row)
    asking = [job.id for job in jobs.values() if any(g.remote for g in job.groups)]
    for running in store.remote_containers(asking):
        group = jobs[running.job_id].groups[running.group_no]
        _restore_running(jobs[running.job_id], group, running.task, running.attempt)
    for report in store.reports(1 << 30):
        events = np.frombuffer(report.events, EVENT)
        job = jobs.get(report.job_id)
        if job is not None:
            for e in events[events["state"] >= ContainerState.SUCCEEDED]:
                _restore_running(job, job.groups[int(e["group"])], int(e["task"]), int(e["attempt"]))


def _restore_ask(group: GroupEntry, job: JobEntry, row: HandedRow) -> None:
    handed = HandedTasks.of_row(row.base, row.target, row.taken, row.wish, row.work)
    handed.prune()
    group.reach(int(handed.index.max(initial=-1)) + 1)
    group.remote[row.sub_cluster_id] = handed
    group.run.adopt_remote(handed.index, handed.attempt)
    job.run.live += len(handed.index)


def _restore_running(job: JobEntry, group: GroupEntry, task: int, attempt: int) -> None:
    run = group.run
    group.reach(task + 1)
    run.cover(task + 1)
    known = run.task_state[task] == TaskState.RUNNING
    if known and not run.remote[task]:
        return
    run.adopt(task, attempt)
    job.run.live += not known
