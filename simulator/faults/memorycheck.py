"""What a leader remembers must be what the rows alone would tell its successor."""

from typing import Any

import numpy as np

from controlplane.rm.driver.readahead import made_ahead
from controlplane.rm.driver.rebuild import rebuild
from controlplane.rm.memory.jobs import GroupEntry, JobEntry, guest_run
from controlplane.rm.memory.memory import Memory
from simulator.faults.oracle import require
from simulator.store import SimulatedStore
from wire.states import Want

LOG_BYTES = 1 << 20


def check(m: Memory, store: SimulatedStore, reports_due: bool) -> None:
    """After a commit. reports_due: the rows say more of its jobs than it has read."""
    check_sums(m)
    known = SimulatedStore(store.rows, store.sub, store.epoch, lambda sub, c: None)
    rebuilt = rebuild(known, LOG_BYTES, 0.0, _ahead(known))
    # That a node came or left stands in its row before its leader has heard of it.
    unread = {intent.node_id for intent in store.own.intents if intent.kind == "node"}
    nodes = _nodes(m, unread), _nodes(rebuilt, unread)
    for name, kept, found in (("nodes", *nodes), ("containers", _containers(m), _containers(rebuilt))):
        require(kept == found, "the memory is what the rows say", name, _first(kept, found))
    _check_guests(m, store)
    if reports_due:
        return
    for job in m.jobs.values():
        if not job.home:
            there = rebuilt.jobs.get(job.id)
            require(there is not None, "the memory is what the rows say", "job", job.id)
            assert there is not None
            kept_job, found_job = _job(job), _job(there)
            require(kept_job == found_job, "the memory is what the rows say", job.id, kept_job, found_job)
            lost = _stopping(rebuilt, there) - _stopping(m, job)
            require(not lost, "what is to stop is told to", job.id, lost)


def _check_guests(m: Memory, store: SimulatedStore) -> None:
    """What waits here of a job at home elsewhere stands in an ask, or it is about to be told that it does not."""
    told = {intent.job_id for intent in store.own.intents if intent.kind == "kill"}
    for job in (m.jobs[number] for number in m.guests if number not in told):
        for group in job.groups:
            stands = not guest_run(group).wanted or (job.id, group.run.no, store.sub) in store.rows.asks
            require(stands, "nothing waits that nobody wants", store.sub, job.id, group.run.no)


def _stopping(m: Memory, job: JobEntry) -> set[int]:
    """The job's containers here that are to stop."""
    slots = [slot for group in job.groups for slot in group.slots if m.containers.want[slot] == Want.STOP]
    return set(m.containers.id[slots].tolist())


def _ahead(store: SimulatedStore) -> dict[int, JobEntry]:
    """What a successor has made ahead: of every other job, and of some that have ended."""
    rows = store.jobs(range(0, max(store.rows.jobs, default=0) + 1, 2))
    return {row.id: made for row in rows if (made := made_ahead(row, LOG_BYTES)) is not None}


def check_sums(m: Memory) -> None:
    """Sums that are kept are those of the containers."""
    t, n = m.containers, m.nodes
    live = np.flatnonzero(t.live)
    used, queues = np.zeros_like(n.used), np.zeros_like(m.ledger.queues)
    users, jobs = np.zeros_like(m.ledger.users.held), np.zeros_like(m.ledger.jobs.held)
    held, counts = np.zeros_like(n.gpu_held), np.zeros_like(n.containers)
    for slot in live.tolist():
        job, group = t.owner_of(slot)
        at, (shape,) = int(t.node[slot]), m.containers_hold(np.array([slot]))
        used[at] += shape
        held[at] |= t.gpus[slot]
        counts[at] += 1
        queues[group.partition, job.queue_row] += shape
        users[group.partition, job.user_row] += shape
        jobs[group.partition, job.row] += shape
    for name, sums, kept in (
        ("used", used, n.used), ("GPUs", held, n.gpu_held), ("containers", counts, n.containers),
        ("queues", queues, m.ledger.queues), ("users", users, m.ledger.users.held), ("jobs", jobs, m.ledger.jobs.held),
    ):  # fmt: skip
        require(np.array_equal(sums, kept), "sums are those of the containers", name, kept.tolist(), sums.tolist())


def _nodes(m: Memory, unread: set[int]) -> dict[int, Any]:
    n, size = m.nodes, len(m.nodes)
    columns = (n.used[:size].tolist(), n.gpu_held.tolist(), n.containers.tolist(), n.state.tolist(), n.health.tolist())
    found = zip(n.id[:size].tolist(), zip(*(c[:size] for c in columns), strict=True), strict=True)
    return {node: values for node, values in found if node not in unread}


def _containers(m: Memory) -> dict[int, Any]:
    t = m.containers
    live = np.flatnonzero(t.live)
    columns = [getattr(t, name)[live].tolist() for name in ("state", "task", "attempt", "gpus", "allocated_us")]
    columns += [t.started_us[live].tolist(), m.nodes.id[t.node[live]].tolist()]
    return dict(zip(t.id[live].tolist(), zip(*columns, strict=True), strict=True))


def _job(job: JobEntry) -> tuple[Any, ...]:
    run = job.run
    values = run.state, run.live, run.verdict, job.priority, job.queue, job.owner, job.services()
    return values if run.stopping else (*values, [_group(g) for g in job.groups])


def _group(g: GroupEntry) -> tuple[Any, ...]:
    """Tasks that came back untouched are as good as those never handed over.

    That a back-off is over shows in the next round.
    """
    r = g.run
    ready = {*r.to_retry, *(pause.index for pause in r.backing_off), *range(r.next_fresh, r.count)}
    tasks = [bytes(column).rstrip(b"\0") for column in (r.launches, r.failures, r.task_state, r.remote)]
    return int(r.state), r.running, r.succeeded, r.failed, r.unfinished, *tasks, ready, len(g.slots)


def _first(kept: dict[int, Any], found: dict[int, Any]) -> str:
    for key in sorted(kept.keys() | found.keys()):
        if kept.get(key) != found.get(key):
            return f"{key}: remembered {kept.get(key)}, rows {found.get(key)}"
    return ""
