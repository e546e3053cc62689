"""What runs when a simulation begins goes on where it is, and what a drain makes wait is told task by task."""

from typing import Any

import numpy as np
import pytest

from simulator import figures
from simulator.engine import Setup, Simulation
from simulator.measures import Run
from simulator.workload import Machine, RunningContainers, RunningJob, Submission, SubmittedGroup
from tests.unit.simulator.test_engine import EXACT, HALVES, group, job, machines
from wire.resources import AXES
from wire.states import JobState

TWO = {"east": machines(2, "e"), "west": machines(2, "w")}


def running(sub: str, count: int, ran_s: float = 5.0, no: int = 0, first: int = 0, node: int = 0, gpus: int = 0) -> Any:
    """So many tasks of a group on one machine."""
    return RunningContainers(
        no, sub, np.arange(first, first + count), np.full(count, node), np.full(count, gpus), np.full(count, ran_s)
    )


def standing(home: str, groups: tuple[SubmittedGroup, ...], *parts: RunningContainers, **more: Any) -> RunningJob:
    return RunningJob(Submission(0.0, "root.a", "somebody", groups, home=home, **more), parts)


def simulated(there: list[RunningJob], coming: list[Submission] | None = None, drain: str = "", **more: Any) -> Run:
    setup = Setup(TWO, HALVES, EXACT, check=True, running_jobs=there, waits=True, **more)
    simulation = Simulation(setup, coming or [])
    if drain:
        simulation.drain(list(TWO).index(drain) + 1, 0.0)
    return simulation.run()


def test_what_runs_runs_on_for_what_is_left_and_holds_its_room() -> None:
    there = standing("east", (group(4, 20.0),), running("east", 4))
    run = simulated([there], [job(0.0, group(4, 3.0), home="east"), job(0.0, group(1, 2.0), home="west")])
    assert run.jobs["started"].tolist() == [0.0, 0.0, 0.0] and run.jobs["finished"].tolist() == [15.0, 3.0, 2.0]
    assert run.jobs["state"].tolist() == [JobState.SUCCEEDED] * 3 and run.jobs["containers"].tolist() == [4, 4, 1]
    assert run.used[0, 0, 1] == pytest.approx((4000 * 15 + 4000 * 3 + 1000 * 2) / 15)
    assert run.waited is not None and run.waited.wait_s.tolist() == [0.0] * 9 and run.emptied == {}


def test_the_rest_of_a_job_waits_for_room_that_what_runs_holds() -> None:
    full = standing("east", (group(10, 20.0),), running("east", 4), running("east", 4, first=4, node=1))
    other = standing("west", (group(8, 40.0),), running("west", 4), running("west", 4, first=4, node=1))
    run = simulated([full, other])
    assert run.waited is not None and run.waited.wait_s[8:10].tolist() == [15.0, 15.0]
    assert not run.waited.wait_s[:8].any() and run.jobs["finished"].tolist() == [35.0, 35.0]


def test_containers_of_a_job_at_home_elsewhere_are_its_guests() -> None:
    away = standing("west", (group(3, 20.0), group(1, 1.0, name="last", after=("tasks",))), running("east", 3))
    run = simulated([away])
    assert run.jobs["state"].tolist() == [JobState.SUCCEEDED] and run.jobs["finished"].tolist() == [16.0]
    assert run.lifecycles == 4 and run.waited is not None and not run.waited.wait_s.any()


def test_a_drained_sub_cluster_is_empty_when_its_last_task_has_ended() -> None:
    there = [standing("east", (group(2, 20.0),), running("east", 2))]
    run = simulated(there, [job(0.0, group(8, 30.0), home="west"), job(1.0, group(2, 5.0))], drain="east")
    assert run.emptied == {"east": 15.0}
    assert run.waited is not None and run.waited.wait_s.tolist() == [0.0] * 10 + [29.0, 29.0]
    assert simulated(there, [job(0.0, group(8, 30.0), home="west"), job(1.0, group(2, 5.0))]).jobs["started"][2] == 1.0


def test_what_waits_in_a_drained_sub_cluster_starts_elsewhere_once_there_is_room() -> None:
    full = standing("west", (group(8, 200.0),), running("west", 4, 100.0), running("west", 4, 100.0, first=4, node=1))
    run = simulated([full], [job(0.0, group(3, 5.0), home="east")], drain="east")
    assert run.waited is not None and run.waited.wait_s[8:].tolist() == pytest.approx([100.0] * 3, abs=2.0)


