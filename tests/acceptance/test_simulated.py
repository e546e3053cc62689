"""The same scripts of jobs on four real node managers and in simulation: the same places, and nearly the same times."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from client import Client
from simulator.engine import Setup, Simulation
from simulator.site import Pace
from simulator.workload import Machine, Submission, SubmittedGroup
from tests.homes import ready_made
from tests.machine import FACTOR
from tests.patience import let_pass, wait_until
from tests.stack import Stack

pytestmark = pytest.mark.faults

NODES = 4
HALVES = {"queues": {name: {"guaranteed": 0.5, "open_to_all": True} for name in ("default", "other")}}
TRIES = 4
LATE_S = 1.0  # of the real one, which starts processes and waits for what they say


@dataclass(frozen=True)
class Scripted:
    """A job of the script; task i runs for ``run_s + i`` beats. part: of a node's cores that each asks for.

    gap_s: beats after the job before was stored.
    """

    tasks: int
    part: float
    run_s: int
    gap_s: float = 0.5
    gang: bool = False
    queue: str = "root.default"

    def runs_s(self, beat_s: int) -> np.ndarray:
        return beat_s * (self.run_s + np.arange(self.tasks, dtype=np.float64))


Script = tuple[Scripted, ...]
# What ends lies apart by about a beat or more, so that the order of ends is that of the script.
SCRIPTS: dict[str, Script] = {
    "sizes and a gang": (
        Scripted(4, 0.5, 8),
        Scripted(2, 0.3, 4),
        Scripted(3, 0.5, 3, gang=True),
        Scripted(1, 0.2, 2),
        Scripted(2, 0.5, 1),
        Scripted(2, 0.9, 1),
    ),
    # The first queue has all there is; what ends goes to the other until that wants no more.
    "two queues": (
        Scripted(8, 0.5, 3),
        Scripted(2, 0.5, 13),
        Scripted(3, 0.5, 11, queue="root.other"),
    ),
}
Ran = dict[tuple[int, int], tuple[str, float, float]]  # job, task -> node, start and end since the first submission


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(ready_made(tmp_path_factory.mktemp("simulated") / "home"), sub_clusters=1, nodes=NODES) as running:
        operator = running.client("operator")
        wait_until(lambda: sum(n.state == "UP" for n in operator.nodes()) == NODES, 60, "every node is up")
        yield running


def beat() -> int:
    """A second, or three where the machine has much else to do and everything takes its time."""
    return 3 if os.getloadavg()[0] > (os.cpu_count() or 1) else 1


def group(s: Scripted, vcores: int, beat_s: int) -> dict[str, Any]:
    return {
        "name": "work", "count": s.tasks, "shell": True, "gang": s.gang,
        "command": f"sleep $(({beat_s} * ({s.run_s} + HYDRA_TASK_INDEX)))",
        "resources": {"memory_mib": 64, "vcores_milli": round(vcores * s.part)},
    }  # fmt: skip


def submitted(tenant: Client, script: Script, vcores: int, beat_s: int) -> tuple[list[int], list[datetime]]:
    """Play the script: each job's number, and when it was stored."""
    jobs, at = [], []
    for s in script:
        let_pass(s.gap_s * beat_s)  # the script's own beat, not a wait for anything
        job = tenant.submit({"name": "scripted", "queue": s.queue, "groups": [group(s, vcores, beat_s)]})
        assert job.submitted_at is not None
        jobs.append(job.id)
        at.append(job.submitted_at)
    return jobs, at


def really(tenant: Client, jobs: list[int], first: datetime) -> Ran:
    found: Ran = {}
    for number, job in enumerate(jobs):
        assert tenant.wait(job, timeout_s=300).state == "SUCCEEDED"
        for c in tenant.containers(job):
            assert c.node and c.started_at and c.finished_at and c.attempt == 1
            times = [(at - first).total_seconds() for at in (c.started_at, c.finished_at)]
            found[number, c.index] = c.node, times[0], times[1]
    return found


def simulated(machines: list[Machine], script: Script, policy: dict[str, Any], at: list[float], beat_s: int) -> Ran:
    """The same script under the same policy."""
    vcores = machines[0].vcores_milli
    work = [
        Submission(
            t,
            s.queue,
            "tenant",
            (SubmittedGroup(s.tasks, 64, round(vcores * s.part), s.runs_s(beat_s), gang=s.gang),),
            number,
        )
        for number, (s, t) in enumerate(zip(script, at, strict=True))
    ]
    s = Simulation(Setup({"one": machines}, policy, Pace(), check=True), work)
    names = {row["id"]: row["name"] for row in s.rows.subs[1].nodes.values()}
    found: Ran = {}

    def hear(sub: int, c: Any) -> None:
        for block in c.ended:
            for job, task, node, started, ended in zip(
                *(block[name].tolist() for name in ("job", "task", "node", "started_us", "finished_us")), strict=True
            ):
                began = (started - s.clock.to_us(0.0)) / 1e6
                found[job - 1, task] = names[node], began, (ended - s.clock.to_us(0.0)) / 1e6

    s.listeners.append(hear)
    s.run()
    return found


def in_order(ran: Ran) -> list[tuple[int, int]]:
    """Which task ended when, the first first."""
    return sorted(ran, key=lambda key: ran[key][2])


def places(ran: Ran) -> dict[tuple[int, int], str]:
    return {key: node for key, (node, _, _) in ran.items()}


def played(stack: Stack, script: Script, machines: list[Machine], beat_s: int) -> tuple[Ran, Ran]:
    """The script on the real nodes, and in simulation with the same submissions.

    Nodes that are alike take turns. In which order, and whose turn it is when the script begins, is all that the
    simulation is not told: the first job's tasks, one for each node, show it.
    """
    operator, tenant = stack.client("operator"), stack.client("tenant")
    jobs, stored = submitted(tenant, script, machines[0].vcores_milli, beat_s)
    real = really(tenant, jobs, stored[0])
    at = [(moment - stored[0]).total_seconds() for moment in stored]
    turns = [places(real)[0, task] for task in range(NODES)]
    in_turn = sorted(machines, key=lambda m: turns.index(m.name) if m.name in turns else NODES)
    return real, simulated(in_turn, script, operator.policy().document, at, beat_s)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_in_simulation_as_on_real_nodes(stack: Stack, name: str) -> None:
    operator, script = stack.client("operator"), SCRIPTS[name]
    pushed = operator.apply_policy((operator.policy().document or {}) | HALVES, "two halves", force=True)
    wait_until(lambda: operator.policy_convergence(pushed.version).converged, 30, "all run it")
    nodes = sorted(operator.nodes(), key=lambda node: node.id)
    machines = [
        Machine(n.name, int(n.capacity.memory_mib), int(n.capacity.vcores_milli), rack=n.rack, labels=n.labels)
        for n in nodes
    ]
    for again in range(TRIES):
        beat_s = max(beat(), 1 + 2 * again)
        real, ours = played(stack, script, machines, beat_s)
        # A machine with too much to do ends what lies a second apart as it likes, or sees in one round what lay in two.
        if in_order(real) == in_order(ours) and places(real) == places(ours):
            break
    assert places(real) == places(ours)
    late = [max(real[key][i] - ours[key][i] for i in (1, 2)) for key in ours]
    early = [max(ours[key][i] - real[key][i] for i in (1, 2)) for key in ours]
    print(f"measured: real starts and ends are {max(late):.2f} s later at most, {max(early):.2f} s earlier at most")
    assert max(late) < LATE_S * beat_s * FACTOR and max(early) < 0.2 * beat_s * FACTOR
