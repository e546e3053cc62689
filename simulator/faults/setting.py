"""What a life begins with and what is submitted in it, drawn from its seed."""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scheduler.registry import SPLITTING
from simulator.clock import VirtualClock
from simulator.rows import Json
from simulator.specs import job_row, node_row
from simulator.workload import Machine, Submission, SubmittedGroup

NODE_LOST_S = 3.0
MAX_DISCONNECT_S = 4.0
LIMITED = "limited"  # the queue of which at most ``MOST_JOBS`` run at a time
QUEUES = ("default", "other", LIMITED)
MOST_JOBS = 2
LABEL = "sub"  # of nodes: the name of their sub-cluster
SERVICES = 0.12  # of jobs, in most lives
MANY_SERVICES = 0.6  # where their tasks are scaled and restarted
_QUEUES = (("default", "default", "default", "other", LIMITED), ("default",), (LIMITED, LIMITED, "default"))
_PROXIES = ("locality", "locality", "broadcast", "weighted", "home")
_RUN_S = np.ones(1)


@dataclass(frozen=True, slots=True)
class LifeSetting:
    """machines: of each sub-cluster. queues: into which jobs go, some more often. gangs: whether there are any.

    calm_share: of what nodes and the network do goes well. rates: how much likelier
    than usual each kind of step is; 0: never. services: so many of the jobs are, 0 to 1. strays: so many of
    the jobs come to a home that can never hold them, 0 to 1.
    """

    machines: list[list[Machine]]
    policy: Json
    steps: int
    calm_share: float
    queues: tuple[str, ...]
    gangs: bool
    rates: dict[str, float] = field(default_factory=dict)
    services: float = SERVICES
    strays: float = 0.0


def draw(rng: random.Random, faults: list[str]) -> LifeSetting:
    """A small federation; each life knows only some kinds of faults, and these all the better."""
    subs = rng.choice((1, 1, 1, 2, 2, 3))
    machines = [[_machine(rng, sub, no) for no in range(rng.choice((1, 2, 2, 3, 4)))] for sub in range(1, subs + 1)]
    rates = {name: rng.choice((0.0, 0.0, 0.5, 1.0, 3.0)) for name in faults}
    gangs, steps = rng.random() < 0.7, rng.randrange(60, 140)
    calm_share, queues = rng.choice((0.5, 0.8, 0.95)), rng.choice(_QUEUES)
    strays = rng.choice((0.0, 0.1, 0.4)) if subs > 1 else 0.0
    return LifeSetting(machines, policy(rng), steps, calm_share, queues, gangs, rates, strays=strays)


def _machine(rng: random.Random, sub: int, no: int) -> Machine:
    cores = rng.choice((2, 4))
    gpus, labels = rng.choice((0, 0, 2)), {LABEL: f"s{sub}"}
    return Machine(f"s{sub}n{no}", 1024 * cores, 1000 * cores, gpus=gpus, rack=f"r{no % 2}", labels=labels)


def policy(rng: random.Random, proxied: str = "") -> Json:
    """A policy document. proxied: where tasks go, by name; any, if left out."""
    proxy: Json = {"policy": proxied or rng.choice(_PROXIES), "parameters": {}}
    if SPLITTING[proxy["policy"]].leaves_home:
        proxy["parameters"] = {"relax_after_s": rng.choice((0.5, 2.0)), "interval_s": 0.1}
    taking = {"policy": "owed", "parameters": {"grace_s": 1.0, "per_round": 1.0, "interval_s": 0.5}}
    components = {
        "shares": {"policy": rng.choice(("gif", "static"))},
        "amrmproxy": proxy,
        "preemption": taking if rng.random() < 0.5 else {"policy": "off"},
        "failing_nodes": {"policy": "avoid", "parameters": {"job_failures": rng.choice((2, 1000))}},
        "reservation": {"policy": "reserve", "parameters": {"after_s": 2.0, "max_node_share": 0.5}},
    }
    shared: Json = {"open_to_all": True}
    queues = {
        "default": {"guaranteed": 0.5} | shared,
        "other": {"guaranteed": 0.3, "ordering": rng.choice(("fifo", "fair"))} | shared,
        LIMITED: {"max_running_jobs": MOST_JOBS} | shared,
    }
    return {"queues": queues, "partitions": {}, "components": components}


def nodes(rows: list[Machine], first: int) -> list[Json]:
    return [node_row(first + no, machine) for no, machine in enumerate(rows)]


@dataclass(frozen=True, slots=True)
class Job:
    """A submission. fails: (group, task) -> so many of its first attempts end with exit code 1."""

    row: Json
    fails: dict[tuple[int, int], int]


def job(rng: random.Random, clock: VirtualClock, number: int, room: list[Machine], s: LifeSetting, stray: bool) -> Job:
    """One that a sub-cluster of these machines can run when it is empty. stray: and no other can."""
    gpus = any(machine.gpus for machine in room)
    service = rng.random() < s.services
    cores = min(m.vcores_milli for m in room) // 1000
    kinds = s.gangs and not service, service
    groups = [_group(rng, no, cores, room, gpus and not no, *kinds) for no in range(1 if service else _count(rng))]
    fails: dict[tuple[int, int], int] = {}
    often = rng.choice((0.1, 0.1, 0.5))
    for no, group in enumerate(groups):
        for task in range(group.count):
            if not service and rng.random() < often:
                fails[no, task] = rng.choice((1, 1, 1, 2, 9))
    asked = Submission(clock.now, f"root.{rng.choice(s.queues)}", rng.choice("ab"), tuple(groups), number)
    row = job_row(asked, 1 + "ab".index(asked.user), clock) | {"priority": rng.randrange(3)}
    row["kind"] = "service" if service else "batch"
    if not service and rng.random() < 0.3:
        row["spec"]["groups"][0]["outputs"] = [{"name": "out", "path": "out", "optional": False}]
    for group in row["spec"]["groups"]:
        group["grace_s"] = 1
        if stray:
            group["node_labels"] = f"{LABEL} == {room[0].labels[LABEL]}"
    return Job(row, fails)


def _count(rng: random.Random) -> int:
    return rng.choice((1, 1, 1, 2, 3))


def _group(
    rng: random.Random, no: int, cores: int, room: list[Machine], gpus: bool, gangs: bool, service: bool
) -> SubmittedGroup:
    size = rng.choice((1, 1, 1, min(2, cores)))
    asks_gpu = gpus and rng.random() < 0.4
    places = sum(m.vcores_milli // 1000 // size for m in room)
    count = rng.randrange(1, 7) if not service else rng.randrange(1, 4)
    gang = gangs and not (no or asks_gpu) and rng.random() < 0.4
    more: dict[str, Any] = {}
    if no and rng.random() < 0.7:
        more["after"] = (f"g{rng.randrange(no)}",)
    if rng.random() < 0.15:
        more["nodes"] = (rng.choice(room).name,)
    return SubmittedGroup(
        count=min(count, places) if gang else count, memory_mib=1024 * size, vcores_milli=1000 * size, run_s=_RUN_S,
        name=f"g{no}", gpus=int(asks_gpu), gang=gang, retries=rng.choice((0, 2, 3)), **more,
    )  # fmt: skip
