"""Operators empty nodes that really run things, take them back, and let a script judge them."""

import json
import math
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from contract.jobs import Job
from contract.nodes import Node
from tests.acceptance.cluster import Cluster
from tests.limits import no_sooner
from tests.machine import FACTOR
from tests.patience import let_pass, stretched, wait_until

pytestmark = pytest.mark.acceptance

# Answers on a port of its own, which it writes down; ends at once when it is asked to.
SERVE = """exec python3 -c '
import http.server, os
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(os.environ["HYDRA_NODE"].encode())
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
name = os.environ["EVIDENCE"] + "/port-" + os.environ["HYDRA_CONTAINER_ID"]
open(name + ".new", "w").write(str(server.server_port)); os.rename(name + ".new", name)
server.serve_forever()'"""


class Watch:
    """Asks every task of a service, over and over; ``silent``: moments at which none of them answered."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked, self.silent = folder, 0, 0
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def answering(self) -> list[str]:
        """Nodes whose task answers now."""
        found = []
        for path in sorted(self.folder.glob("port-*")):
            if path.suffix:
                continue
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{path.read_text()}", timeout=2) as answer:
                    found.append(answer.read().decode())
            except OSError:
                continue
        return found

    def _run(self) -> None:
        while not self.stopping.wait(0.05):
            self.asked += 1
            self.silent += not self.answering()


@contextmanager
def watching(cluster: Cluster) -> Iterator[Watch]:
    for old in cluster.evidence.glob("port-*"):
        old.unlink()
    watch = Watch(cluster.evidence)
    yield watch
    watch.stopping.set()
    watch.thread.join(stretched(10))


def hydractl(cluster: Cluster, *words: str) -> str:
    """As the operator, from a shell."""
    return cluster.hydractl("operator", *words).stdout


def node(cluster: Cluster, name: str) -> Node:
    (found,) = cluster.operator.nodes(name=name)
    return found


def held(cluster: Cluster, job: Job, name: str) -> list[int]:
    """Tasks of the job that run on that node now."""
    return sorted(task for _, at, task, _, state in cluster.live(job) if at == name and state == 2)


def reasons(cluster: Cluster, job: Job) -> list[Any]:
    return [c.reason for c in cluster.tenant.containers(job.id) if c.finished_at]


@pytest.mark.faults
def test_a_drained_node_is_left_by_services_first_and_by_the_rest_at_its_deadline(cluster: Cluster) -> None:
    deadline_s = math.ceil(6 * FACTOR)
    deadline = ("--deadline", f"{deadline_s}s")
    with watching(cluster) as watch:
        service = cluster.submit({**cluster.spec("web", SERVE, count=4), "kind": "service"})
        wait_until(lambda: len(watch.answering()) == 4, 30, "the service answers")
        long = cluster.task_job("long", cluster.gate("long"), count=9, retries=0, estimated_duration_s=3600)
        wait_until(
            lambda: sum(state == 2 for *_, state in cluster.live(long)) == 9, 30, "all run, as their leader knows"
        )
        name = next(n for _, n, *_ in cluster.live(service) if held(cluster, long, n))
        services, tasks = held(cluster, service, name), held(cluster, long, name)
        preview = json.loads(hydractl(cluster, "node", "drain", name, *deadline, "--preview", "-o", "json"))
        assert [(s["tasks"], s["fit"]) for s in preview["services"]] == [(services, len(services))]
        assert [(b["index"], b["outcome"]) for b in preview["batch"]] == [(task, "stopped") for task in tasks]
        assert node(cluster, name).duty == "in_service", "it was only a preview"

        watch.thread.start()
        with no_sooner(deadline_s, "what may stay until the deadline had left"):
            hydractl(cluster, "node", "drain", name, *deadline, "-m", "new disks")
            wait_until(lambda: not held(cluster, service, name), 5, "the service has left")
            assert held(cluster, long, name) == tasks, "batch tasks may go on until the deadline"
            wait_until(lambda: node(cluster, name).drained, deadline_s + 9, f"{name} is drained")
        assert not held(cluster, long, name)
        wait_until(lambda: len(watch.answering()) >= 4 and len(cluster.live(service)) == 4, 20, "all answer again")
        wait_until(lambda: len(cluster.live(long)) == 9, 20, "the stopped tasks started elsewhere")
        assert name not in {n for _, n, *_ in cluster.live(long)}
        assert set(reasons(cluster, service)) == set(reasons(cluster, long)) == {"DRAINED"}
        told = [e.message for e in cluster.tenant.events(long.id) if e.kind == "drain"]
        assert told and f"node {name} is being drained: new disks" in told[0]
        assert watch.asked > 20 and watch.silent == 0, "it answered at every moment"

    assert "DRAINED" in hydractl(cluster, "nodes")
    other = cluster.task_job("other", "true", count=12)
    cluster.settled(other)
    assert name not in {s.node for s in cluster.starts(other)}
    hydractl(cluster, "node", "uncordon", name)
    again = cluster.task_job("again", cluster.gate("again"), count=12)
    wait_until(lambda: held(cluster, again, name), 20, f"{name} takes work again")
    cluster.open_gate("again")
    cluster.open_gate("long")
    cluster.settled(again)
    cluster.settled(long)
    assert sum(g.failed for g in cluster.tenant.job(long.id).groups) == 0
    cluster.tenant.kill(service.id)
    cluster.wait(service)


def test_maintenance_from_now_on_and_cancelled(cluster: Cluster) -> None:
    made = json.loads(
        hydractl(cluster, "maintenance", "add", "east", "--node", "east-2", "--start", "+1h", "--for", "2h", "--lead",
                 "2h", "-m", "firmware", "-o", "json")
    )  # fmt: skip
    assert (made["state"], made["nodes"]) == ("emptying", 1)
    assert "firmware" in hydractl(cluster, "maintenance", "list")
    wait_until(lambda: node(cluster, "east-2").drained, 10, "it is empty")
    assert "MAINTENANCE" in hydractl(cluster, "node", "east-2") or "DRAINED" in hydractl(cluster, "node", "east-2")
    job = cluster.task_job("beside", "true", count=12)
    cluster.settled(job)
    assert "east-2" not in {s.node for s in cluster.starts(job)}
    hydractl(cluster, "maintenance", "cancel", str(made["id"]))
    back = cluster.task_job("back", cluster.gate("back"), count=12)
    wait_until(lambda: held(cluster, back, "east-2"), 20, "it works again")
    cluster.open_gate("back")
    cluster.settled(back)


def test_a_health_script_stops_new_work_and_recovers_alone(cluster: Cluster) -> None:
    verdict = cluster.evidence / "verdict"
    verdict.write_text("exit 0")
    settings = {"health_script": ["/bin/sh", str(verdict)], "health_interval_s": 0.3, "labels": {"checked": "true"}}
    with cluster.node("checked", **settings) as name:
        held_on = cluster.task_job("held-on", cluster.gate("held-on"), node_labels="checked")
        cluster.started(held_on, 1)
        verdict.write_text("echo ERROR fan 3 stands still")
        wait_until(lambda: node(cluster, name).state == "UNHEALTHY", 10, "the node says that it is not well")
        wait_until(lambda: node(cluster, name).health_text, 10, "and why")
        assert "ERROR fan 3 stands still" in hydractl(cluster, "node", name)
        waits = cluster.task_job("waits", "true", node_labels="checked")
        wait_until(lambda: cluster.tenant.job(waits.id).waiting, 10, "new work waits")
        assert held(cluster, held_on, name) == [0], "what runs, runs on"
        verdict.write_text("exit 0")
        cluster.settled(waits)
        wait_until(lambda: node(cluster, name).state == "UP", 10, "the node is well again")
        assert node(cluster, name).health_text == ""
        cluster.open_gate("held-on")
        cluster.settled(held_on)


def test_a_decommissioned_node_manager_does_not_come_back_by_itself(cluster: Cluster) -> None:
    with cluster.node("leaver", labels={"leaver": "true"}) as name:
        job = cluster.task_job("stays", cluster.gate("stays"), node_labels="leaver")
        cluster.started(job, 1)
        hydractl(cluster, "node", "decommission", name, "--deadline", "never")
        waits = cluster.task_job("comes-late", "true", node_labels="leaver")
        wait_until(lambda: cluster.tenant.job(waits.id).waiting, 10, "it takes nothing new")
        cluster.open_gate("stays")
        cluster.settled(job)
        wait_until(lambda: node(cluster, name).state == "DECOMMISSIONED", 15, "it leaves once it is empty")
        asked = len(cluster.sql("SELECT 1 FROM statestore_auditentry WHERE action = 'node.reregister'"))
        let_pass(6)  # longer than the agent's pause between two requests for a session
        assert node(cluster, name).state == "DECOMMISSIONED"
        assert len(cluster.sql("SELECT 1 FROM statestore_auditentry WHERE action = 'node.reregister'")) == asked
        hydractl(cluster, "node", "uncordon", name)
        cluster.settled(waits)


def test_a_container_that_is_lost_with_its_node_has_no_exit_code(cluster: Cluster) -> None:
    """Whoever knows that a machine is gone says so, rather than waits until it has been silent for long enough."""
    with cluster.node("doomed") as name:
        here, gate = {"nodes": [name]}, cluster.gate("outlives")
        moves = cluster.task_job("moves", gate, locality=here)
        waits = cluster.task_job("waits", gate, locality=here | {"relax": False})
        for job in (moves, waits):
            assert [start.node for start in cluster.started(job, 1)] == [name]
        with cluster.cut_off(name):
            hydractl(cluster, "node", "decommission", name, "--now")
            cluster.started(moves, 2)
            cluster.open_gate("outlives")
            cluster.settled(moves)
        hydractl(cluster, "kill", str(waits.id))
        cluster.settled(waits, state="KILLED")
    assert exits(cluster, "containers", moves) == [("LOST", "NODE_LOST", None), ("SUCCEEDED", None, 0)]
    assert exits(cluster, "tasks", moves) == [("SUCCEEDED", None, 0)]
    assert exits(cluster, "containers", waits) == [("LOST", "NODE_LOST", None)]
    assert exits(cluster, "tasks", waits) == [("KILLED", None, None)]
    for listed in ("containers", "tasks"):
        table = hydractl(cluster, listed, str(waits.id), "--columns", "exit").split()
        assert table == ["EXIT", "-"]


def exits(cluster: Cluster, listed: str, job: Job) -> list[tuple[str, str | None, int | None]]:
    """State, reason and exit code of each, as programs read them."""
    found = json.loads(hydractl(cluster, listed, str(job.id), "-o", "json"))
    return [(each["state"], each.get("reason"), each["exit_code"]) for each in found]
