"""Scripts of jobs that are played on real node managers and in simulation, and what became of them."""

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from client import Client
from simulator.engine import Setup, Simulation
from simulator.site import Pace
from simulator.workload import Machine, Submission, SubmittedGroup
from tests.machine import FACTOR
from tests.patience import let_pass, wait_until
from tests.stack import Stack

TRIES = 4
LATE_S = 1.0  # of the real one, which starts processes and waits for what they say
EARLY_S = 0.2


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
Ran = dict[tuple[int, int], tuple[str, float, float]]  # job, task -> node, start and end since the first submission
Machines = dict[str, list[Machine]]  # by sub-cluster


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


def simulated(machines: Machines, script: Script, policy: dict[str, Any], at: list[float], beat_s: int) -> Ran:
    """The same script under the same policy."""
    vcores = cores(machines)
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
    s = Simulation(Setup(machines, policy, Pace(), check=True), work)
    names = {row["id"]: row["name"] for sub in s.rows.subs.values() for row in sub.nodes.values()}
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


def cores(machines: Machines) -> int:
    """Of each node, in millicores; they are alike."""
    (found,) = {m.vcores_milli for own in machines.values() for m in own}
    return found


def machines_of(operator: Client) -> Machines:
    found: Machines = {}
    for n in sorted(operator.nodes(), key=lambda node: node.id):
        size = int(n.capacity.memory_mib), int(n.capacity.vcores_milli)
        found.setdefault(n.sub_cluster, []).append(Machine(n.name, *size, rack=n.rack, labels=n.labels))
    return dict(sorted(found.items()))


def push(operator: Client, policy: dict[str, Any]) -> None:
    """Have all run it."""
    pushed = operator.apply_policy((operator.policy().document or {}) | policy, "as the script wants it", force=True)
    wait_until(lambda: operator.policy_convergence(pushed.version).converged, 30, "all run it")


def played(stack: Stack, script: Script, machines: Machines, beat_s: int) -> tuple[Ran, Ran]:
    """The script on the real nodes, and in simulation with the same submissions.

    Nodes that are alike take turns. In which order, and whose turn it is when the script begins, is all that the
    simulation is not told: the first tasks that run on each show it.
    """
    operator, tenant = stack.client("operator"), stack.client("tenant")
    jobs, stored = submitted(tenant, script, cores(machines), beat_s)
    real = really(tenant, jobs, stored[0])
    at = [(moment - stored[0]).total_seconds() for moment in stored]
    turns = list(dict.fromkeys(places(real)[key] for key in sorted(real)))
    in_turn = {sub: sorted(own, key=lambda m: turns.index(m.name)) for sub, own in machines.items()}
    return real, simulated(in_turn, script, operator.policy().document, at, beat_s)


def assert_alike(stack: Stack, script: Script, least_s: int = 1) -> Ran:
    """The same places, the same order of ends, and nearly the same times; what became of it really.

    least_s: a beat of the script, at least.
    """
    machines = machines_of(stack.client("operator"))
    for again in range(TRIES):
        beat_s = max(beat(), least_s + 2 * again)
        real, ours = played(stack, script, machines, beat_s)
        # A machine with too much to do ends what lies a second apart as it likes, or sees in one round what lay in two.
        if in_order(real) == in_order(ours) and places(real) == places(ours):
            break
    assert places(real) == places(ours)
    later = [there - here for key in ours for there, here in zip(real[key][1:], ours[key][1:], strict=True)]
    print(f"measured: real starts and ends are {max(later):.2f} s later at most, {-min(later):.2f} s earlier at most")
    assert max(later) < LATE_S * beat_s * FACTOR and -min(later) < EARLY_S * beat_s * FACTOR
    return real
