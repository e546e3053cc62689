"""What a round's transaction does to the rows: statement by statement, as ``rm.adapters.store``."""

from copy import deepcopy
from dataclasses import fields
from typing import Any

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.claims import Counts
from controlplane.rm.columns import records
from controlplane.rm.memory.jobs import guest_run
from controlplane.rm.rows import ReportRow
from scheduler.lifecycle.guest import UNLOWERED, pack
from simulator.rows import Ask, Federation, LiveContainer, LoggedRound, SubCluster
from wire.resources import DIVISIBLE
from wire.states import ContainerState

_LIVE = [field.name for field in fields(LiveContainer) if field.name not in ("started_us", "divided")]


def refused(rows: Federation, sub: int, epoch: int, c: Changes) -> str:
    """Why the transaction cannot be, "" when it can: what it ends must live, what it has taken must be offered."""
    live = rows.subs[sub].containers
    new = {cid for block in c.new for cid in block["id"].tolist()}
    gone = sum(cid not in live and cid not in new for block in c.ended for cid in block["id"].tolist())
    if gone:
        return f"{c.ended_count} containers ended, of which {gone} have no row"
    void = [key for key in c.taken if not _stands(rows, sub, key, c)]
    if void:
        return f"tasks were started of {len(void)} asks that do not stand any more"
    moved = sum(_moves(rows, sub, epoch, job, home) for job, home in c.rehomed.items())
    if moved < len(c.rehomed):
        return f"{len(c.rehomed)} jobs were to get another home, and {moved} could"
    return ""


def _moves(rows: Federation, sub: int, epoch: int, job: int, home: int) -> bool:
    row = rows.jobs[job]
    own = row["home_id"] == sub and row["epoch"] <= epoch and not row["started_us"]
    return own and rows.subs[home].state == "running"


def _stands(rows: Federation, sub: int, key: tuple[int, int], c: Changes) -> bool:
    ask = rows.asks.get((*key, sub))
    return ask is not None and ask.target >= guest_run(c.guests[key]).handed.taken


def write(rows: Federation, sub: int, epoch: int, c: Changes) -> None:
    """Apply it. ``refused`` has found nothing against it."""
    own = rows.subs[sub]
    _containers(rows, own, c)
    rows.masters.write(rows.groups, c)
    _asks(rows, c)
    _answers(rows, sub, c)
    _reports(rows, own, c)
    _jobs(rows, epoch, c)
    for node, (state, health) in c.nodes.items():
        own.nodes[node]["state"], own.nodes[node]["health"], own.sums = state, health, None
    if c.admissions is not None:
        _admissions(rows, sub, c.admissions)
    _rehome(rows, own, c)
    if c.intents:
        done = set(c.intents)
        own.intents = [row for row in own.intents if row.id not in done]
    _log(rows, own, epoch, c)


def _rehome(rows: Federation, own: SubCluster, c: Changes) -> None:
    for job, home in c.rehomed.items():
        rows.jobs[job] |= {"home_id": home, "epoch": 0, "state": 0, "admitted_us": 0}
        for counters in rows.groups[job]:
            counters[0], counters[-1] = 0, None
        rows.add_intent(home, "submit", job)
    wanted = {*c.rehomed, *c.strayed}
    for intent in list(own.intents):
        job_row = rows.jobs.get(intent.job_id) if intent.job_id in wanted else None
        home = own.id if job_row is None else job_row["home_id"]
        if home != own.id and intent.kind in ("kill", "priority", "move", "scale", "restart", "update", "master"):
            own.intents.remove(intent)
            rows.add_intent(home, intent.kind, intent.job_id, **intent.payload)


def _log(rows: Federation, own: SubCluster, epoch: int, c: Changes) -> None:
    count = sum(map(len, c.transitions))
    if count and rows.keep_ended:
        first = own.sequence + 1
        own.log.append(LoggedRound(first, first + count - 1, epoch, np.concatenate(c.transitions)))
    own.sequence += count


def _containers(rows: Federation, own: SubCluster, c: Changes) -> None:
    live = own.containers
    for block in c.new:
        for row, divided in zip(records(block, *_LIVE), records(block, *DIVISIBLE), strict=True):
            live[row[0]] = LiveContainer(*row, divided=divided)
    for block in c.moved:
        for cid, state, started_us in block.tolist():
            known = live.get(cid)
            if known is not None:
                known.state, known.started_us = state, started_us or known.started_us
    for block in c.ended:
        for cid in block["id"].tolist():
            del live[cid]
        unwell = block[block["state"] != ContainerState.SUCCEEDED]
        for job, cid, *how in unwell[["job", "id", "state", "reason", "exit_code"]].tolist():
            if job in rows.jobs:
                rows.ends[job][cid] = tuple(how)
    for blocks in (c.tasks_first, c.tasks_again):
        for block in blocks:
            _tasks(rows, block)
    _forgive(rows, c)


