"""A job's whole way through real processes: what a tenant may rely on when nothing fails."""

import hashlib
import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from client import HydraError
from tests.acceptance.cluster import SMALL, Cluster
from tests.contents import files
from tests.patience import wait_until
from tests.processes import Pid, alive


def containers(cluster: Cluster, job: int) -> list:
    return list(cluster.tenant.containers(job))


def test_artifacts_pass_between_groups_of_a_dag(cluster: Cluster):
    spec = cluster.spec("dag", 'echo "$HYDRA_TASK_INDEX" > part.txt', name="cut", count=3)
    spec["groups"][0]["outputs"] = [{"name": "part", "path": "part.txt"}]
    middle = cluster.spec("", "cat parts/*.txt | sort | tr -d '\\n' > joined.txt", name="join")["groups"][0]
    middle |= {"after": ["cut"], "inputs": [{"group": "cut", "name": "part", "path": "parts/{index}.txt"}]}
    middle["outputs"] = [{"name": "joined", "path": "joined.txt"}]
    last = cluster.spec("", '[ "$(cat in.txt)" = 012 ]', name="check")["groups"][0]
    last |= {"after": ["join"], "inputs": [{"group": "join", "name": "joined", "path": "in.txt"}]}
    spec["groups"] += [middle, last]
    job = cluster.settled(cluster.submit(spec))
    groups = {g.name: g for g in job.groups}
    assert [groups[n].succeeded for n in ("cut", "join", "check")] == [3, 1, 1]
    assert groups["cut"].finished_at <= groups["join"].started_at <= groups["check"].started_at
    assert sorted((o.group, o.index, o.name) for o in cluster.tenant.outputs(job.id)) == [
        ("cut", 0, "part"), ("cut", 1, "part"), ("cut", 2, "part"), ("join", 0, "joined"),
    ]  # fmt: skip


def test_a_failing_task_is_tried_again_and_no_more_than_asked(cluster: Cluster):
    good = cluster.task_job("third-time", '[ "$HYDRA_ATTEMPT" = 3 ]', retries=2)
    bad = cluster.task_job("never", "exit 7", retries=1)
    attempts = [s.attempt for s in cluster.starts(cluster.settled(good))]
    lost = [c.attempt for c in containers(cluster, good.id) if c.state == "LOST"]  # maybe before it began
    assert attempts == [n for n in (1, 2, 3) if n in attempts or n not in lost]
    ended = cluster.settled(bad, state="FAILED")
    assert "exit status 7" in ended.message
    tried = sorted((c.attempt, c.state, c.reason, c.exit_code) for c in containers(cluster, bad.id))
    assert tried == [(1, "FAILED", "EXIT_CODE", 7), (2, "FAILED", "EXIT_CODE", 7)]


def test_a_timeout_ends_the_whole_tree(cluster: Cluster):
    job = cluster.task_job("slow", 'setsid sleep 300 & echo $! > "$EVIDENCE/grandchild"; sleep 300', timeout_s=1)
    ended = cluster.settled(job, 20, "FAILED")
    assert "timeout" in ended.message
    grandchild = Pid(int((cluster.evidence / "grandchild").read_text()))
    wait_until(lambda: not alive(grandchild), 5, "a grandchild in a session of its own is gone after a timeout")
    assert containers(cluster, job.id)[0].reason == "TIMEOUT"


def test_kill_ends_the_whole_tree_although_it_ignores_the_polite_signal(cluster: Cluster):
    script = (
        "trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$ >> \"$EVIDENCE/tree\"; while :; do sleep 1; done' &);"
        ' echo $$ >> "$EVIDENCE/tree"; while :; do sleep 1; done'
    )
    job = cluster.task_job("stubborn", script)
    path = cluster.evidence / "tree"
    pids = wait_until(lambda: p if path.exists() and len(p := path.read_text().split()) == 2 else [], 20, "two started")
    tree = [Pid(int(number)) for number in pids]
    cluster.tenant.kill(job.id, "enough")
    ended = cluster.settled(job, 20, "KILLED")
    assert ended.message == "killed by tenant: enough"
    wait_until(lambda: not any(alive(pid) for pid in tree), 3, "nothing of a killed tree is left")


