"""Inputs of YARN's load simulator: histories, native and synthetic jobs, nodes, and queues as a policy has them."""

import json
from pathlib import Path

import numpy as np
import pytest

from controlplane.policy import documents
from simulator.workload import Disordered, in_order
from simulator.workloads import sls
from simulator.workloads.files import Unreadable
from simulator.workloads.slsqueues import queues
from tests.unit.simulator.workload_cases import real, same, written
from wire import labels


def attempt(start: int, finish: int, host: str = "/rack-1/a", result: str = "SUCCESS") -> dict:
    return {"startTime": start, "finishTime": finish, "hostName": host, "result": result}


def task(*attempts: dict, prefers: tuple = ()) -> dict:
    return {"attempts": list(attempts), "preferredLocations": [{"layers": list(p)} for p in prefers]}


def job(submit: int, maps: list, reduces: list = (), **more) -> dict:
    found = {"jobID": "job_17_0042", "user": "ann", "queue": "etl", "submitTime": submit}
    return found | {"mapTasks": maps, "reduceTasks": list(reduces)} | more


def file(folder: Path, *values: dict, name: str = "jobs.json") -> Path:
    return written(folder / name, "\n".join(json.dumps(v, indent=1) for v in values))


# --- real files


def test_the_recorded_history():
    source = sls.read(real("hadoop_sls/2jobs2min-rumen-jh.json"), estimates="exact")
    first, second = in_order(source)
    assert (first.at_s, second.at_s) == (0.0, 105.204)
    assert (first.number, second.number, first.user, first.queue) == (1205, 1206, "jenkins", "root.sls_queue_1")
    for each in (first, second):
        (group,) = each.groups
        assert (group.name, group.count, group.memory_mib, group.fails, group.after) == ("map", 96, 200, (), ())
        assert set(group.nodes) == {f"a211{i}.smile.com" for i in range(5, 9)}
        assert group.racks == ("default-rack",)
        assert group.estimate_s == group.run_s.max()
    assert first.groups[0].run_s[0] == 17.043
    assert not source.skipped
    assert source.facts == {"kind": "mapTasks"}


def test_the_native_sample():
    first, second = in_order(sls.read(real("hadoop_sls/inputsls.json")))
    assert [len(j.groups[0].run_s) for j in (first, second)] == [3, 2]
    assert first.groups[0].run_s.tolist() == [17.043, 14.928, 17.843]
    assert (second.at_s, second.queue, second.number) == (105.204, "root.sls_queue_2", 2)
    assert first.groups[0].nodes == ("node1", "node3", "node2")


@pytest.mark.parametrize("name", ["syn", "syn_generic"])
def test_the_synthetic_samples(name: str):
    source = sls.read(real(f"hadoop_sls/{name}.json"))
    jobs = list(in_order(source))
    assert len(jobs) == 10
    assert same(jobs, source)
    assert all(1 <= j.at_s < 60 and j.user == "foobar" for j in jobs)
    maps, reduces = zip(*(j.groups for j in jobs), strict=True)
    assert {g.name for g in maps} == {"map"}
    assert {(g.name, g.after) for g in reduces} == {("reduce", ("map",))}
    assert {(g.memory_mib, g.vcores_milli) for g in maps} == {(1024, 1000)}
    assert {(g.memory_mib, g.vcores_milli) for g in reduces} == {(2048, 2000)}
    assert np.concatenate([g.run_s for g in maps]).mean() == pytest.approx(10, abs=1)
    assert np.concatenate([g.run_s for g in reduces]).mean() == pytest.approx(20, abs=2)


def test_the_synthetic_stream_runs_as_long_as_its_job():
    jobs = list(in_order(sls.read(real("hadoop_sls/syn_stream.json"))))
    assert len(jobs) == 5
    for each in jobs:
        (group,) = each.groups
        assert (group.name, group.count, group.memory_mib, group.vcores_milli) == ("stream", 2, 4096, 4000)
        assert len(set(group.run_s.tolist())) == 1
        assert 10 < group.run_s[0] < 60


def test_the_sample_nodes():
    found = sls.machines(real("hadoop_sls/nodes.json"))
    assert [m.name for m in found] == [f"node{i}" for i in range(1, 20)]  # one object is empty
    assert (found[0].memory_mib, found[0].vcores_milli, found[0].rack) == (10_240, 10_000, "rack1")
    found = sls.machines(real("hadoop_sls/nodes-with-resources.json"), memory_mib=5, vcores_milli=7)
    assert [(m.memory_mib, m.vcores_milli) for m in found] == [(2048, 6000), (5, 7), (5, 7), (6144, 12_000)]
    assert found[3].labels == {"label1": "true", "label2": "true"}
    assert labels.parse("label1 && label2")(found[3].labels)


