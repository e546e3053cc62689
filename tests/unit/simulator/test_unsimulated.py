"""What policies say that web sees to at submission is named where they differ in it, since no simulation sees to it."""

from typing import Any

import numpy as np
import pytest

from controlplane.whatif.jobqueues import JobQueues
from simulator.workload import Submission, SubmittedGroup

JOBS = [Submission(0.0, "root.a", "ann", (SubmittedGroup(1, 1, 1, np.array([1.0])),), 1)]


def notes(**changed: Any) -> list[str]:
    policies: dict[str, Any] = {
        name: {"queues": {"a": {"guaranteed": 0.5} | more, "b": {"guaranteed": 0.5}}}
        for name, more in (("now", {}), ("then", changed))
    }
    queues = JobQueues(policies, [])
    assert queues.kept(JOBS) == JOBS
    return queues.notes(JOBS)


@pytest.mark.parametrize(
    ("changed", "meaning"),
    [
        ({"state": "stopped"}, "jobs of a stopped queue are taken all the same"),
        ({"max_live_jobs_per_user": 3}, "no job is refused for what its account has live already"),
        ({"max_live_tasks_per_user": 3}, "no job is refused for what its account has live already"),
        ({"max_live_mib_per_user": 3}, "no job is refused for what its account has live already"),
        ({"max_priority": 7}, "jobs keep the priorities that they came with, however high"),
        ({"default_priority": 7}, "jobs keep the priorities that they came with"),
    ],
)
def test_a_field_in_which_policies_differ_is_named(changed: dict[str, Any], meaning: str) -> None:
    (field,) = changed
    assert notes(**changed) == [f"{field}, in which the policies differ for root.a, is not simulated: {meaning}."]


def test_what_is_alike_or_simulated_is_not_named() -> None:
    assert notes() == notes(weight=2.0) == []
