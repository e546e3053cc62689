"""What is measured of a queue is that queue's, in whatever order the document names them."""

import numpy as np

from simulator.engine import Setup, Simulation
from simulator.figures import held as part_held
from simulator.figures import mean_over_time
from simulator.workload import Machine, Submission, SubmittedGroup

DOCUMENT = {
    "queues": {
        "z": {"guaranteed": 0.5, "children": {"b": {}, "a": {}}},
        "c-d": {"guaranteed": 0.2},
        "c": {"guaranteed": 0.3, "children": {"x": {}}},
    }
}


def test_each_leaf_holds_what_its_jobs_hold() -> None:
    leaves = ("root.z.b", "root.z.a", "root.c-d", "root.c.x")
    jobs = [
        Submission(0.0, queue, "u1", (SubmittedGroup(n, 100, 1000, np.array([100.0])),), n)
        for n, queue in enumerate(leaves, 1)
    ]
    setup = Setup({"west": [Machine("n1", 10_000, 20_000)]}, DOCUMENT)
    found = Simulation(setup, jobs).run()
    assert sorted(found.queues) == sorted(leaves)
    share = dict(zip(found.queues, mean_over_time(found, part_held(found)), strict=True))
    order = sorted(leaves, key=share.__getitem__)
    assert order == list(leaves), share
    assert not np.isnan(found.share[0]).any()
