"""What a group says of admission, placement and time comes to the control plane's own code."""

import numpy as np

from simulator.clock import VirtualClock
from simulator.engine import Setup, Simulation
from simulator.specs import job_row
from simulator.workload import Submission, SubmittedGroup
from tests.unit.simulator.test_engine import EXACT, HALVES, machines
from wire.states import JobState


def test_a_jobs_row_says_what_admission_and_placement_look_at() -> None:
    group = SubmittedGroup(3, 1024, 1000, np.array([10.0]), parallelism=8, placement="pack")
    (spec,) = job_row(Submission(0.0, "root.a", "ann", (group,)), 1, VirtualClock())["spec"]["groups"]
    assert (spec["parallelism"], spec["placement"]) == (3, "pack"), "no more than there are"


def test_a_task_that_runs_for_longer_than_it_may_fails_then() -> None:
    group = SubmittedGroup(1, 1024, 1000, np.array([100.0]), timeout_s=10.0, retries=0)
    run = Simulation(Setup({"one": machines(1)}, HALVES, EXACT), [Submission(0.0, "root.a", "ann", (group,))]).run()
    (row,) = run.jobs
    assert (row["state"], row["finished"]) == (JobState.FAILED, 10.0)
