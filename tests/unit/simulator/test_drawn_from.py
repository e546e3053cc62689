"""Which seeds' jobs are drawn anew from another's, so that they are no further observations."""

import numpy as np
import pytest

from controlplane.whatif.cases import Case
from simulator.workload import Machine, Submission, SubmittedGroup

JOBS = [Submission(float(n), "root.a", "ann", (SubmittedGroup(1, 1, 1, np.array([1.0])),), n) for n in range(3)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, [None] * 5),
        ({"redraw": lambda _: JOBS}, [None, 0, 0, 0, 0]),
        ({"redraw": lambda _: JOBS, "samples": 3}, [None, None, None, 0, 1]),
        ({"redraw": lambda _: JOBS, "generated": True}, [None] * 5),
    ],
)
def test_a_run_says_from_whose_jobs_its_own_are_drawn(more: dict[str, object], expected: list[int | None]) -> None:
    policy = {"queues": {"a": {"guaranteed": 1.0}}}
    case = Case("by hand", JOBS, {"west": [Machine("n", 10, 10)]}, {"p": policy}, 10.0, **more)  # type: ignore[arg-type]
    assert [case.simulation("p", seed).run().drawn_from for seed in range(5)] == expected
