"""What web stores of a job, made of a simulated submission."""

from typing import Any

import numpy as np

from contract import stored
from simulator.clock import VirtualClock, moment
from simulator.workload import Machine, Submission, SubmittedGroup
from wire.resources import AXES, Amounts, amounts
from wire.states import NodeState

Json = dict[str, Any]


def job_row(job: Submission, owner: int, clock: VirtualClock) -> Json:
    """The job's row as the RM reads it, but for what ``Federation.submit`` adds."""
    return {
        "name": f"job-{job.number}",
        "kind": "service" if job.service else "batch",
        "queue": job.queue,
        "owner_id": owner,
        "username": job.user,
        "priority": job.priority,
        "spec": {"queue": job.queue, "groups": [_group(g) for g in job.groups]},
        "submitted_at": moment(clock.to_us(job.at_s)),
    }


def _group(g: SubmittedGroup) -> Json:
    return stored.GROUP | {
        "name": g.name,
        "command": ["true"],
        "count": g.count,
        "resources": {axis: getattr(g, axis) for axis in AXES},
        "retries": g.retries,
        "after": list(g.after),
        "node_labels": g.node_labels,
        "partition": g.partition,
        "parallelism": min(g.parallelism, g.count),
        "placement": g.placement,
        "gang": g.gang,
        "locality": {"nodes": list(g.nodes), "racks": list(g.racks), "relax": not g.strict},
        "estimated_duration_s": g.estimate_s,
    }


def demand(job: Submission) -> Amounts:
    """What all its tasks need together, along the axis of resources."""
    return amounts(sum(g.count * getattr(g, axis) for g in job.groups) for axis in AXES)


def node_row(number: int, m: Machine) -> Json:
    """The node's row: registered, and up with its first status."""
    return {
        "id": number, "name": m.name, "rack": m.rack, "labels": dict(m.labels),
        **{axis: getattr(m, axis) for axis in AXES}, "state": int(NodeState.REGISTERED), "health": 0,
        "revoked": False, "duty": m.duty, "duty_message": "", "duty_deadline_us": None,
    }  # fmt: skip


class JobRunTimes:
    """How long each container runs, and what it ends with: by the group its lease names."""

    def __init__(self) -> None:
        self._groups: dict[tuple[int, int], SubmittedGroup] = {}

    def add(self, job: int, groups: tuple[SubmittedGroup, ...]) -> None:
        for no, group in enumerate(groups):
            self._groups[job, no] = group

    def remove(self, job: int, groups: int) -> None:
        for no in range(groups):
            self._groups.pop((job, no), None)

    def __call__(self, leases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(l,) ``SIGNED_LEASE`` -> (run time in s, exit code), a ``RunTimes``. Of a job that is over: no time."""
        run_s, codes = np.zeros(len(leases)), np.zeros(len(leases), np.int32)
        keyed: np.ndarray = leases["job"] * 65536 + leases["group"]
        keys, which = np.unique(keyed, return_inverse=True)
        for at, key in enumerate(keys.tolist()):
            group = self._groups.get((key >> 16, key & 65535))
            if group is None:
                continue
            mine = np.flatnonzero(which == at)
            task = leases["task"][mine]
            run_s[mine] = group.run_s[task] if len(group.run_s) > 1 else group.run_s[0]
            if group.timeout_s:
                codes[mine[run_s[mine] > group.timeout_s]] = 1
                run_s[mine] = np.minimum(run_s[mine], group.timeout_s)
            if group.fails:
                bad = np.isin(task, group.fails) & (leases["attempt"][mine] == 1)
                codes[mine[bad]] = 1
        return run_s, codes
