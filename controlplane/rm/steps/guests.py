"""Jobs at home elsewhere that have handed tasks to this sub-cluster.

The ask's row is where it is settled what was started: the round that starts
tasks moves ``taken`` in its own transaction, and fails as a whole when the ask
was lowered meanwhile. What becomes of them goes to the home as reports.
"""

from controlplane.rm.changes import Changes
from controlplane.rm.memory.jobs import GroupEntry, JobEntry, guest_entry, guest_run, take_service
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.rows import AskRow, JobRow
from controlplane.rm.steps import masters, services
from controlplane.rm.steps.reports import touched
from scheduler.lifecycle.guest import GuestRun, HandedTasks
from wire.states import Want

BATCH = 500


def take_asks(m: Memory, store: Store, c: Changes, log_max_bytes: int) -> bool:
    """Take in what was handed to us or asked back since; whether there is more."""
    rows = store.unread_asks(BATCH)
    unknown = {row.job_id for row in rows} - m.jobs.keys()
    jobs, _ = masters.complete(store.jobs(sorted(unknown)), store)
    known = {row.id: row for row in jobs}
    masters.join_guests(m, store, rows)
    for row in rows:
        job = m.jobs.get(row.job_id)
        if job is not None and job.home and job.revision != row.revision:
            _revise(m, job, store.jobs([job.id]), log_max_bytes)
        job = job or _add_guest(m, known.get(row.job_id), log_max_bytes)
        # One that has moved here asks for itself.
        if job is not None and job.home and row.group_no < len(job.groups):
            _apply_ask(m, c, job, row)
    if rows:
        m.placeable = True
    return len(rows) >= BATCH


def _add_guest(m: Memory, row: JobRow | None, log_max_bytes: int) -> JobEntry | None:
    """A guest from its job's row; its home has refused what cannot be read."""
    if row is None:
        return None
    job = guest_entry(row, log_max_bytes)
    m.add_job(job)
    return job


def _revise(m: Memory, job: JobEntry, rows: list[JobRow], log_max_bytes: int) -> None:
    """Its home runs another revision: what begins here from now on is of that."""
    for row in rows:
        fresh = guest_entry(row, log_max_bytes)
        job.revision = fresh.revision
        for group, other in zip(job.groups, fresh.groups, strict=True):
            m.revise(job, group, other)


def _apply_ask(m: Memory, c: Changes, job: JobEntry, row: AskRow) -> None:
    """One ask as its row says it now."""
    group = job.groups[row.group_no]
    handed, run = _handed(row), guest_run(group)
    handed.taken = max(handed.taken, run.handed.taken)
    run.handed, group.ask_version, job.home = handed, row.version, row.home_id
    if row.priority != job.priority:
        m.reprioritise(job, row.priority)
    if row.queue != job.queue:
        m.move(job, row.queue)
    take_service(group, row.service)
    m.unjudged[job.id] = None
    services.stop_due(m, group)
    if row.halt:
        stop(m, group)
    if handed.lowering:
        handed.lowered(handed.wish)
        c.lowered.append((job.id, group.run.no, handed.target))
    m.stale.add((job.id, group.run.no))
    touched(c, job, group)


def stop(m: Memory, group: GroupEntry) -> None:
    """Stop what runs of the group here."""
    slots = list(group.slots)
    m.containers.want[slots] = Want.STOP
    m.dirty_nodes.update(m.containers.node[slots].tolist())


def end(m: Memory, c: Changes, job: JobEntry) -> None:
    """Its home has ended the job, and with it asks that we have not read since: nothing of it waits here."""
    for group in job.groups:
        run = guest_run(group)
        run.handed.lowered(run.handed.taken)
        m.stale.add((job.id, group.run.no))
        touched(c, job, group)


def take_over(m: Memory, job: JobEntry) -> None:
    """A new leader has taken over the guest's containers."""
    for group in job.groups:
        if isinstance(group.run, GuestRun) and not group.run.handed.wish:
            stop(m, group)
        services.stop_due(m, group)
    forget_idle(m, job)


def _handed(row: AskRow) -> HandedTasks:
    wish = 0 if row.halt else row.wish
    return HandedTasks.of_row(row.base, row.target, row.taken, wish, row.work)


def separate(m: Memory, c: Changes, explained: dict[tuple[int, int], GroupEntry]) -> dict[tuple[int, int], GroupEntry]:
    """Of guests nothing but asks and reports is written; those that have nothing left here are forgotten.

    explained: groups whose reason to wait has changed; those that are no guests.
    """
    if not m.guests:
        return explained
    theirs = {key for key in (*c.groups, *explained) if (job := m.jobs.get(key[0])) is not None and job.home}
    m.stale |= theirs
    for key in theirs:
        c.groups.pop(key, None)
        if key in explained:
            touched(c, m.jobs[key[0]], explained[key])
    for job in {key[0]: m.jobs[key[0]] for key in c.guests}.values():
        forget_idle(m, job)
    return {key: group for key, group in explained.items() if key not in theirs}


def forget_idle(m: Memory, job: JobEntry) -> None:
    """Forget a guest that has nothing here any more; it comes back with its next ask."""
    if not any(group.slots or group.run.wanted for group in job.groups):
        m.forget(job)


def restored(rows: list[AskRow], jobs: dict[int, JobRow], log_max_bytes: int) -> dict[int, JobEntry]:
    """Guests as the rows of their asks say (a new leader's rebuild). jobs: their rows, by id."""
    found: dict[int, JobEntry] = {}
    for row in rows:
        if row.job_id not in jobs:
            continue
        job = found.get(row.job_id)
        if job is None:
            job = found[row.job_id] = guest_entry(jobs[row.job_id], log_max_bytes)
        group = job.groups[row.group_no]
        guest_run(group).handed, group.ask_version = _handed(row), row.acknowledged
        take_service(group, row.service)
    return found