def test_more_memory_than_asked_ends_a_task(cluster: Cluster):
    script = "exec python3 -c 'x = bytearray(400 << 20); import time; time.sleep(60)'"
    job = cluster.task_job("hog", script)
    ended = cluster.settled(job, 30, "FAILED")
    assert "memory" in ended.message
    assert containers(cluster, job.id)[0].reason == "MEMORY"


def test_a_service_is_kept_at_its_count_until_it_is_killed(cluster: Cluster):
    spec = cluster.spec("steady", "exec sleep 600", count=2)
    job = cluster.submit(spec | {"kind": "service"})
    first = cluster.started(job, 2)
    victim = first[0]
    wait_until(lambda: all(row[4] == 2 for row in cluster.live(job)), 20, "both are known to run")
    cluster.signal(victim.pid)
    again = cluster.started(job, 3)
    assert again[2].index == victim.index and again[2].attempt == 2
    wait_until(lambda: len(cluster.live(job)) == 2 and all(r[4] == 2 for r in cluster.live(job)), 20, "two run again")
    assert first[1].alive
    cluster.tenant.kill(job.id)
    assert cluster.wait(job, 20).state == "KILLED"
    assert not any(start.alive for start in cluster.starts(job))


def test_the_environment_says_who_a_task_is_and_holds_nothing_else(cluster: Cluster):
    job = cluster.task_job(
        "who", "env | cut -d= -f1 | sort | tr '\\n' ' '; echo; env", env={"EVIDENCE": str(cluster.evidence), "OWN": "x"}
    )
    cluster.settled(job)
    container = containers(cluster, job.id)[0]
    text = wait_until(lambda: _log(cluster, container.id), 10, "its log arrives")
    names = set(text.splitlines()[0].split())
    values = dict(line.split("=", 1) for line in text.splitlines()[1:] if "=" in line)
    assert values["HYDRA_JOB_ID"] == str(job.id) and values["HYDRA_CONTAINER_ID"] == container.id
    assert values["HYDRA_SUB_CLUSTER"] == "east" and values["HYDRA_NODE"] == container.node
    assert values["HYDRA_USER"] == "tenant" and values["HYDRA_GPUS"] == "" and values["OWN"] == "x"
    shells = {"PWD", "OLDPWD", "SHLVL", "_"}
    allowed = {"PATH", "HOME", "TMPDIR", "LANG", "USER", "LOGNAME", "CUDA_VISIBLE_DEVICES", "EVIDENCE", "OWN"}
    assert not {n for n in names if not n.startswith("HYDRA_")} - allowed - shells
    assert not {n for n in names if "SECRET" in n or "REDIS" in n or "DATABASE" in n}


def test_a_secret_reaches_its_owners_tasks_and_no_file_of_the_cluster(cluster: Cluster, tmp_path: Path):
    (tmp_path / "value").write_text("hunter2-of-the-cluster\n")
    assert "is kept" in hydractl(cluster, "secret", "put", "db", "--file", str(tmp_path / "value"))
    script = '[ "$PASSWORD" = "$(cat pw/db)" ] && printf %s "$PASSWORD" | sha256sum && ' + cluster.gate("secret")
    named = [{"name": "db", "env": "PASSWORD"}, {"name": "db", "path": "pw/db"}]
    job = cluster.task_job("with-secrets", script, secrets=named)
    cluster.started(job, 1)
    looked, found = 0, set()
    for path, content in files(cluster.stack.home.root):
        looked += 1
        if b"hunter2-of" in content and path.parts[-3:] != ("work", "pw", "db"):
            found.add(path)
    assert looked > 100 and not found  # stores, logs, nodes' folders
    cluster.open_gate("secret")
    cluster.settled(job)
    digest = hashlib.sha256(b"hunter2-of-the-cluster").hexdigest()
    assert wait_until(lambda: _log(cluster, containers(cluster, job.id)[0].id), 10, "its log").split()[0] == digest
    hydractl(cluster, "secret", "delete", "db")
    with pytest.raises(HydraError, match="hydractl secret put db"):
        cluster.task_job("without", "true", secrets=named)


