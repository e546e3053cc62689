"""Traces of GPU clusters: openb and Philly."""

from collections import Counter
from pathlib import Path

import pytest

from controlplane.policy import documents
from simulator.workload import in_order
from simulator.workloads import openb, philly
from simulator.workloads.files import Unreadable
from tests.unit.simulator.workload_cases import real, same, written
from wire import labels

PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
JOBS = "timestamp,duration,num_gpus,gpu_time,cluster\n"


# --- openb


def test_the_nodes_of_openb():
    nodes = openb.machines(real("alibaba_gpu_v2023/openb_node_list_all_node.csv"))
    assert len(nodes) == 1523
    assert sum(n.gpus for n in nodes) == 6212
    assert sum(n.vcores_milli for n in nodes) == 125_514_000
    assert round(sum(n.memory_mib for n in nodes) / 2**20, 1) == 583.7
    assert sum(not n.labels and not n.gpus for n in nodes) == 310
    assert Counter(n.labels.get("model") for n in nodes)["G2"] == 549


@pytest.mark.parametrize(("name", "pods"), [("default", 8152), ("gpuspec10", 8152), ("cpu050", 7439)])
def test_the_pods_of_openb(name: str, pods: int):
    source = openb.read(real(f"alibaba_gpu_v2023/openb_pod_list_{name}.csv"))
    jobs = list(in_order(source))
    assert len(jobs) + source.skipped.total() == pods
    assert source.skipped == {"no run time": 1}
    assert {j.user for j in jobs} == {"ls", "be", "burstable", "guaranteed"}
    assert {g.gpus for j in jobs for g in j.groups} == {0, 1, 2, 4, 8}
    named = [g.node_labels for j in jobs for g in j.groups if g.node_labels]
    assert bool(named) == (name == "gpuspec10")
    for each in set(named):
        labels.parse(each)


def test_pods_find_the_nodes_they_name():
    nodes = openb.machines(real("alibaba_gpu_v2023/openb_node_list_all_node.csv"))
    pods = openb.pods(real("alibaba_gpu_v2023/openb_pod_list_gpuspec10.csv"))
    assert sum(bool(pod.models) for pod in pods) == 8152 - 7420
    for models in {pod.models for pod in pods}:
        fits = labels.parse(openb.expression(models))
        assert [fits(n.labels) for n in nodes] == [not models or n.labels.get("model") in models for n in nodes]


def pods(folder: Path, *rows: str) -> Path:
    return written(folder / "pods.csv", PODS + "".join(f"{row}\n" for row in rows))


def test_pods(tmp_path: Path):
    path = pods(
        tmp_path,
        "p-2,6000,100,1,460,,LS,Running,50,90,60",
        "p-1,6000,100,0,0,T4,BE,Pending,10,30,",
        "p-3,6000,100,0,300,A|B|B,LS,Running,70,,80",
        "p-4,6000,100,2,1000,,LS,Failed,80,80,80",
    )
    source = openb.read(path, ends_s=200.0, estimates="exact", queue={"LS": "root.ls", "BE": "root.be"})
    jobs = list(in_order(source))
    assert [(j.number, j.at_s, j.queue, j.user) for j in jobs] == [
        (1, 10.0, "root.be", "be"), (2, 50.0, "root.ls", "ls"), (3, 70.0, "root.ls", "ls"),
    ]  # fmt: skip
    groups = [j.groups[0] for j in jobs]
    assert [(g.gpus, g.run_s.tolist(), g.estimate_s) for g in groups] == [
        (0, [20.0], 20.0), (1, [30.0], 30.0), (1, [120.0], 120.0),
    ]  # fmt: skip
    assert [g.node_labels for g in groups] == ["model == T4", "", "model in (A, B)"]
    assert source.skipped == {"no run time": 1}
    source = openb.read(path, unscheduled=False, ends_s=60.0)
    assert [j.number for j in source] == [2]
    assert source.skipped == {"never scheduled": 1, "no run time": 2}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("p,x,1,1,1,,LS,Running,1,2,1", "line 2, field cpu_milli: 'x' is not a number; give a number"),
        ("p,1,1.5,1,1,,LS,Running,1,2,1", "field memory_mib: '1.5' is not whole"),
        ("p,1,1,1,1,A B,LS,Running,1,2,1", "field gpu_spec: 'A B' is no model"),
        ("p,1,1,1,1,,LS,Running,-1,2,1", "field creation_time: -1 is too small"),
        ("p,1,1,1,1,,LS,Running,1,2", "line 2, field scheduled_time: the row ends before it"),
        ("p,1,1,1,1,,LS,Running,1,2,1,9", "line 2, field scheduled_time: the row goes on behind it"),
        ('p,"1,1', "line 2"),
    ],
)
def test_errors_of_pods(tmp_path: Path, row: str, told: str):
    path = pods(tmp_path, row)
    with pytest.raises(Unreadable, match=told) as found:
        list(openb.read(path))
    assert str(found.value).startswith(str(path))


