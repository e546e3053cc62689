"""A service rolls over to another revision of what its tasks run, and back by itself when that does not serve.

The job's row has the specification in force, what was before it, and how far the roll-out is. So a new leader goes on
where the last one was; whose round was not committed has changed nothing.
"""

from typing import Any

import numpy as np
import structlog

from controlplane.rm.changes import Changes
from controlplane.rm.memory.jobs import GroupEntry, JobEntry, entry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.rows import JobRow
from controlplane.rm.steps import services
from controlplane.rm.steps.outcome import emit_event
from scheduler.lifecycle.restarting import Restarts, living
from scheduler.lifecycle.rollout import Rollout, RolloutRules
from wire.counts import counted

KEPT = 10  # revisions of a job
CLUSTER = "the cluster"  # takes back what has failed
Json = dict[str, Any]
log = structlog.get_logger(__name__)


def update(m: Memory, store: Store, c: Changes, job: JobEntry, asked: Json, log_max: int) -> None:
    """Roll another specification out, or tell the owner why not.

    asked: the ``revision`` that is known to whoever asks, ``spec`` and its ``size`` as stored, ``rules``, ``by`` whom,
    ``back``: the number of the revision that it was, None of a new one, and ``changes``, in words.
    """
    if job.home or job.run.stopping or not job.groups[0].run.service:
        return
    if asked["revision"] != job.revision:
        emit_event(
            c, job, "not_updated", f"{asked['by']} knew revision {asked['revision']}; {job.revision} is in force"
        )
        return
    if job.rollout is not None and asked["back"] != job.rollout.previous:
        emit_event(c, job, "not_updated", f"revision {job.revision} is still being rolled out")
        return
    history = _history(store, job)
    if job.rollout is not None:
        history[-1]["outcome"] = f"rolled back: {asked['by']}"
    _begin(m, store, c, job, history, asked, log_max)


def _history(store: Store, job: JobEntry) -> list[Json]:
    """The job's revisions, the one in force last; a job that was never updated has one."""
    if known := store.revisions(job.id):
        return known
    (row,) = store.jobs([job.id])
    return [_revision(1, job.submitted_us, row.username, row.spec, 0)]


def _revision(number: int, at_us: int, by: str, spec: Json, size: int) -> Json:
    return {"revision": number, "at_us": at_us, "by": by, "outcome": "", "back": None, "size": size, "spec": spec}


def _begin(m: Memory, store: Store, c: Changes, job: JobEntry, history: list[Json], asked: Json, log_max: int) -> None:
    (row,) = store.jobs([job.id])
    fresh = _made(row, asked["spec"], log_max)
    if fresh is None or len(fresh.groups) != len(job.groups):
        emit_event(c, job, "not_updated", "the new specification cannot be read")
        return
    back = asked["back"] is not None
    changed = [group for group, new in zip(job.groups, fresh.groups, strict=True) if not _alike(group, new)]
    if not back and (why := _refused(m, store, job, changed, fresh)):
        emit_event(c, job, "not_updated", why)
        return
    number, previous, rules = job.revision + 1, job.revision, RolloutRules(**asked["rules"])
    was = job.rollout
    job.revision = number
    groups = tuple(group.run.no for group in changed)
    job.rollout = Rollout(number, previous, groups, rules, c.at_us, back=back)
    told = _revision(number, c.at_us, asked["by"], asked["spec"], asked["size"])
    told |= {"back": asked["back"], "changes": asked.get("changes", [])}
    c.revisions[job.id] = [*history, told][-KEPT:]
    c.services[job.id] = job
    m.admission_queue.leave(job)
    for group in changed:
        _restart_all(group, job.rollout.width(0), asked["by"], spared=was is not None)
        m.revise(job, group, fresh.groups[group.run.no])
    m.admission_queue.enter(job, known=True)
    for group in changed:
        # What failed was another revision: it starts as this one at once, and has to serve as all others have.
        own = group.run.count - group.standing_in
        over = services.end_pauses(c, job, group, range(group.run.count))
        paused = [(task, attempt) for task, attempt in over if task < own]
        # They are down already and so have the first turns; what a roll-back leaves may have no room for them for long.
        group.restarts.queue[len(group.restarts.queue) if back else 0 : 0] = paused
        services.stand_in(m, store, c, job, group, rules.max_surge)
        services.carry_out(m, c, job, group)
    m.rolling[job.id] = job
    names = ", ".join(group.run.name for group in changed) or "nothing of what runs"
    how = f"back to {asked['back']}" if back else f"{rules.max_unavailable + rules.max_surge} at a time"
    emit_event(c, job, "update", f"revision {number} changes {names}, {how}: {asked['by']}")


