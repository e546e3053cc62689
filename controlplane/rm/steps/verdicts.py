"""How application masters want their jobs to end."""

from collections.abc import Iterable

import numpy as np

from controlplane.rm.changes import Changes
from controlplane.rm.memory.application import LEAVE_S, MASTER
from controlplane.rm.memory.jobs import JobEntry
from controlplane.rm.memory.memory import Memory
from controlplane.rm.ports import Store
from controlplane.rm.rows import MasterSessionRow
from controlplane.rm.steps.outcome import apply_instructions
from scheduler.lifecycle import job as master
from wire.states import JobState


def apply_for_containers(m: Memory, store: Store, c: Changes, slots: np.ndarray) -> None:
    """Some of these containers (slots) may be masters whose end is about to be told: their verdicts come first.

    A verdict is a row before its master ends, but the intent that tells of it may be read later than the end.
    """
    if not (m.masters.jobs and len(slots)):
        return
    shared = m.containers.shared_of(slots)
    ending: np.ndarray = shared["job"][shared["group"] == MASTER]
    apply_for_jobs(m, store, c, np.unique(ending).tolist())


def apply_for_jobs(m: Memory, store: Store, c: Changes, jobs: Iterable[int]) -> None:
    """Read and carry out the verdicts of those of these jobs that are at home here and are not ending already."""
    known = [job for job_id in jobs if (job := m.masters.jobs.get(job_id)) is not None]
    undecided = [job.id for job in known if not job.home and not job.run.stopping]
    if undecided:
        apply(m, c, store.some_masters({}, [], [], undecided).sessions)


def apply(m: Memory, c: Changes, rows: Iterable[MasterSessionRow]) -> None:
    """Carry out the verdicts of these sessions; one without a verdict, or taken before, changes nothing."""
    for row in rows:
        job = m.masters.jobs.get(row.job_id)
        if job is not None and row.verdict is not None:
            _apply(m, c, job, JobState(row.verdict), row.message)


def _apply(m: Memory, c: Changes, job: JobEntry, verdict: JobState, message: str) -> None:
    instructions = master.conclude(job.run, verdict, message)
    if instructions and job.application is not None:
        job.application.leave_us = c.at_us + int(LEAVE_S * 1e6)
    apply_instructions(m, c, job, instructions)
