"""Step 2 of a round, its second half: jobs that wait in the admission queue begin where their limits allow."""

import datetime as dt
from collections import Counter
from typing import Any

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.claims import ClaimRequest
from controlplane.rm.memory.admissionqueue import UNREPORTED, AdmissionQueue, R
from controlplane.rm.memory.jobs import GroupEntry, JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.steps.outcome import apply_instructions
from scheduler.explain.amounts import amount_text
from scheduler.lifecycle import job as master
from scheduler.lifecycle.admission import AdmissionDecision, AdmissionRules, AdmissionWhy, decide
from wire.counts import counted
from wire.resources import AXES

POLL_US = 1_000_000  # between two looks at what other sub-clusters run while somebody waits
REPORTED_PER_ROUND = 200  # jobs that hear why they wait
RULES = AdmissionRules()
_MASTERS, _QUOTA = 1, 2  # which amounts a column is one of, as ``AdmissionQueue.arrays`` puts them


def admit(m: Memory, store: Store, c: Changes) -> None:
    """Admit who may be. Nothing is asked of the StateStore while nobody waits, nor for queues without limits."""
    waiting = m.admission_queue
    unknown = waiting.recount or m.outdated  # others must know our counts first, and we which jobs have moved here
    if len(waiting) and waiting.due_us(c.at_us) <= c.at_us and not unknown:
        _decide(m, store, c)
    c.admissions = waiting.counts()


def _decide(m: Memory, store: Store, c: Changes) -> None:
    waiting, rows = m.admission_queue, m.admission_queue.rows()
    _refresh_elsewhere(waiting, store, rows, c.at_us)
    d = decide(*waiting.arrays(m, rows), RULES, c.at_us / 1e6)
    waiting.passed[rows] = d.passed
    chosen = [job for job in (waiting.jobs[at] for at in rows[d.admitted].tolist()) if job is not None]
    begun = _claimed(waiting, store, chosen)
    for job in begun:
        _begin(m, c, job)
    waiting.changed = len(begun) < len(chosen) or bool((d.why == AdmissionWhy.DECISION_FULL).any())
    waiting.next_us = c.at_us + POLL_US
    _report(waiting, c, rows, d)


def _refresh_elsewhere(waiting: AdmissionQueue, store: Store, rows: np.ndarray, at_us: int) -> None:
    """Ask what others run, if that was long ago and matters to somebody who waits."""
    contended = waiting.contended(rows)
    if contended and at_us - waiting.counted_us >= POLL_US:
        found = store.admitted_elsewhere(waiting.queues.version, [waiting.key(at) for at in contended])
        waiting.elsewhere = dict(zip(contended, found.values(), strict=True))
        waiting.counted_us = at_us


def _claimed(waiting: AdmissionQueue, store: Store, jobs: list[JobEntry]) -> list[JobEntry]:
    """Of these jobs those for which there is room in the whole federation, now claimed."""
    wanted: Counter[tuple[int, int]] = Counter()
    for job in jobs:
        wanted.update(waiting.needs(job))
    if not wanted:
        return jobs
    requests = {
        waiting.key(at): ClaimRequest(waiting.own[at], waiting.own[at] + k, waiting.most(at))
        for at, k in wanted.items()
    }
    room = {}
    for at, claimed in zip(wanted, store.claim(waiting.queues.version, requests).values(), strict=True):
        room[at] = claimed.granted - waiting.own[at]
        waiting.take_claimed(at, claimed)
    begun = []
    for job in jobs:
        needs = waiting.needs(job)
        if all(room[at] >= need for at, need in needs.items()):
            begun.append(job)
            for at, need in needs.items():
                room[at] -= need
    return begun


def _begin(m: Memory, c: Changes, job: JobEntry) -> None:
    m.admission_queue.admit(job)
    job.admitted_us = c.at_us
    c.jobs[job.id] = job
    for group in job.groups:
        group.reason = None
        c.groups[job.id, group.run.no] = group
    apply_instructions(m, c, job, master.admit(job.run))
    m.placeable = True