def test_services_leave_a_drained_sub_cluster_and_wait_where_there_is_no_room() -> None:
    web = standing("east", (group(4, 1e6),), running("east", 4), service=True)
    batch = standing("west", (group(6, 35.0),), running("west", 4), running("west", 2, first=4, node=1))
    run = simulated([web, batch], drain="east", until_s=60.0)
    assert run.waited is not None and run.emptied == {"east": 0.5} and not run.waited.waits.any()
    waited = np.sort(run.waited.wait_s[:4]).tolist()
    assert waited == [0.0, 0.0, 29.5, 29.5], "half at a time; two find room at once, the others where batch has ended"
    unmoved = simulated([web, batch], until_s=60.0)
    assert unmoved.waited is not None and not unmoved.waited.wait_s.any() and unmoved.lifecycles == 6


def test_services_at_home_elsewhere_leave_one_half_after_the_other() -> None:
    web = standing("west", (group(2, 1e6),), running("east", 2), service=True)
    full = standing("west", (group(8, 200.0),), running("west", 4, 100.0), running("west", 4, 100.0, first=4, node=1))
    run = simulated([web, full], drain="east", until_s=300.0)
    assert run.waited is not None and run.waited.wait_s[:2].tolist() == pytest.approx([100.0, 0.0], abs=2.0)
    assert run.emptied["east"] == pytest.approx(100.0, abs=2.0) and run.left == {"east": 0}


def test_what_nobody_takes_waits_to_the_end() -> None:
    picky = group(1, 5.0, node_labels="gpu")
    run = simulated([], [job(0.0, picky, home="east"), job(2.0, group(1, 1.0), home="east")], until_s=30.0)
    assert run.waited is not None and run.waited.waits.tolist() == [True, False]
    assert run.waited.wait_s.tolist() == [30.0, 0.0] and run.waited.jobs == 2


def test_what_is_held_and_wasted_before_the_beginning_is_no_part_of_it() -> None:
    """A service of 30 days and a batch task of 10 s, on a node that fails at 20 s."""
    web = standing("east", (group(1, 1e9),), running("east", 1, 30 * 86_400.0), service=True)
    batch = standing("east", (group(1, 500.0),), running("east", 1, 10.0))
    moved = Simulation(Setup(TWO, HALVES, EXACT, running_jobs=[web, batch], until_s=60.0), [])
    moved.fail(1, next(iter(moved.rows.subs[1].nodes)), 20.0)
    run = moved.run()
    found = figures.overall(run)
    lost_s = run.jobs["lost_work"][1] / 1000
    assert 30 <= lost_s < 200 and run.jobs["lost_work"][0] == 0, "the task from its beginning on, the service never"
    assert 0 < found["wasted_part"] < 1 and found["wasted_core_hours"] == pytest.approx(lost_s / 3600)
    assert found["wasted_part"] == pytest.approx(run.wasted.sum() / (figures.work_done(run).sum() + 10_000))
    for still in (run, simulated([web, batch], until_s=60.0)):
        whole = figures.by_queue(still)["share_held"].sum()
        assert figures.by_user(still)["share_held"][0] == pytest.approx(whole, rel=0.05), "the two say the same"


def test_a_service_that_moves_politely_wastes_nothing() -> None:
    web = standing("east", (group(4, 1e9),), running("east", 4, 30 * 86_400.0), service=True)
    run = simulated([web], drain="east", until_s=60.0)
    assert run.emptied["east"] < 60 and run.lifecycles == 4
    assert (figures.overall(run)["wasted_core_hours"], figures.overall(run)["wasted_part"]) == (0, 0)
    assert figures.by_user(run)["share_held"][0] == pytest.approx(figures.by_queue(run)["share_held"].sum(), rel=0.05)


def test_devices_that_are_held_are_counted() -> None:
    one = {"one": [Machine("n", 16_384, 4000, gpus=8)]}
    kind = SubmittedGroup(1, 1024, 1000, np.array([10.0]), gpus=1)
    there = RunningJob(job(0.0, kind, home="one"), (running("one", 1, ran_s=2.0, gpus=0b1000_0000),))
    run = Simulation(Setup(one, HALVES, EXACT, running_jobs=[there]), []).run()
    assert run.held[0, AXES.index("gpus")] == pytest.approx(8.0), "one for 8 s"


def test_devices_stay_taken() -> None:
    one = {"east": [Machine("e0", 16_384, 4000, gpus=2)], "west": []}
    kind = SubmittedGroup(1, 1024, 1000, np.array([10.0]), gpus=1)
    there = RunningJob(job(0.0, kind, home="east"), (running("east", 1, ran_s=2.0, gpus=0b10),))
    setup = Setup(one, HALVES, EXACT, check=True, running_jobs=[there], waits=True)
    run = Simulation(setup, [job(0.0, SubmittedGroup(2, 1024, 1000, np.array([3.0]), gpus=1), home="east")]).run()
    assert run.waited is not None and run.waited.wait_s.tolist() == [0.0, 0.0, 3.0]
