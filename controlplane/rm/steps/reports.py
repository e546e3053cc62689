"""What an RM tells a job's home of the containers it started for it: packed events."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from controlplane.rm.changes import Changes
    from controlplane.rm.memory.containers import ContainerTable
    from controlplane.rm.memory.jobs import GroupEntry, JobEntry

# ``state``: of ``wire.states.ContainerState``, ``ALLOCATED`` or one in which a container has ended.
EVENT = np.dtype(
    [
        ("container", "<i8"), ("ran_ms", "<i8"), ("at_us", "<i8"), ("task", "<i4"), ("exit_code", "<i4"),
        ("group", "<i2"), ("attempt", "<i2"), ("reason", "<u2"), ("state", "u1"),
    ]
)  # fmt: skip


def report(c: "Changes", t: "ContainerTable", job: "JobEntry", group: "GroupEntry", events: np.ndarray) -> None:
    """Tell a guest's home of containers that began or ended. events: (k,) ``outcome.ENDING``."""
    slots, rows = events["slot"], np.zeros(len(events), EVENT)
    rows["container"], rows["task"], rows["attempt"] = t.id[slots], t.task[slots], t.attempt[slots]
    rows["group"], rows["at_us"] = group.run.no, c.at_us
    for name in ("state", "reason", "exit_code", "ran_ms"):
        rows[name] = events[name]
    c.reports.setdefault(job.id, []).append(rows)
    touched(c, job, group)


def touched(c: "Changes", job: "JobEntry", group: "GroupEntry") -> None:
    """The row of a guest's ask is to be written, and its home to look at it."""
    c.guests[job.id, group.run.no] = group
    c.homes.add(job.home)