def _log(cluster: Cluster, container: str) -> str:
    return "".join(piece.data for piece in cluster.tenant.logs(container, follow=True))


def test_logs_are_followed_while_a_task_runs_and_kept_after_it(cluster: Cluster):
    job = cluster.task_job("talk", "echo one; " + cluster.gate("talk") + "echo two; echo bad >&2")
    container = wait_until(lambda: [c for c in containers(cluster, job.id) if c.state == "RUNNING"], 20, "it runs")[0]
    pieces = cluster.tenant.logs(container.id, follow=True)
    assert next(pieces).data == "one\n"
    cluster.open_gate("talk")
    assert "".join(piece.data for piece in pieces) == "two\n"
    cluster.settled(job)
    assert _log(cluster, container.id) == "one\ntwo\n"
    assert "".join(p.data for p in cluster.tenant.logs(container.id, stream="stderr")) == "bad\n"


def test_higher_priority_goes_first_on_a_full_cluster(cluster: Cluster):
    """Jobs of a whole node each: those that wait start by priority, then in order of arrival."""
    node = next(cluster.tenant.nodes())
    whole = {"memory_mib": 64, "vcores_milli": int(node.capacity.vcores_milli)}
    only = "sub_cluster == east"
    fill = cluster.task_job("fill", cluster.gate("fill"), count=3, resources=whole, node_labels=only)
    cluster.started(fill, 3)
    waiting = {}
    for name, priority in (("low", -5), ("usual", 0), ("high", 7), ("usual-later", 0)):
        spec = cluster.spec(name, 'echo "$HYDRA_JOB_NAME" >> "$EVIDENCE/order"; sleep 0.2', count=3, resources=whole)
        waiting[name] = cluster.submit(spec | {"priority": priority})
    reason = wait_until(
        lambda: cluster.tenant.job(waiting["low"].id).groups[0].reason, 10, "the last one says why it waits"
    )
    asked, there = reason.asked["vcores_milli"], reason.limits[-1].available["vcores_milli"]
    assert asked == whole["vcores_milli"] > there
    cluster.open_gate("fill")
    for job in waiting.values():
        cluster.settled(job)
    order = (cluster.evidence / "order").read_text().split()
    firsts = list(dict.fromkeys(order))
    assert firsts == ["high", "usual", "usual-later", "low"], order


def test_the_reason_of_waiting_has_the_numbers(cluster: Cluster):
    huge = cluster.task_job("huge", "true", resources={"memory_mib": 4_000_000, "vcores_milli": 100})
    where = cluster.task_job("nowhere", "true", node_labels="gpu && !sub_cluster")

    def reason(job: int) -> str | None:
        found = cluster.tenant.job(job)
        return found.waiting if found.groups[0].reason else None

    text = wait_until(lambda: reason(huge.id), 10, "it says why it waits")
    largest = max(int(n.capacity.memory_mib) for n in cluster.tenant.nodes())
    assert "4,000,000" in text and f"{largest:,}" in text
    assert "gpu && !sub_cluster" in wait_until(lambda: reason(where.id), 10, "it says why it waits")
    found = cluster.tenant.job(huge.id).groups[0].reason
    assert found is not None and found.waiting == 1 and found.asked["memory_mib"] == 4_000_000