def _made(row: JobRow, spec: Json, log_max: int) -> JobEntry | None:
    try:
        return entry(row._replace(spec=spec, services=None), log_max)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # LabelError is one of them
        log.exception("a revision cannot be read", job=row.id)
        return None


def _alike(old: GroupEntry, new: GroupEntry) -> bool:
    same = (old.amounts, old.constraints, old.timeout_s) == (new.amounts, new.constraints, new.timeout_s)
    return same and old.digest == new.digest


def _refused(m: Memory, store: Store, job: JobEntry, changed: list[GroupEntry], fresh: JobEntry) -> str:
    """Why its tasks may not have what the new specification says, or nothing."""
    before = [group.shape for group in changed]

    def change(shapes: list[np.ndarray]) -> None:
        for group, shape in zip(changed, shapes, strict=True):
            group.shape = shape

    after = [fresh.groups[group.run.no].shape for group in changed]
    return services.refused(m, store, job, lambda: change(after), lambda: change(before))


def _restart_all(group: GroupEntry, width: int, by: str, spared: bool) -> None:
    """All attempts are to end that do not run what is in force from now on. spared: who was to end runs that."""
    r, run = group.restarts, group.run
    good = {*r.queue, *r.unsure} if spared else set()
    ends = [attempt for attempt in living(run) if attempt not in good]
    own = run.count - group.standing_in  # who stands in is nobody's loss
    r.now += [attempt for attempt in ends if own <= attempt[0] < run.count and attempt not in r.now]
    ends = [attempt for attempt in ends if attempt[0] < own]
    away = [attempt for attempt in ends if run.remote[attempt[0]]]
    here = [attempt for attempt in ends if not run.remote[attempt[0]]]
    group.restarts = Restarts(r.now, here, away, width, by)


def go_on(m: Memory, store: Store, c: Changes, log_max: int) -> None:
    """End roll-outs that are done, and take back what has failed. After ``services.go_on``, at every round."""
    for job in list(m.rolling.values()):
        rollout = job.rollout
        if rollout is None or m.jobs.get(job.id) is not job or job.run.stopping:
            del m.rolling[job.id]
            continue
        left = any(job.groups[no].restarts.queue or job.groups[no].restarts.unsure for no in rollout.groups)
        if why := rollout.failed(c.at_us, left):
            _take_back(m, store, c, job, rollout, why, log_max)
        elif not left:
            _done(m, store, c, job, rollout)


def _done(m: Memory, store: Store, c: Changes, job: JobEntry, rollout: Rollout) -> None:
    del m.rolling[job.id]
    job.rollout = None
    c.services[job.id] = job
    for group in job.groups:
        m.release_former(group)
        if group.standing_in:
            services.stand_in(m, store, c, job, group, 0)
            services.carry_out(m, c, job, group)
    told = f"all tasks run revision {rollout.revision}"
    if away := sum(job.groups[no].run.idle for no in rollout.groups):
        still = counted(away, "task is", "tasks are")
        told = f"no task runs another revision than {rollout.revision} any more; {still} still to start"
    emit_event(c, job, "updated", told)


def _take_back(m: Memory, store: Store, c: Changes, job: JobEntry, rollout: Rollout, why: str, log_max: int) -> None:
    history = c.revisions.get(job.id) or store.revisions(job.id)
    before = next((r for r in history if r["revision"] == rollout.previous), None)
    emit_event(c, job, "update_failed", f"revision {rollout.revision}: {why}")
    history[-1]["outcome"] = f"failed: {why}"
    if before is None:  # nothing is left to go back to
        rollout.back = True
        c.services[job.id], c.revisions[job.id] = job, history
        return
    rules = {name: getattr(rollout.rules, name) for name in RolloutRules.__slots__}
    asked = {"spec": before["spec"], "size": before["size"], "rules": rules, "by": CLUSTER, "back": rollout.previous}
    _begin(m, store, c, job, history, asked, log_max)
