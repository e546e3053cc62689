"""Real traces on the nodes and queues that come with them: everything that is submitted starts, and ends."""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from controlplane.whatif import pace
from controlplane.whatif.offlinecluster import unplaceable
from simulator.engine import Setup, Simulation
from simulator.measures import Run
from simulator.workload import Machine, Submission
from simulator.workloads import open_workload, openb, philly, sls, slsqueues
from tests.unit.simulator.workload_cases import real
from wire.resources import GPUS
from wire.states import JobState

JOBS = 120
NODES_OF_OPENB = "alibaba_gpu_v2023/openb_node_list_all_node.csv"
VIRTUAL_CLUSTERS = "philly/helios_philly_vc.csv"
Json = dict[str, Any]


def run(jobs: list[Submission], machines: Sequence[Machine], queues: Json) -> Run:
    window_s = jobs[-1].at_s + max(float(group.run_s.max()) for job in jobs for group in job.groups)
    containers = sum(group.count for job in jobs for group in job.groups)
    assert len(jobs) == JOBS and unplaceable(jobs, list(machines), True) is None
    setup = Setup(
        {"one": machines}, {"queues": queues}, pace.pace_of(containers, window_s, 1), period_s=pace.period_of(window_s)
    )
    found = Simulation(setup, jobs).run()
    assert found.notes == [] and set(found.jobs["state"].tolist()) == {int(JobState.SUCCEEDED)}
    assert len(found.jobs) == JOBS and found.lifecycles == containers
    return found


def test_openb() -> None:
    path = real("alibaba_gpu_v2023/openb_pod_list_gpuspec10.csv")
    nodes = openb.machines(real(NODES_OF_OPENB))
    every = list(open_workload("openb", path))
    never = unplaceable(every, nodes, True)
    assert never is not None and [job.number for job in never.jobs] == [1639, 5724], "larger than any node of theirs"
    named = [job for job in every if job.groups[0].node_labels and job not in never.jobs]
    found = run(named[:JOBS], nodes, {"default": {}})
    assert found.used[:, 0, GPUS].max() > 0


def test_philly() -> None:
    jobs = list(islice(open_workload("philly", real("philly/sia_philly.csv.gz")), JOBS))
    table = real(VIRTUAL_CLUSTERS)
    found = run(jobs, philly.machines(table), philly.queues(table))
    assert found.used[:, :, GPUS].max() > 0 and len(found.queues) == 15


def test_sls(tmp_path: Path) -> None:
    """Its synthetic jobs, so many of them, on the nodes and queues of its samples."""
    drawn = json.loads(real("hadoop_sls/syn.json").read_text()) | {"num_jobs": JOBS}
    (tmp_path / "syn.json").write_text(json.dumps(drawn))
    queues = slsqueues.queues(real("hadoop_sls/sample-conf_capacity-scheduler.xml"))
    run(list(open_workload("sls", tmp_path / "syn.json")), sls.machines(real("hadoop_sls/nodes.json")), queues)
