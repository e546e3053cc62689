"""A job moves to another queue: what it holds is counted there from then on, and limits on jobs hold there, too."""

from controlplane.rm.changes import Changes
from controlplane.rm.claims import Claimed, ClaimRequest
from controlplane.rm.memory import quota
from controlplane.rm.memory.jobs import JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.steps import remote
from controlplane.rm.steps.outcome import emit_event
from wire.states import JobState


def move(m: Memory, store: Store, c: Changes, job: JobEntry, queue: str) -> None:
    """Put the job into ``queue``, or tell its owner why it stays where it is.

    One that waits for admission waits there in the other queue. One that was
    admitted moves only if that queue may run one job more, in the whole
    federation. Containers stay: the queues' shares decide what becomes of them.
    """
    if queue == job.queue:
        return
    if why := _refusal(m, store, job, queue):
        emit_event(c, job, "not_moved", f"it stays in {job.queue}: {why}")
        return
    emit_event(c, job, "moved", f"from {job.queue} to {queue}")
    m.move(job, queue)
    remote.update_asks(c, job)
    c.jobs[job.id] = job


def _refusal(m: Memory, store: Store, job: JobEntry, queue: str) -> str:
    row = m.queues.index.get(queue)
    if row is None or not m.queues.leaf[row]:
        return f"there is no queue {queue} that takes jobs"
    if m.queues.stopped[row]:
        return f"{queue} is stopped and takes no new jobs"
    if job.run.state == JobState.SUBMITTED:
        return ""
    return _claim(m, store, job, row)


def _claim(m: Memory, store: Store, job: JobEntry, row: int) -> str:
    """Claim what an admitted job needs there beyond what it has already; why there is no room, or nothing."""
    waiting = m.admission_queue
    before = waiting.needs(job)
    more = {at: need - before.get(at, 0) for at, need in waiting.needs(job, row).items()}
    return claim(m, store, {at: need for at, need in more.items() if need > 0})


def claim(m: Memory, store: Store, more: dict[tuple[int, int], int]) -> str:
    """Claim so much more of these limits (``AdmissionQueue.needs``), or say which has no room."""
    if not more:
        return ""
    waiting = m.admission_queue
    if waiting.gac:
        waiting.quotas = quota.quotas(m)
    version = waiting.queues.version
    if waiting.recount:  # the ledger does not know our counts yet, so nothing can be claimed from it
        found = store.admitted_elsewhere(version, [waiting.key(at) for at in more])
        stands = {at: Claimed(n, waiting.most(at) - n) for at, n in zip(more, found.values(), strict=True)}
    else:
        requests = {
            waiting.key(at): ClaimRequest(waiting.own[at], waiting.own[at] + need, waiting.most(at))
            for at, need in more.items()
        }
        stands = dict(zip(more, store.claim(version, requests).values(), strict=True))
        for at, claimed in stands.items():
            waiting.take_claimed(at, claimed)
    for at, need in more.items():
        if stands[at].granted - waiting.own[at] < need:
            path, what = waiting.queues.paths[at[0]], "of its quota" if at[1] < 0 else "jobs"
            who = " of its owner" if at[1] > 0 else ""
            return f"{path} runs {waiting.own[at] + stands[at].elsewhere:,} of at most {waiting.most(at):,} {what}{who}"
    return ""