@pytest.mark.parametrize("kind", ["capacity", "fair"])
def test_the_sample_queues_are_a_policy(kind: str):
    found = queues(real(f"hadoop_sls/sample-conf_{kind}-scheduler.xml"))
    assert list(found) == ["sls_queue_1", "sls_queue_2", "sls_queue_3"]
    documents.validate({"queues": found})
    if kind == "capacity":
        assert found["sls_queue_3"] == {"guaranteed": 0.5}
    else:
        guaranteed = {"memory_mib": 1024, "vcores_milli": 1000}
        assert found["sls_queue_3"] == {"guaranteed": guaranteed, "weight": 0.5, "ordering": "fair"}


# --- Rumen


@pytest.mark.parametrize("name", ["jobs.json", "jobs.json.gz"])
def test_map_and_reduce(tmp_path: Path, name: str):
    maps = [task(attempt(0, 2000), prefers=(("r", "a"), ("r", "b"))), task(attempt(0, 1000), prefers=(("s", "b"),))]
    path = file(tmp_path, job(5000, maps, [task(attempt(2000, 5500, "/r/c"))], jobMapMB=-1, jobReduceMB=99), name=name)
    (found,) = sls.read(path, memory_mib=7)
    first, second = found.groups
    assert (first.name, first.nodes, first.racks, first.memory_mib) == ("map", ("b", "a"), ("r", "s"), 7)
    assert first.run_s.tolist() == [2.0, 1.0]
    assert (second.name, second.after, second.nodes, second.memory_mib) == ("reduce", ("map",), ("c",), 99)
    assert (found.number, found.queue) == (42, "root.etl")


def test_attempts(tmp_path: Path):
    maps = [
        task(attempt(0, 10, result="FAILED"), attempt(0, 3000)),
        task(attempt(0, 10, result="KILLED"), attempt(0, 4000)),
        task(attempt(5, 5)),
        task(),
    ]
    source = sls.read(file(tmp_path, job(0, maps), job(1, [task()])))
    (found,) = source
    assert found.groups[0].fails == (0,)
    assert found.groups[0].run_s.tolist() == [3.0, 4.0]
    assert source.skipped == {"tasks that never ran": 3, "jobs of which no task ran": 1}


def test_jobs_a_little_out_of_order(tmp_path: Path):
    path = file(tmp_path, *(job(at, [task(attempt(0, 9))]) for at in (3000, 1000, 2000)))
    assert [j.at_s for j in in_order(sls.read(path))] == [0.0, 1.0, 2.0]
    with pytest.raises(Disordered, match="entry 2 goes back in time by 2 s, past more than 0 others; sort"):
        list(sls.read(path, ahead=0))


def test_queue_names(tmp_path: Path):
    one = [task(attempt(0, 9))]
    path = file(tmp_path, job(0, one, queue="Etl X"), job(0, one, queue="root.a.b"), job(0, one, queue="deep"))
    names = {"deep": "root.x.y.deep"}
    assert [j.queue for j in sls.read(path, queues=names)] == ["root.etl-x", "root.a.b", "root.x.y.deep"]


def test_objects_longer_than_a_piece(tmp_path: Path):
    maps = [task(attempt(0, 1000 + i)) for i in range(2000)]
    path = file(tmp_path, job(0, maps, note='a } "brace" in a text'), job(1, maps), job(2, maps[:1]))
    assert [j.groups[0].count for j in sls.read(path)] == [2000, 2000, 1]


# --- the native format


def test_native_fields(tmp_path: Path):
    tasks = [
        {"container.host": "/top/rack/n", "container.start.ms": 10, "container.end.ms": 1010, "count": 3},
        {"duration.ms": "250", "container.type": "reduce", "container.memory-mb": 5, "container.vcores": 2},
        {"container.type": "reduce", "duration.ms": 0},
    ]
    of = {"job.start.ms": 7, "job.count": 2, "job.label.expression": "fast", "job.tasks": tasks}
    source = sls.read(file(tmp_path, {"num.nodes": 3}, of))
    first, second = source
    assert same([first], [second]) is False  # their numbers differ
    (maps, reduces) = first.groups
    assert (maps.run_s.tolist(), maps.nodes, maps.racks) == ([1.0] * 3, ("n",), ("top/rack",))
    assert (reduces.run_s.tolist(), reduces.memory_mib, reduces.vcores_milli) == ([0.25], 5, 2000)
    assert {g.node_labels for g in first.groups} == {"fast"}
    assert (first.user, first.queue) == ("default", "root.default")
    assert source.skipped == {"tasks that never ran": 2}