def test_an_idempotent_submit_returns_the_first_answer(cluster: Cluster):
    spec = cluster.spec("once", "true")
    first = cluster.submit(spec, idempotency_key="the-same-key")
    assert cluster.submit(spec, idempotency_key="the-same-key").id == first.id
    cluster.settled(first)
    assert len(cluster.starts(first)) == 1


@pytest.fixture
def gpu_node(cluster: Cluster) -> Iterator[str]:
    """A further node with four devices and a label of its own."""
    with cluster.node("gpu-node", gpus=4, labels={"gpu": "true", "zone": "b"}) as name:
        yield name


def test_devices_are_handed_out_once_and_labels_choose_the_node(cluster: Cluster, gpu_node: str):
    say = 'echo "$HYDRA_GPUS:$CUDA_VISIBLE_DEVICES" >> "$EVIDENCE/gpus"; '
    spec = cluster.spec("devices", say + cluster.gate("devices"), count=2, resources=SMALL | {"gpus": 2})
    spec["groups"][0]["node_labels"] = "gpu && zone in (a, b)"
    job = cluster.submit(spec)
    starts = cluster.started(job, 2)
    assert {start.node for start in starts} == {gpu_node}
    lines = wait_until(
        lambda: t if len(t := (cluster.evidence / "gpus").read_text().split()) == 2 else [],
        10,
        "both say what they got",
    )
    assert sorted(lines) == ["0,1:0,1", "2,3:2,3"]
    third = cluster.task_job("third", "true", resources=SMALL | {"gpus": 1})
    wait_until(lambda: cluster.tenant.job(third.id).waiting, 10, "no device is left")
    cluster.open_gate("devices")
    cluster.settled(job)
    cluster.settled(third)


def test_a_signal_from_outside_is_told_as_one(cluster: Cluster):
    job = cluster.task_job("shot", "exec sleep 600")
    cluster.signal(cluster.started(job, 1)[0].pid, signal.SIGUSR1)
    cluster.settled(job, 20, "FAILED")
    container = containers(cluster, job.id)[0]
    assert (container.reason, container.exit_code) == ("SIGNAL", 128 + signal.SIGUSR1)


def test_a_trace_is_replayed_at_its_pace_on_the_running_cluster(cluster: Cluster, tmp_path: Path):
    group = {"memory_mib": 64, "vcores_milli": 100}
    trace = [
        {"format": "hydra-history", "version": 1},
        {"at_s": 0.0, "queue": "root.default", "user": "a", "groups": [group | {"count": 2, "run_s": [10.0, 20.0]}]},
        {
            "at_s": 30.0,
            "queue": "root.default",
            "user": "b",
            "groups": [group | {"count": 1, "run_s": [5], "fails": [0]}],
        },
        {"at_s": 30.0, "queue": "root.default", "user": "b", "groups": [group | {"count": 1, "run_s": [40.0]}]},
    ]
    (tmp_path / "trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in trace))
    said = hydractl(cluster, "replay", str(tmp_path / "trace.jsonl"), "--speed", "20", "--wait")
    tag = re.search(r"the tag (replay-\w+)", said).group(1)
    assert "3 jobs submitted" in said and "3 succeeded" in said
    jobs = sorted(cluster.tenant.jobs(tag=tag), key=lambda job: job.id)
    assert [sum(g.count for g in job.groups) for job in jobs] == [2, 1, 1]
    assert (jobs[1].submitted_at - jobs[0].submitted_at).total_seconds() >= 0.5  # of 1.5: the first may be late
    assert (jobs[0].finished_at - jobs[0].submitted_at).total_seconds() >= 0.95, "its longer task sleeps for a second"
    assert [c.attempt for c in containers(cluster, jobs[1].id) if c.state == "SUCCEEDED"] == [2]
    cluster.acknowledged.update(job.id for job in jobs)


def hydractl(cluster: Cluster, *words: str) -> str:
    """As the tenant, from a shell: all it writes."""
    done = cluster.hydractl("tenant", *words)
    return done.stdout + done.stderr