def _report(waiting: AdmissionQueue, c: Changes, rows: np.ndarray, d: AdmissionDecision) -> None:
    """Say why they wait to those who have not heard yet, and now and then to those for whom it has changed."""
    why, queue, column = (x.astype(np.int64) for x in (d.why, d.queue, d.column))
    now = (why << 56) | (queue << 36) | ((column + 1) << 28) | np.minimum(d.ahead, (1 << 28) - 1)
    waits = ~np.isin(d.why, (AdmissionWhy.ADMITTED, AdmissionWhy.DECISION_FULL))
    unreported = waits & (waiting.reported[rows] == UNREPORTED)
    news = unreported
    if c.at_us >= waiting.report_us:
        news = waits & (waiting.reported[rows] != now)
        waiting.report_us = c.at_us + POLL_US
    found = np.flatnonzero(news)
    found = found[np.lexsort((d.ahead[found], ~unreported[found]))][:REPORTED_PER_ROUND]
    for i in found.tolist():
        job = waiting.jobs[rows[i]]
        if job is not None:
            _explain(waiting, c, job, d, i)
    waiting.reported[rows[found]] = now[found]
    waiting.changed |= int(unreported.sum()) > REPORTED_PER_ROUND


def _explain(waiting: AdmissionQueue, c: Changes, job: JobEntry, d: AdmissionDecision, i: int) -> None:
    limit = _limit(waiting, job, d, i)
    ahead = int(d.ahead[i])
    text = limit["text"] + (f"; {counted(ahead, 'job is', 'jobs are')} ahead" if ahead else "") + "."
    for group in job.groups:
        if not group.run.after:
            group.reason = _reason(group, limit, text, ahead, c.at_us)
            c.groups[job.id, group.run.no] = group


def _reason(group: GroupEntry, limit: dict[str, Any], text: str, ahead: int, at_us: int) -> dict[str, Any]:
    most = limit["most"]
    amounts = limit["limit"] in ("gang", "max_am_share", "quota")
    never = most == 0 or (amounts and any(need > most for need in limit["asked"].values()))
    starts = (
        "It does not start by waiting: the limit is lower than that." if never else "It depends on when others end."
    )
    return {
        "code": "admission",
        "text": text,
        "waiting": group.run.count,
        "asked": dict(zip(AXES, group.shape.tolist(), strict=True)),
        "limits": [limit],
        "position": {"jobs_ahead": ahead, "containers_ahead": None},
        "estimate": {"earliest_s": None, "latest_s": None, "text": starts},
        "change": None,
        "at": dt.datetime.fromtimestamp(at_us / 1e6, dt.UTC).isoformat(timespec="seconds"),
    }


def _limit(waiting: AdmissionQueue, job: JobEntry, d: AdmissionDecision, i: int) -> dict[str, Any]:
    """The limit that binds: its name, one sentence without its end, and its numbers."""
    path, now, most = waiting.queues.paths[d.queue[i]], int(d.now[i]), int(d.most[i])
    asked: dict[str, int] = {}
    available: dict[str, int] = {}
    match AdmissionWhy(d.why[i]):
        case AdmissionWhy.QUEUE_JOBS:
            name, text = "max_running_jobs", f"{path} runs {now:,} of at most {most:,} jobs"
        case AdmissionWhy.USER_JOBS:
            name = "max_running_jobs_per_user"
            text = f"Its owner runs {now:,} of at most {most:,} jobs in {path}"
        case why:
            column = int(d.column[i])
            resource, need = AXES[column % R], int(waiting.demand[job.waiting_row, column])
            name, text = _amount(path, column // waiting.amounts, resource, need, now, most)
            if why == AdmissionWhy.EARMARKED:
                text = f"What {path} has left is held for a job that has waited longer"
            asked, available = {resource: need}, {resource: max(0, most - now)}
    return {
        "limit": name,
        "text": text,
        "queue": path,
        "now": now,
        "most": most,
        "asked": asked,
        "available": available,
    }


def _amount(path: str, kind: int, resource: str, need: int, now: int, most: int) -> tuple[str, str]:
    if kind == _MASTERS:
        held = f"{now:,} of at most {amount_text(resource, most)}"
        return "max_am_share", f"Application masters of {path} hold {held}"
    if kind == _QUOTA:
        needs = f"It needs {amount_text(resource, need)} of the quota of {path}"
        if need > most:
            return "quota", f"{needs}, which is {amount_text(resource, most)} in all sub-clusters"
        return "quota", f"{needs}, of which {now:,} of {amount_text(resource, most)} are held in all sub-clusters"
    if need > most:
        needs = f"It needs {amount_text(resource, need)} at once"
        return "gang", f"{needs}, and {path} may hold {amount_text(resource, most)} here"
    held = f"gangs of {path} hold {now:,} of at most {amount_text(resource, most)}"
    return "gang", f"It needs {amount_text(resource, need)} at once, and {held}"
