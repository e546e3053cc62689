"""``hydractl policy simulate`` and ``sub-cluster simulate-drain`` against a real web process, with real runners."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connections
from knox.models import AuthToken

from contract.simulations import SimulationDetail
from controlplane.accounts.models import User
from controlplane.statestore.models import Node, Simulation, SubCluster
from controlplane.whatif import history, tasks
from simulator.workloads.history import load
from tests import hydractl as shell
from tests.integration.api.served import web
from tests.integration.whatif.past import BEGIN, END, busy_hour, live, nodes
from tests.integration.whatif.test_runs import OTHER, processes  # noqa: F401 - a fixture
from tests.machine import FACTOR
from tests.stores import ROOT
from tests.unit.simulator.workload_cases import same

Hydractl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def served(operator: User, west: SubCluster, processes: None, tmp_path: Path) -> Iterator[dict[str, str]]:  # noqa: F811
    """The environment of a shell in which hydractl is an operator's; somebody offers simulations meanwhile, as workers
    do."""
    over = threading.Event()

    def offer() -> None:
        while not over.wait(0.2):
            tasks.offer()
        connections.close_all()

    offering = threading.Thread(target=offer)
    token = AuthToken.objects.create(operator)[1]
    with web() as url:
        offering.start()
        try:
            yield {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "HYDRA_URL": url, "HYDRA_TOKEN": token}
        finally:
            over.set()
            offering.join()


@pytest.fixture
def hydractl(served: dict[str, str]) -> Hydractl:
    """Runs hydractl in that shell, to its end."""
    return lambda *words: shell.run(words, served, timeout_s=400)


def test_the_recorded_history_as_a_file(hydractl: Hydractl, operator: User, west: SubCluster, tmp_path: Path) -> None:
    """It says what simulations replay, and nothing else where nothing ran."""
    busy_hour(west, operator, 12, ("root.default", "root.prod.etl"))
    file, none = tmp_path / "last.jsonl.gz", tmp_path / "none.jsonl.gz"
    window = [f"--from={BEGIN:%Y-%m-%dT%H:%M:%SZ}", f"--to={END:%Y-%m-%dT%H:%M:%SZ}"]
    done = hydractl("history", str(file), *window)
    assert done.returncode == 0, done.stderr
    assert same(load(file), history.read(BEGIN, END).jobs) and "12 jobs" in done.stderr
    unwritten = hydractl("history", str(tmp_path / "none" / "h.gz"), *window)
    assert unwritten.returncode and f"there is no folder {tmp_path / 'none'}" in unwritten.stderr
    empty = hydractl("history", str(none), "--from=-30h", "--to=-29h")
    assert empty.returncode and "no job ran in this window" in empty.stderr
    assert list(tmp_path.glob("*.jsonl.gz")) == [file] and not list(tmp_path.glob(".*.part"))


def test_an_operator_asks_with_hydractl(hydractl: Hydractl, operator: User, west: SubCluster, tmp_path: Path) -> None:
    nodes(west, 1)
    busy_hour(west, operator, 40, ("root.default", "root.prod.etl"))
    file, kept, page = (tmp_path / name for name in ("policy.json", "answer.json", "report.html"))
    file.write_text(json.dumps(OTHER))
    window = [f"--from={BEGIN:%Y-%m-%dT%H:%M:%SZ}", f"--to={END:%Y-%m-%dT%H:%M:%SZ}"]
    words = ("--seeds", "2", "--json", str(kept), "--html", str(page))
    done = hydractl("policy", "simulate", str(file), *window, *words)
    out, said = done.stdout, done.stderr
    assert done.returncode == 0, said
    assert "40 jobs, 160 containers, 1 node" in out and "After: proposed. 2 seeds each." in out
    assert "USER" in out and "operator" in out.partition("USER")[2]
    assert "Wait, mean" in out and "root.prod.etl" in out and "PREEMPTIONS" in out and "simulation 1" not in out
    assert ": done" in said and "Traceback" not in said
    answer = json.loads(kept.read_text())
    SimulationDetail.model_validate(answer, extra="forbid")
    assert answer["result"]["jobs"] == 40 and page.read_text().startswith("<!DOCTYPE html>")
    listed = hydractl("policy", "simulations")
    assert "done" in listed.stdout and listed.returncode == 0
    again = hydractl("policy", "simulations", str(answer["id"]))
    assert again.stdout == out
    trace(hydractl, file, tmp_path / "nasa.swf")
    refused = hydractl("policy", "simulate", str(file), *window, "--queue", "root.old=root.prod")
    assert "queues.root.old" in refused.stderr and "did you mean root.prod" in refused.stderr
    assert "is not OLD=NEW" in hydractl("policy", "simulate", str(file), "--queue", "root.old").stderr
    refused = hydractl("policy", "simulate", "4000")
    assert "there is no policy version 4000" in refused.stderr and refused.returncode == 2


def trace(hydractl: Hydractl, policy: Path, log: Path) -> None:
    """The same with a log that is handed in, and is kept; a bad one is refused with its line."""
    lines = [f"{n} {10 * n} -1 30 2 -1 -1 2 60 -1 1 {n % 3} 1 -1 1 -1 -1 -1" for n in range(30)]
    log.write_text("\n".join(["; MaxProcs: 4", *lines]) + "\n")
    words = ("--trace", str(log), "--workload", "swf", "--own-nodes", "--seeds", "1")
    done = hydractl("policy", "simulate", str(policy), *words)
    out, said = done.stdout, done.stderr
    assert done.returncode == 0 and "30 jobs, 60 containers over 3" in said, said
    assert "trace nasa.swf: 30 jobs, 60 containers, 4 nodes" in out and "are the trace's own" in out
    assert "u2" in out.partition("USER")[2]
    assert "nasa.swf" in hydractl("policy", "traces").stdout
    log.write_text(lines[0] + "\nbroken\n")
    refused = hydractl("policy", "simulate", str(policy), "--trace", str(log), "--workload", "swf")
    assert "line 2, field 2 (submit time)" in refused.stderr and refused.returncode == 2


def test_ctrl_c_cancels(served: dict[str, str], operator: User, west: SubCluster) -> None:
    nodes(west, 4)
    busy_hour(west, operator, 300)
    version = str(Simulation._meta.get_field("base").related_model.objects.get().pk)
    command = subprocess.Popen(
        [sys.executable, "-m", "client", "policy", "simulate", version], env=served | {"PYTHONPATH": str(ROOT)},
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert "simulation" in command.stderr.readline()  # it waits for the answer by now
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=200 * FACTOR)
    assert command.returncode == 130 and "is cancelled" in said and "Traceback" not in said
    assert Simulation.objects.get().state == "cancelled"


def test_an_operator_asks_what_a_drain_would_do(
    hydractl: Hydractl, operator: User, west: SubCluster, east: SubCluster, tmp_path: Path
) -> None:
    nodes(west, 1)
    nodes(east, 1, labels={"zone": "lab"})
    live(east, operator, [{"count": 6, "estimated_duration_s": 300.0}], [(0, 2, Node.objects.get(name="east-1"))])
    live(east, operator, [{"name": "near", "node_labels": "zone == lab"}])
    kept, page = tmp_path / "answer.json", tmp_path / "report.html"
    words = ("--ahead", "20m", "--no-forecast", "--json", str(kept), "--html", str(page))
    done = hydractl("sub-cluster", "simulate-drain", "east", *words)
    out, said = done.stdout, done.stderr
    assert done.returncode == 0, said
    assert "east drained at" in out and "containers of" in out and "it is empty after 19" in out
    assert "1 task group of 1 live job could start nowhere else" in out and "zone == lab" in out
    assert "Before: as it is. After: east drained." in out and "No further job is taken to come." in out
    assert ": done" in said and "Traceback" not in said
    answer = json.loads(kept.read_text())
    SimulationDetail.model_validate(answer, extra="forbid")
    assert answer["kind"] == "drain" and answer["result"]["drained"]["running"] == 2
    assert "What draining east would do" in page.read_text()
    stopped = hydractl("sub-cluster", "simulate-drain", "east", "--ahead", "20m", "--deadline", "1m", "--no-forecast")
    assert "what still runs there after 60.0 s is stopped" in stopped.stdout, stopped.stdout + stopped.stderr
    listed = hydractl("policy", "simulations")
    assert "drain of east" in listed.stdout
    again = hydractl("policy", "simulations", str(answer["id"]))
    assert again.stdout == out
    refused = hydractl("sub-cluster", "simulate-drain", "north")
    assert "there is no sub-cluster" in refused.stderr and refused.returncode == 2
