"""``manage.py simulate`` on files, without any store."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from simulator.workload import Submission, SubmittedGroup
from simulator.workloads import history
from tests.machine import FACTOR
from tests.stores import ROOT, bare_environment

pytestmark = pytest.mark.kernels  # simulations wait for them

LOG = "\n".join(
    ["; MaxProcs: 64", *(f"{n} {n * 5} 0 40 4 -1 -1 4 60 -1 1 {n % 3} 1 -1 1 -1 -1 -1" for n in range(1, 25))]
)
EVEN = "queues: {a: {guaranteed: 0.5}, b: {guaranteed: 0.5}}"
UNEVEN = "queues: {a: {guaranteed: 0.1, maximum: 0.2}, b: {guaranteed: 0.9}}"


def simulate(tmp_path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    env = bare_environment() | {"HYDRA_HOME": str(tmp_path / "home"), "HYDRA_DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "manage.py", "simulate", *words], cwd=ROOT, env=env, capture_output=True, text=True,
        timeout=250 * FACTOR, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_two_policies_over_a_recorded_history(tmp_path: Path) -> None:
    group = SubmittedGroup(4, 512, 1000, np.array([20.0, 30.0, 25.0, 40.0]))
    jobs = [Submission(10.0 * n, f"root.{'ab'[n % 2]}", "u1", (group,), n) for n in range(30)]
    recorded, page, kept = (str(tmp_path / name) for name in ("jobs.jsonl", "report.html", "report.json"))
    history.dump(jobs, recorded)
    files = []
    for name, text in (("even", EVEN), ("uneven", UNEVEN)):
        (tmp_path / f"{name}.yaml").write_text(text)
        files += ["--policy", str(tmp_path / f"{name}.yaml")]
    size = ["--machines", "3", "--memory-mib", "4096", "--vcores-milli", "4000"]
    done = simulate(tmp_path, "--workload", "history", recorded, *size, *files, "--html", page, "--json", kept)
    assert done.returncode == 0, done.stderr
    assert "By queue: uneven, and the change from even" in done.stdout and "root.a" in done.stdout
    assert Path(page).read_text().startswith("<!DOCTYPE html>")
    compared = json.loads(Path(kept).read_text())["comparison"]
    assert [policy["policy"] for policy in compared["policies"]] == ["even", "uneven"]
    assert compared["policies"][0]["figures"]["jobs"]["value"]["value"] == 30


def test_a_log_under_even_shares_on_machines_that_suffice(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text(LOG + "\n")
    done = simulate(tmp_path, "--workload", "swf", str(log), "--option", "queue=root.q")
    assert done.returncode == 0, done.stderr
    assert "By queue: even" in done.stdout and "root.q" in done.stdout


PHILLY = "timestamp,duration,num_gpus,gpu_time,cluster\n" + "".join(
    f"2017-10-09 07:{n:02}:00,{100 + n},{1 + n % 8},1,{'ab'[n % 2]}\n" for n in range(20)
)
CLUSTERS = "vc,node num\na,2\nb,1\n"
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,32000,65536,2,P100\nn2,32000,65536,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p-1,1000,1024,1,1000,{model},LS,Succeeded,0,60,0\np-2,1000,1024,{gpus},1000,,BE,Succeeded,5,60,5\n"
)


@pytest.fixture
def traces(tmp_path: Path) -> dict[str, str]:
    """Small ones, by name, as words of a command."""
    pods = {"pods": PODS.format(model="P100", gpus=2), "large": PODS.format(model="P100", gpus=8),
            "other": PODS.format(model="T4", gpus=1)}  # fmt: skip
    texts = pods | {
        "philly": PHILLY,
        "clusters": CLUSTERS,
        "nodes": NODES,
        "none": NODES.partition("n1")[0],
        "swf": LOG,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return {name: str(tmp_path / name) for name in texts}


def test_a_trace_on_its_own_nodes_and_queues(tmp_path: Path, traces: dict[str, str]) -> None:
    kept = tmp_path / "report.json"
    (tmp_path / "even.yaml").write_text(EVEN)
    words = ("--cluster", traces["clusters"], "--queues", traces["clusters"], "--policy", str(tmp_path / "even.yaml"))
    done = simulate(tmp_path, "--workload", "philly", traces["philly"], *words, "--json", str(kept))
    assert done.returncode == 0, done.stderr
    compared = json.loads(kept.read_text())["comparison"]
    assert [policy["policy"] for policy in compared["policies"]] == ["clusters", "even"]
    for policy in compared["policies"]:
        figures = policy["figures"]
        assert figures["jobs"]["value"]["value"] == 20 and figures["jobs_unfinished"]["value"]["value"] == 0
        assert figures["utilization_gpus"]["value"]["value"] > 0


def test_seeds_draw_the_jobs_anew_alike_for_all_policies(tmp_path: Path) -> None:
    kept, words = tmp_path / "report.json", list[str]()
    for name, policy in (("even", EVEN), ("same", EVEN)):
        (tmp_path / f"{name}.yaml").write_text(policy)
        words += ["--policy", str(tmp_path / f"{name}.yaml")]
    shape = {"horizon_s": 600, "jobs_per_hour": 60, "tasks_median": 3, "tasks_mean": 4, "tasks_most": 8,
             "longest_s": 120, "leaves": "['root.a','root.b']"}  # fmt: skip
    for name, value in shape.items():
        words += ["--option", f"{name}={value}"]
    done = simulate(tmp_path, "--workload", "synthetic", "--seeds", "5", "--machines", "1", "--memory-mib", "16384",
                    "--vcores-milli", "8000", *words, "--json", str(kept))  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if line.endswith("s simulated")]
    assert 1 <= len(told) <= 10 and told[-1].startswith("100 %"), "a line for each tenth, at most"
    found = json.loads(kept.read_text())
    by_policy = {
        name: [(run["lifecycles"], run["ended_s"]) for run in found["runs"] if run["policy"] == name]
        for name in ("even", "same")
    }
    assert len(set(by_policy["even"])) == 5 and by_policy["same"] == by_policy["even"]
    even, same = found["comparison"]["policies"]
    share = even["queues"][0]["figures"]["share_held"]["value"]
    assert (share["over"], share["count"]) == ("seeds", 5) and share["low"] < share["value"] < share["high"]
    for figures in (same["figures"], *(queue["figures"] for queue in same["queues"])):
        changes = [figure["change"] for figure in figures.values() if figure["change"]["low"] is not None]
        assert changes and all(change["low"] <= 0 <= change["high"] for change in changes)


NO_GPU = (
    "20 of 20 jobs could never start, first job 1 of root.a: a task asks for 1 GPUs, and no node that it may use has "
    "over 0; give 1 or more, or the trace's nodes with --cluster, or leave such jobs out with --leave-out-unplaceable"
)
TOO_LARGE = (
    "1 of 2 jobs could never start, first job 2 of root.default: a task asks for 8 GPUs, and no node that it may use "
    "has over 2; give a file with larger nodes, or leave such jobs out with --leave-out-unplaceable"
)


@pytest.mark.parametrize(
    ("kind", "trace", "words", "told"),
    [
        ("philly", "philly", "--machines 4", f"--gpus: {NO_GPU}"),
        ("philly", "philly", "--gpus 1 --machines 4", "--machines: 8 of 20 jobs could never start"),
        ("philly", "philly", "--memory-mib 1000 --gpus 8", "--memory-mib: 20 of 20 jobs could never start"),
        ("openb", "large", "--cluster {nodes}", f"--cluster: {TOO_LARGE}"),
        ("openb", "other", "--cluster {nodes}", "no node has the labels 'model == T4'; give a file of nodes"),
        ("openb", "pods", "--gpus 8", "--cluster: 1 of 2 jobs could never start"),
        ("openb", "pods", "--cluster {nodes} --gpus 2", "--gpus: is given beside --cluster"),
        ("openb", "pods", "--cluster {nodes} --machines 2", "--machines: is given beside --cluster"),
        ("openb", "pods", "--cluster /not/there", "--cluster: /not/there cannot be read"),
        ("openb", "pods", "--cluster {clusters}", "--cluster: {clusters}, line 1, field sn: the header lacks sn"),
        ("openb", "pods", "--cluster {none}", "--cluster: {none} has no node"),
        ("openb", "pods", "--cluster {nodes} --queues {nodes}", "--queues: the workload openb has no file of queues"),
        ("synthetic", "", "--cluster {nodes}", "--cluster: the workload synthetic has no file of nodes"),
        ("philly", "philly", "--gpus 8 --queues {nodes}", "--queues: {nodes}, line 1, field vc: the header lacks vc"),
        ("openb", "large", "--leave-out-unplaceable --memory-mib 1", "--leave-out-unplaceable: no job is left"),
    ],
)  # fmt: skip
def test_what_no_node_could_run_is_refused(
    traces: dict[str, str], kind: str, trace: str, words: str, told: str
) -> None:
    path = [traces[trace]] if trace else []
    with pytest.raises(CommandError) as found:
        call_command("simulate", "--workload", kind, *path, *words.format(**traces).split())
    assert told.format(**traces) in str(found.value)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--workload: is missing"),
        (("--workload", "swf"), "needs a path"),
        (("--workload", "swf", "/not/there"), "/not/there cannot be read"),
        (("--workload", "synthetic", "--option", "queues"), "has no value; write NAME=VALUE"),
        (("--workload", "synthetic", "--option", "queues=none"), "queues: 'none' does not fit"),
        (("--workload", "synthetic", "--policy", "/not/there"), "--policy: /not/there cannot be read"),
        (("--workload", "synthetic", "--queue", "root.a"), "--queue: 'root.a' is not OLD=NEW"),
        (("--workload", "synthetic", "--queue", "root.a=root.b"), "--queue: no policy has the leaf root.b"),
        (("--workload", "synthetic", "--queue", "root.a=root.b", "--queue", "root.a=root.c"), "names a queue twice"),
        (("--workload", "synthetic", "--seeds", "0"), "--seeds: 0 does not fit"),
        (("--workload", "synthetic", "--machines", "-1"), "--machines: -1 does not fit"),
        (("--run", "1"), "--token: is missing"),
        (("--workload", "swf", "{log}", "--fails-every", "0"), "--fails-every: 0 does not fit; give 1 to"),
        (("--workload", "swf", "{log}", "--node-lost-s", "nan"), "--node-lost-s: nan does not fit; give 0 to"),
        (("--workload", "swf", "{log}", "--machines", "90000", "--fails-every", "1", "--fails-for", "1"), "failures"),
        (
            ("--workload", "swf", "{log}", "--option", "queue=batch"),
            "'batch' is no queue below root; name it root.batch",
        ),
        (("--workload", "swf", "{log}", "--option", "queue=3"), "queue: '3' does not fit"),
        (("--workload", "philly", "{log}", "--option", "memory_mib=abc"), "memory_mib: 'abc' does not fit"),
        (
            ("--workload", "swf", "{log}", "--policy", "{of_others}"),
            "of_others: sub_clusters.east there is no sub-cluster",
        ),
        (("--workload", "swf", "{log}", "--policy", "{too_much}"), "too_much: queues"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    texts = {
        "log": "1 0 -1 5 2 -1 -1 2 -1 -1 1 1 1 -1 1 -1 -1 -1\n",
        "of_others": json.dumps({"queues": {"default": {"guaranteed": 1.0}}, "sub_clusters": {"east": {}}}),
        "too_much": json.dumps({"queues": {"default": {"guaranteed": 1.0}, "other": {"guaranteed": 0.5}}}),
    }
    paths = {name: tmp_path / name for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    with pytest.raises(CommandError) as found:
        call_command("simulate", *(word.format(**paths) for word in words))
    assert told in str(found.value)


def test_nodes_that_fail_cost_work_alike_for_each_policy(tmp_path: Path) -> None:
    line = "{} {} -1 900 1 -1 -1 1 -1 -1 1 1 1 -1 1 -1 -1 -1\n"
    log, policy = tmp_path / "log", tmp_path / "same.json"
    log.write_text("".join(line.format(number, 60 * number) for number in range(1, 30)))
    policy.write_text(json.dumps({"queues": {"default": {"guaranteed": 1.0}}}))
    wasted = {}
    for name, more in {"calm": (), "broken": ("--fails-every", "1800", "--network-s", "0.05")}.items():
        report = tmp_path / name
        words = (
            "--workload",
            "swf",
            str(log),
            "--machines",
            "4",
            "--policy",
            str(policy),
            "--json",
            str(report),
            *more,
        )
        call_command("simulate", *words)
        found = json.loads(report.read_text())["runs"][0]
        wasted[name] = found["figures"]["wasted_part"]
        assert found["jobs_by_state"]["succeeded"] == 29
    assert wasted["calm"] == 0 and 0.01 < wasted["broken"] < 1


def test_a_draw_may_have_no_job(tmp_path: Path) -> None:
    line = "{} {} -1 5 2 -1 -1 2 -1 -1 1 1 1 -1 1 -1 -1 -1\n"
    log, report = tmp_path / "log", tmp_path / "report.json"
    log.write_text(line.format(1, 0) + line.format(2, 1000))
    call_command("simulate", "--workload", "swf", str(log), "--seeds", "5", "--json", str(report))
    assert json.loads(report.read_text())
