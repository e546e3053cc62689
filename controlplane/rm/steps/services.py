"""Services while they run: how many tasks they keep, and which of these start again.

What was asked last stands in the job's row, and what has to stop follows from it and from the containers there are: a
new leader, and a sub-cluster that runs some of the tasks for another, stop the same ones. Asking twice changes
nothing, and what comes late is known by its time, or by the attempts it names.
"""

from collections.abc import Callable, Collection
from typing import Any

from controlplane.rm.changes import Changes
from controlplane.rm.memory.jobs import GroupEntry, JobEntry, named_tasks
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.steps import moving, remote
from controlplane.rm.steps.outcome import emit_event
from scheduler.lifecycle.restarting import Attempt, attempts, is_last, lives
from wire.counts import counted
from wire.states import JobState, Want

LOOK_US = 1_000_000  # between two looks at what serves, while tasks restart one after the other
Json = dict[str, Any]


def scale(m: Memory, store: Store, c: Changes, job: JobEntry, asked: Json) -> None:
    """Keep so many tasks of a group running, or tell the owner why it stays as it is.

    More are asked for as those of a new job would be; of fewer the highest indices stop. asked: ``group`` (its
    number), ``count``, ``by`` whom, and when (``asked_us``): what was asked before that is known changes nothing.
    """
    group = _group_of(job, asked)
    if group is None or asked["asked_us"] <= group.asked_us:
        return
    group.asked_us = asked["asked_us"]
    c.services[job.id] = job
    before, count = group.run.count - group.standing_in, int(asked["count"])
    if count == before:
        return
    if why := _resize(m, store, job, group, count + group.standing_in):
        emit_event(c, job, "not_scaled", f"{group.run.name} stays at {counted(before, 'task')}: {why}")
        return
    emit_event(
        c, job, "scaled", f"{group.run.name} from {counted(before, 'task')} to {count:,}, asked for by {asked['by']}"
    )
    carry_out(m, c, job, group)


def _group_of(job: JobEntry, asked: Json) -> GroupEntry | None:
    no = asked["group"]
    known = not job.home and not job.run.stopping and no < len(job.groups) and job.groups[no].run.service
    return job.groups[no] if known else None


def _resize(m: Memory, store: Store, job: JobEntry, group: GroupEntry, count: int) -> str:
    """Why the group may not have so many tasks, or nothing, and it has. Its job waits, or counts, as it is then."""
    before = group.run.count
    if why := refused(m, store, job, lambda: group.run.scale(count), lambda: group.run.scale(before)):
        return why
    m.admission_queue.leave(job)
    group.run.scale(count)
    m.unjudged[job.id] = None
    m.admission_queue.enter(job, known=True)
    return ""


def refused(m: Memory, store: Store, job: JobEntry, change: Callable[[], None], undo: Callable[[], None]) -> str:
    """Why what is admitted may not want more by this change, or nothing; as it was before in any case."""
    needed = m.admission_queue.needs(job)
    change()
    wanted = m.admission_queue.needs(job)
    undo()
    if job.run.state == JobState.SUBMITTED:
        return ""
    return moving.claim(m, store, {at: n - needed.get(at, 0) for at, n in wanted.items() if n > needed.get(at, 0)})


def stand_in(m: Memory, store: Store, c: Changes, job: JobEntry, group: GroupEntry, count: int) -> None:
    """Have so many tasks more than the service's own, the last ones, which serve while those restart."""
    if count == group.standing_in:
        return
    if why := _resize(m, store, job, group, group.run.count - group.standing_in + count):
        emit_event(c, job, "not_surged", f"nothing stands in for {group.run.name}: {why}")
        return
    group.standing_in, group.asked_us = count, max(1, group.asked_us)  # others are told, also when they are to end
    c.services[job.id] = job


def restart(m: Memory, c: Changes, job: JobEntry, asked: Json) -> None:
    """Stop these attempts, gracefully, so that their tasks start again; one after the other if it is asked so.

    asked: ``group``, ``attempts`` as ``restarting.runs`` has them, ``one_by_one``, ``by`` whom. Tasks that pause since
    theirs has ended start now, all at once. Attempts that others have followed are left out.
    """
    group = _group_of(job, asked)
    named = [a for a in attempts(asked["attempts"]) if is_last(group.run, a)] if group else []
    if group is None or not named:
        return
    if asked["one_by_one"] and job.rollout is not None:
        emit_event(c, job, "not_restarted", f"revision {job.revision} is still being rolled out; ask again then")
        return
    before, known = group.restarts.named, [a for a in named if lives(group.run, a)]
    told = before if asked["one_by_one"] else set(group.restarts.now)
    over = end_pauses(c, job, group, {task for task, _ in named})
    if over or known:
        group.restarts.add(over, one_by_one=False)
        group.restarts.add(known, asked["one_by_one"])
        group.restarts.by = asked["by"]
        c.services[job.id] = job
        carry_out(m, c, job, group)
    _tell(c, job, group, over, [a for a in known if a not in told], asked)
    if not (over or known or before.issuperset(named)):
        tasks = named_tasks(group.run.name, [task for task, _ in named])
        emit_event(c, job, "not_restarted", f"nothing of {tasks} runs or pauses now; what waits starts by itself")