# --- the synthetic format


def synthetic(**more) -> dict:
    sample = {"count": {"val": 2}, "time": {"val": 3}, "max_memory": {"val": 1}, "max_vcores": {"val": 0}}
    of = {"class_weight": 1, "type": "dag", "tasks": [{"type": "work"} | sample | more]}
    times = [{"time": 10, "weight": 1}, {"time": 20}]
    workload = {"workload_weight": 1, "queue_name": "q", "job_classes": [of], "time_distribution": times}
    return {"num_jobs": 50, "rand_seed": 3, "workloads": [workload]}


def test_samples(tmp_path: Path):
    path = file(tmp_path, synthetic(time={"discrete": ["5", "6"], "weights": [1, 0]}, count={"val": 9, "std": 0.5}))
    jobs = list(in_order(sls.read(path)))
    assert len(jobs) == 50
    assert {g.run_s.max() for j in jobs for g in j.groups} == {5.0}
    assert {(g.memory_mib, g.vcores_milli, g.name) for j in jobs for g in j.groups} == {(1024, 1000, "work")}
    assert len({g.count for j in jobs for g in j.groups}) > 1
    assert {10 <= j.at_s < 20 for j in jobs} == {True}
    (normal, *_) = sls.read(file(tmp_path, synthetic(time={"val": 9, "std": 1, "dist": "NORM"})))
    assert len(normal.groups[0].run_s) == 2


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"time": {"val": 1, "std": 1, "dist": "ODD"}}, r"tasks\[0\]\.time\.dist: 'ODD' is unknown; use LOGNORM"),
        ({"count": {}}, r"count\.discrete: nothing is not a list"),
        ({"count": 3}, r"tasks\[0\]\.count: '3' is not an object; give an object in braces"),
        ({"time": {"discrete": [1, 2], "weights": [1]}}, "there are 1 for 2 values; give one for each"),
        ({"time": {"discrete": [1], "weights": [0]}}, "no weight is above 0"),
    ],
)
def test_errors_of_the_synthetic_format(tmp_path: Path, more: dict, told: str):
    with pytest.raises(Unreadable, match=told):
        list(sls.read(file(tmp_path, synthetic(**more))))