def test_other_files_and_queues(tmp_path: Path):
    with pytest.raises(Unreadable, match="line 1, field name: the header lacks name, cpu_milli"):
        list(openb.read(written(tmp_path / "x.csv", "a,b\n1,2\n")))
    path = pods(tmp_path, "p,1,1,1,1,,LS,Running,1,2,1")
    with pytest.raises(ValueError, match="pod p: there is no queue for the class 'LS'; add it to the option queue"):
        list(openb.read(path, queue={"BE": "root.be"}))
    with pytest.raises(ValueError, match="estimates: 'good' is unknown; use one of: exact, none"):
        openb.read(path, estimates="good")


# --- Philly


def test_the_jobs_of_philly():
    source = philly.read(real("philly/sia_philly.csv.gz"))
    jobs = gpus = last = 0
    queues = set()
    for job in in_order(source):
        (group,) = job.groups
        jobs, gpus, last = jobs + 1, max(gpus, group.count), job.at_s
        assert group.gang
        queues.add(job.queue)
    assert (jobs, gpus, len(queues), last) == (82_247, 128, 15, 9_408_690.0)
    assert not source.skipped
    shares = philly.queues(real("philly/helios_philly_vc.csv"))
    assert queues == {f"root.{name}" for name in shares}


def test_the_virtual_clusters_of_philly():
    queues = philly.queues(real("philly/helios_philly_vc.csv"))
    documents.validate({"queues": queues})
    assert len(queues) == 15
    assert queues["6214e9"] == {"guaranteed": 64 / 352, "weight": 64.0}
    assert sum(q.get("guaranteed", 0) for q in queues.values()) == pytest.approx(1)
    machines = philly.machines(real("philly/helios_philly_vc.csv"), gpus=4, memory_mib=10, vcores_milli=100)
    assert len(machines) == 352
    assert (machines[0].gpus, machines[0].memory_mib, machines[0].vcores_milli) == (4, 40, 400)


def test_rows_are_put_in_order(tmp_path: Path):
    rows = ["2017-10-09 07:01:55,66.0,2,132,b", "2017-10-09 07:01:50,5,1,5,a", "2017-10-09 07:01:51,0,1,0,a"]
    path = written(tmp_path / "jobs.csv.gz", JOBS + "\n".join(rows) + "\n")
    source = philly.read(path, memory_mib=1, vcores_milli=2, estimates="exact")
    first, second = source
    assert (first.at_s, first.queue, first.number) == (0.0, "root.a", 2)
    assert (second.at_s, second.queue, second.user, second.number) == (5.0, "root.b", "b", 1)
    (group,) = second.groups
    assert (group.count, group.gpus, group.gang, group.estimate_s, group.memory_mib) == (2, 1, True, 66.0, 1)
    assert source.skipped == {"no duration": 1}
    assert same(source, source)
    assert not list(philly.read(written(tmp_path / "none.csv", JOBS)))


def test_errors_of_philly(tmp_path: Path):
    path = written(tmp_path / "jobs.csv", JOBS + "today,1,1,1,a\n")
    with pytest.raises(
        Unreadable, match="line 2, field timestamp: 'today' is no time; write it as 2017-10-09 07:01:55"
    ):
        list(philly.read(path))
    path = written(tmp_path / "vc.csv", "vc,node num\na,1\na,2\n")
    with pytest.raises(Unreadable, match="line 3, field vc: 'a' is there twice; remove one"):
        philly.queues(path)
    with pytest.raises(Unreadable, match="no virtual cluster"):
        philly.queues(written(tmp_path / "vc.csv", "vc,node num\n"))