def _forgive(rows: Federation, c: Changes) -> None:
    for _, job, group, index in c.forgiven:
        if (group, index) in rows.tasks.get(job, {}):
            state, attempts, _, last, at_us = rows.tasks[job][group, index]
            rows.tasks[job][group, index] = (state, attempts, 0, last, at_us)


def _tasks(rows: Federation, block: np.ndarray) -> None:
    names = ("job", "group", "index", "state", "attempts", "failures", "container", "finished_us")
    for job, group, index, state, attempts, failures, last, at_us in records(block, *names):
        rows.tasks[job][group, index] = (state, attempts, failures, last, at_us)


def _jobs(rows: Federation, epoch: int, c: Changes) -> None:
    for key, group in c.groups.items():
        counters = rows.groups.get(key[0])
        if counters is not None:
            counters[key[1]] = [*group.counters()[:-1], group.reason]
    for job_id, job in c.services.items():
        if job_id in rows.jobs and rows.jobs[job_id]["epoch"] <= epoch:
            rows.jobs[job_id]["services"] = job.services()
    for job_id, revisions in c.revisions.items():
        if job_id in rows.jobs and rows.jobs[job_id]["epoch"] <= epoch:
            rows.jobs[job_id] |= {"spec": revisions[-1]["spec"], "revisions": deepcopy(revisions)}
    for job_id, job in c.jobs.items():
        row = rows.jobs.get(job_id)
        if row is None or row["epoch"] > epoch:
            continue
        row |= {
            "state": int(job.run.state), "epoch": epoch, "message": job.run.message, "priority": job.priority,
            "queue": job.queue, "admitted_us": job.admitted_us, "started_us": job.started_us,
            "finished_us": job.finished_us,
        }  # fmt: skip
        if job.finished_us:
            if any(group.remote for group in job.groups):
                _drop_asks(rows, job_id)
            rows.forget(job_id)


def _drop_asks(rows: Federation, job: int) -> None:
    """Who has not read what was said last is told that there is nothing any more."""
    gone = {key: rows.asks.pop(key) for key in sorted(rows.asks) if key[0] == job}
    for sub in sorted({key[2] for key, ask in gone.items() if ask.version > ask.acknowledged}):
        rows.add_intent(sub, "kill", job, ended=True)


def _asks(rows: Federation, c: Changes) -> None:
    """While something is asked back, the target belongs to the other side."""
    for key, (handed, halt) in c.asks.items():
        work = pack(handed.index, handed.attempt)
        rows.subs[key[2]].unread.add(key)
        ask = rows.asks.get(key)
        if ask is None:
            rows.asks[key] = Ask(handed.base, handed.target, 0, handed.wish, work, halt)
            continue
        if handed.wish >= handed.target:
            ask.target = handed.target
        ask.base, ask.work, ask.wish, ask.halt = handed.base, work, handed.wish, halt
        ask.version += 1


def _answers(rows: Federation, sub: int, c: Changes) -> None:
    lowered = {(job, group) for job, group, _ in c.lowered}
    for key, group in c.guests.items():
        ask, handed = rows.asks.get((*key, sub)), guest_run(group).handed
        if ask is None or ask.target < handed.taken:
            continue
        if ask.version == group.ask_version and ask.wish < ask.target:
            ask.wish = UNLOWERED
        ask.target = min(ask.target, handed.target if key in lowered else UNLOWERED)
        ask.taken, ask.reason = handed.taken, group.reason
        ask.acknowledged = max(ask.acknowledged, group.ask_version)


def _reports(rows: Federation, own: SubCluster, c: Changes) -> None:
    packed = {job: np.concatenate(events).tobytes() for job, events in c.reports.items()}
    reports: list[tuple[int, int | None, int | None, bytes, Any]] = [
        (job, None, None, packed.get(job, b""), c.home_events.get(job)) for job in packed | c.home_events
    ]
    reports += [(*lowered, b"", None) for lowered in c.lowered]
    for job_id, group, target, events, for_master in reports:
        job = rows.jobs.get(job_id)
        if job is not None:
            report = ReportRow(rows.number(), job_id, own.id, group, target, events, for_master)
            rows.subs[job["home_id"]].reports.append(report)
    if c.reports_read:
        read = set(c.reports_read)
        own.reports = [row for row in own.reports if row.id not in read]


def _admissions(rows: Federation, sub: int, counts: Counts) -> None:
    if counts.recounted is not None:
        for known in rows.counts.values():
            known.pop(sub, None)
        rows.counted[sub] = counts.recounted
    for key, running in counts.running.items():
        if running:
            rows.counts[key][sub] = running
        else:
            rows.counts[key].pop(sub, None)