# --- errors


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"mapTasks": [\n{]}', "line 2: this is no JSON"),
        ('{"mapTasks": [', "line 1: this is no JSON"),
        ('{"mapTasks": []}', "line 1, field submitTime: nothing is not a number; give a number"),
        ('\n\n{"mapTasks": [], "submitTime": NaN}', "line 3: NaN is no number of JSON"),
        ('{"mapTasks": [], "submitTime": -1}', "field submitTime: -1 is too small; give 0 or more"),
        ('{"mapTasks": [7], "submitTime": 1}', r"field mapTasks\[0\]: '7' is not an object"),
        ('{"mapTasks": [], "submitTime": 1, "jobMapMB": 1.5}', "field jobMapMB: 1.5 is not whole"),
        ('{"job.tasks": [], "job.start.ms": "x"}', "field job.start.ms: 'x' is not a number"),
        ("[1]", "line 1: an object was expected"),
        ('{"other": 1}', "none of the fields mapTasks, job.tasks, workloads"),
        ("", "none of the fields mapTasks, job.tasks, workloads"),
        ('{"mapTasks": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, text: str, told: str):
    path = written(tmp_path / "jobs.json", text)
    with pytest.raises(Unreadable, match=told) as found:
        list(sls.read(path))
    assert str(found.value).startswith(str(path))


def test_what_is_wrong_early_is_found_early(tmp_path: Path):
    path = written(tmp_path / "jobs.json", '{"mapTasks": [}' + " " * 300_000)
    with pytest.raises(Unreadable, match="this is no JSON"):
        list(sls.read(path))


def test_errors_of_nodes(tmp_path: Path):
    path = file(tmp_path, {"rack": "r", "nodes": [{"memory-mb": 5}]})
    with pytest.raises(Unreadable, match=r"field nodes\[0\]\.node: nothing is not a text"):
        sls.machines(path)
    path = file(tmp_path, {"rack": "r", "nodes": [{"node": "a", "labels": "x y"}]})
    with pytest.raises(Unreadable, match=r"nodes\[0\]\.labels: 'x y' is no label"):
        sls.machines(path)


# --- queues


def capacity(values: dict[str, str]) -> str:
    found = "".join(
        f"<property><name>yarn.scheduler.capacity.root.{name}</name><value>{value}</value></property>"
        for name, value in values.items()
    )
    return f"<configuration>{found}</configuration>"


def test_capacity_scheduler(tmp_path: Path):
    values = {
        "queues": "A, b", "A.capacity": "60.5", "A.maximum-capacity": "80", "A.queues": "c,d", "A.c.capacity": "2w",
        "A.c.ordering-policy": "fair", "A.d.capacity": "[memory=2048,vcores=2]", "A.d.maximum-capacity": "-1",
        "A.d.user-limit-factor": "0.5", "A.d.max-parallel-apps": "9", "b.capacity": "39.5", "b.state": "STOPPED",
        "b.maximum-am-resource-percent": "0.2", "b.maximum-capacity": "100", "b.user-limit-factor": "3",
        "b.ordering-policy": "utilization", "b.disable_preemption": "true",
    }  # fmt: skip
    found = queues(written(tmp_path / "c.xml", capacity(values)))
    documents.validate({"queues": found})
    d = {"guaranteed": {"memory_mib": 2048, "vcores_milli": 2000}, "max_running_jobs": 9, "user_maximum": 0.5}
    kids = {"c": {"weight": 2.0, "ordering": "fair"}, "d": d}
    assert found == {
        "a": {"guaranteed": 0.605, "maximum": 0.8, "children": kids},
        "b": {"guaranteed": 0.395, "state": "stopped", "preemptable": False, "max_am_share": 0.2},
    }


def test_fair_scheduler(tmp_path: Path):
    text = """<allocations><queue name="root"><queue name="a" type="parent"><weight>3</weight>
      <maxResources>memory-mb=50%, vcores=4</maxResources>
      <pool name="b"><minResources>1 mb, 0.5 vcores</minResources><schedulingPolicy>fifo</schedulingPolicy>
        <maxRunningApps>5</maxRunningApps><maxAMShare>0.3</maxAMShare></pool></queue>
      <queue name="c"><maxResources>50%</maxResources><maxAMShare>-1.0</maxAMShare>
        <allowPreemptionFrom>false</allowPreemptionFrom></queue></queue><userMaxAppsDefault>5</userMaxAppsDefault>
      </allocations>"""
    found = queues(written(tmp_path / "f.xml", text))
    documents.validate({"queues": found})
    b = {"guaranteed": {"memory_mib": "1 MiB", "vcores_milli": 500}, "ordering": "fifo"}
    assert found == {
        "a": {
            "maximum": {"memory_mib": 0.5, "vcores_milli": 4000}, "weight": 3.0,
            "children": {"b": b | {"max_running_jobs": 5, "max_am_share": 0.3}},
        },
        "c": {"maximum": 0.5, "preemptable": False},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('<!DOCTYPE a [<!ENTITY x "y">]><configuration/>', "line 1: there is a DOCTYPE, which is not read; remove it"),
        ('<!DOCTYPE configuration SYSTEM "http://x/y"><configuration/>', "there is a DOCTYPE"),
        ("<configuration>\n<a></configuration>", "line 2: this is no XML"),
        ("<other/>", "<other> is neither <configuration> nor <allocations>"),
        ("<allocations/>", "there is no queue in it"),
        (capacity({"queues": "a", "a.capacity": "x"}), "root.a.capacity: 'x' is no number from 0 on; give a number"),
        (capacity({"queues": "a", "a.capacity": "0w"}), "root.a.capacity: the weight 0 cannot be kept"),
        (capacity({"queues": "a,A"}), "root.queues: the queue 'a' is there twice; rename one"),
        (capacity({"queues": "a", "a.capacity": "[disk=3]"}), "the resource 'disk' is unknown; use one of: cpu"),
        ('<allocations><queue name="q"><minResources>lots</minResources></queue></allocations>', "queue 'q': 'lots'"),
        ("<allocations><queue/></allocations>", "it has no name"),
    ],
)
def test_errors_of_queues(tmp_path: Path, text: str, told: str):
    path = written(tmp_path / "q.xml", text)
    with pytest.raises(Unreadable, match=told) as found:
        queues(path)
    assert str(found.value).startswith(str(path))