def end_pauses(c: Changes, job: JobEntry, group: GroupEntry, tasks: Collection[int]) -> list[Attempt]:
    """Let those of these tasks that pause start now, their failures forgotten; which these are, with the attempts that
    have ended. The caller carries it out."""
    over = group.run.end_pauses(tasks)
    c.forgiven += [(job.submitted_on, job.id, group.run.no, index) for index in over]
    return [(index, int(group.run.launches[index])) for index in over]


def _tell(c: Changes, job: JobEntry, group: GroupEntry, over: list[Attempt], news: list[Attempt], asked: Json) -> None:
    """over: of tasks that paused; news: attempts that are to end from now on."""
    one_by_one = ", one after the other" * (asked["one_by_one"] and len(news) > 1)
    for found, how in ((over, ", without the rest of the pause"), (news, one_by_one)):
        if found:
            tasks = named_tasks(group.run.name, [task for task, _ in found])
            emit_event(c, job, "restart", f"{tasks} to start again{how}: {asked['by']}")


def carry_out(m: Memory, c: Changes, job: JobEntry, group: GroupEntry) -> None:
    """Stop here what has to stop, take back what waits elsewhere, and let others look at what they run."""
    key = job.id, group.run.no
    stop_due(m, group)
    if group.restarts:
        m.restarting[key] = job, group
    for sub, handed in group.remote.items():
        ahead, _ = handed.tasks(handed.taken, handed.target)
        wrong = group.restarts.unsure or any(map(group.run.surplus, ahead.tolist()))
        if handed.waiting and not handed.lowering and wrong:
            remote.recall(c, job, group, sub)
        else:
            c.hand(job, group, sub)
    m.stale.add(key)
    c.groups[key] = group
    m.placeable = True


def stop_due(m: Memory, group: GroupEntry) -> None:
    """Stop what runs here of a service and is beyond its tasks, or is to start again."""
    if not group.slots:
        return
    t, due = m.containers, set(group.restarts.stopping)
    for slot in group.slots:
        task, attempt = int(t.task[slot]), int(t.attempt[slot])
        if t.want[slot] != Want.STOP and (group.run.surplus(task) or (task, attempt) in due):
            t.want[slot] = Want.STOP
            m.dirty_nodes.add(int(t.node[slot]))


def resume(m: Memory, job: JobEntry) -> None:
    """A new leader has taken the service's containers over."""
    for group in job.groups:
        if group.asked_us or group.restarts:
            stop_due(m, group)
        if group.restarts:
            m.restarting[job.id, group.run.no] = job, group
    if job.rollout is not None:
        m.rolling[job.id] = job


def go_on(m: Memory, store: Store, c: Changes) -> None:
    """Let the next task restart where the one before it serves again."""
    if not m.restarting or c.at_us < m.restarts_due_us:
        return
    m.restarts_due_us = c.at_us + LOOK_US
    for key, (job, _) in list(m.restarting.items()):
        if m.jobs.get(job.id) is not job or job.run.stopping:
            del m.restarting[key]
    serving = _serving(m, store, c.at_us)
    for key, (job, group) in list(m.restarting.items()):
        there = serving.get(key, set())
        _widen(m, store, c, job, group, there)
        if group.restarts.advance(group.run, lambda task, attempt, there=there: (task, attempt) in there):  # type: ignore[misc]
            c.services[job.id] = job
            carry_out(m, c, job, group)
        if not group.restarts:
            del m.restarting[key]
            if job.rollout is not None:
                continue
            emit_event(c, job, "restarted", f"{group.run.name}: all that was asked for has started again{_but(group)}")


def _but(group: GroupEntry) -> str:
    """What is to be told beside it: how many tasks of the group do not run, for whatever reason."""
    idle = group.run.idle
    return f", but {counted(idle, 'task does', 'tasks do')} not run now" if idle else ""


def _widen(m: Memory, store: Store, c: Changes, job: JobEntry, group: GroupEntry, there: set[Attempt]) -> None:
    """As many more of a roll-out's tasks may be down as others stand in for.

    Where nothing but room is left to be waited for, who stands in makes some.
    """
    if job.rollout is None or group.run.no not in job.rollout.groups:
        return
    run, queue = group.run, group.restarts.queue
    if group.standing_in and group.reason and run.to_retry and not any(lives(run, attempt) for attempt in queue):
        stand_in(m, store, c, job, group, group.standing_in - 1)
        carry_out(m, c, job, group)
    first, named = group.run.count - group.standing_in, group.restarts.named
    width = job.rollout.width(sum(first <= task < run.count for task, _ in there - named))
    if width != group.restarts.width:
        group.restarts.width = width
        c.services[job.id] = job
        carry_out(m, c, job, group)


def _serving(m: Memory, store: Store, now_us: int) -> dict[tuple[int, int], set[Attempt]]:
    """By group, the attempts that run and, where their group has a health check, passed it.

    Without one, those of another revision count once they have run for a while.
    """
    jobs = {key[0] for key, (_, group) in m.restarting.items() if group.restarts.queue}
    found: dict[tuple[int, int], set[Attempt]] = {}
    for row in store.serving(sorted(jobs)) if jobs else ():
        key = row.job_id, row.group_no
        if key not in m.restarting:
            continue
        job, group = m.restarting[key]
        least_us = 0 if group.checked or job.rollout is None else job.rollout.rules.min_ready_s * 1e6
        if (row.healthy or not group.checked) and now_us - row.started_us >= least_us:
            found.setdefault(key, set()).add((row.task, row.attempt))
    return found
