"""The round driver on a virtual clock: what a simulation promises, on federations small enough to reason about."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from simulator import figures
from simulator.engine import Setup, Simulation
from simulator.measures import Run
from simulator.site import Pace
from simulator.workload import Disordered, Machine, Submission, SubmittedGroup, critical_path_s
from wire.resources import AXES
from wire.states import JobState

OPEN = {"open_to_all": True}
HALVES = {"queues": {"a": {"guaranteed": 0.5, **OPEN}, "b": {"guaranteed": 0.5, **OPEN}}}
EXACT = Pace(interval_s=0.0, idle_s=0.0, heartbeat_s=0.0)


def machines(count: int, prefix: str = "n", vcores: int = 4) -> list[Machine]:
    return [Machine(f"{prefix}{i}", 16_384, vcores * 1000, rack=f"{prefix}{i % 2}") for i in range(count)]


def group(count: int, run_s: float, **more: Any) -> SubmittedGroup:
    return SubmittedGroup(count, 1024, 1000, np.array([run_s]), **more)


def job(at_s: float, *groups: SubmittedGroup, queue: str = "root.a", **more: Any) -> Submission:
    return Submission(at_s, queue, "somebody", groups, **more)


def crowd(seed: int, jobs: int = 60) -> Iterator[Submission]:
    rng, at = np.random.default_rng(seed), 0.0
    for number in range(jobs):
        at += rng.exponential(2.0)
        tasks = int(rng.integers(1, 8))
        queue, user = f"root.{'ab'[int(rng.integers(2))]}", f"u{rng.integers(3)}"
        runs_s, gang = rng.exponential(20, tasks) + 0.5, bool(rng.random() < 0.2)
        group = SubmittedGroup(tasks, 1024, 1000, runs_s, estimate_s=20, gang=gang)
        yield Submission(at, queue, user, (group,), number)


def simulated(workload: Any, *, policy: Any = HALVES, pace: Pace = EXACT, subs: Any = None, **more: Any) -> Simulation:
    setup = Setup(subs or {"one": machines(4)}, policy, pace, check=True, **more)
    return Simulation(setup, workload)


def digest(run: Run) -> str:
    """What a run measured, but for the machine's own time."""
    found = hashlib.sha256()
    for name in ("jobs", "latency", "used", "wanted", "capacity", "preempted", "wasted"):
        found.update(np.ascontiguousarray(getattr(run, name)).tobytes())
    found.update(repr((run.ended_s, run.lifecycles, run.rounds)).encode())
    return found.hexdigest()


def test_one_job_starts_and_ends_when_it_should() -> None:
    run = simulated([job(5.0, group(3, 10.0))]).run()
    (row,) = run.jobs
    assert (row["submitted"], row["started"], row["finished"]) == (5.0, 5.0, 15.0)
    assert row["state"] == JobState.SUCCEEDED and row["containers"] == run.lifecycles == 3
    assert run.ended_s == 15.0 and run.latency.sum() == 3 and run.latency[0, 0] == 3
    assert run.used[0, 0, 1] == pytest.approx(3000 * 10 / 15) and run.capacity[0, 1] == pytest.approx(16_000)


def test_a_job_is_slowed_down_by_its_tasks_and_not_by_the_order_of_its_groups() -> None:
    chain = [job(0.0, group(1, 20.0), group(1, 40.0, name="then", after=("tasks",)))]
    assert figures.slowdowns(simulated(chain).run()).tolist() == [1.0]
    crowded = [job(0.0, group(64, 20.0))]  # for 16 at a time
    assert figures.slowdowns(simulated(crowded).run()).tolist() == [4.0]
    back = group(1, 5.0, name="z", after=("b",)), group(1, 1.0, name="b", after=("a",)), group(1, 2.0, name="a")
    assert critical_path_s(back) == 8.0


@pytest.mark.parametrize("subs", [{"one": machines(2)}, {"one": machines(2), "two": machines(2, "m")}])
def test_what_routing_rejects_is_counted_by_queue_and_user(subs: Any) -> None:
    reject = {"routing": {"policy": "reject"}}
    policy = {"queues": HALVES["queues"] | {"b": {"guaranteed": 0.5, **OPEN, "federation": reject}}}
    work = [job(0.0, group(1, 2.0)), job(1.0, group(1, 2.0), queue="root.b"), job(2.0, group(1, 2.0), queue="root.b")]
    run = simulated(work, policy=policy, subs=subs).run()
    assert len(run.jobs) == 1 and figures.by_queue(run)["jobs_refused"].tolist() == [0, 2]
    assert figures.by_user(run)["jobs_refused"].tolist() == [2] and figures.overall(run)["jobs_refused"] == 2
    assert run.notes == ["2 jobs were refused by their queue's routing: 2 of root.b"]


def test_what_users_held_is_what_queues_held() -> None:
    """With what is held still when the run is cut off."""
    simulation = simulated(crowd(5), until_s=60.0)
    run = simulation.run()
    lengths = np.clip(run.ended_s - np.arange(len(run.capacity)) * run.period_s, 0, run.period_s)
    assert run.held.shape == (3, len(AXES)) and sum(map(len, (s.containers for s in simulation.rows.subs.values())))
    assert run.held.sum(axis=0) == pytest.approx(lengths @ run.used.sum(axis=1), rel=1e-6)
    assert (run.held[:, 1] > 0).all()


def test_what_does_not_fit_waits_for_what_ends() -> None:
    run = simulated([job(0.0, group(16, 10.0)), job(1.0, group(4, 5.0))]).run()
    assert run.jobs["started"].tolist() == [0.0, 10.0] and run.jobs["finished"].tolist() == [10.0, 15.0]
    assert run.wanted[0, 0, 1] == pytest.approx(4000 * 9 / 15)


def test_groups_follow_one_another_and_failed_tasks_are_tried_again() -> None:
    first = group(2, 4.0, name="map", fails=(1,))
    run = simulated([job(0.0, first, group(1, 3.0, name="reduce", after=("map",)))]).run()
    (row,) = run.jobs
    assert row["state"] == JobState.SUCCEEDED and row["containers"] == 4
    assert row["finished"] == 4 + 0.5 + 4 + 3  # the back-off of a first failure lies between
    assert run.wasted.sum() == row["lost_work"] == 4000.0


def test_delays_of_the_network_and_of_rounds_are_felt() -> None:
    pace = Pace(interval_s=0.5, idle_s=2.0, network_s=0.25, heartbeat_s=1.0)
    row = simulated([job(1.0, group(1, 10.0))], pace=pace).run().jobs[0]
    assert 1.0 <= row["started"] <= 1.5
    assert 11.25 + 0.25 <= row["finished"] <= 14.0


def test_the_same_seed_gives_the_same_run_and_plans_keep_their_invariants() -> None:
    runs = [digest(simulated(crowd(3, 30), pace=Pace()).run()) for _ in range(2)]
    assert runs[0] == runs[1] != digest(simulated(crowd(4, 20), pace=Pace()).run())


def test_a_failed_node_costs_its_attempts_and_nothing_else() -> None:
    s = simulated(crowd(5, 30))
    node = next(iter(s.rows.subs[1].nodes))
    s.fail(1, node, 20.0, 60.0)
    run = s.run()
    assert (run.jobs["state"] == JobState.SUCCEEDED).all()
    assert run.lifecycles > run.jobs["containers"].min() and run.wasted.sum() > 0
    assert run.capacity[0, 1] < 16_000, "what is lost is no capacity"


def churn(s: Simulation, mean_up_s: float, mean_down_s: float, until_s: float, seed: int) -> int:
    """Have every node fail and come back again and again, after exponential times; how many failures were planned."""
    rng, planned = np.random.default_rng(seed), 0
    for sub in s.rows.subs.values():
        for node in sub.nodes:
            at = rng.exponential(mean_up_s)
            while at < until_s:
                back = at + rng.exponential(mean_down_s)
                s.fail(sub.id, node, at, back)
                planned += 1
                at = back + rng.exponential(mean_up_s)
    return planned


def test_churn_everywhere_and_leaders_that_change() -> None:
    s = simulated(crowd(6, 30), subs={"west": machines(3, "w"), "east": machines(3, "e")}, pace=Pace())
    assert churn(s, 200.0, 20.0, 150.0, seed=1) > 0
    for at in range(10, 70, 6):
        s.take_over(1 + at // 10 % 2, float(at), 3.0)
    run = s.run()
    assert (run.jobs["state"] >= JobState.SUCCEEDED).all()
    assert max(sub.lease.epoch for sub in s.rows.subs.values()) > 5
    assert not any(sub.containers or sub.intents or sub.reports for sub in s.rows.subs.values())
    assert not s.rows.asks and not s.rows.jobs and not s.rows.tasks, "memory does not grow with history"


def test_what_a_node_lost_while_its_leader_changed_runs_again() -> None:
    """The new leader's first document did not reach it, and no status tells of what it does not hold."""
    s = simulated([job(0.0, group(4, 60.0))], subs={"west": machines(1, "w")}, pace=Pace())
    s.fail(1, next(iter(s.rows.subs[1].nodes)), 10.0, 15.0)
    s.take_over(1, 12.0)
    run = s.run()
    assert run.jobs["state"].tolist() == [JobState.SUCCEEDED] and 75 <= run.jobs["finished"][0] < 85


def test_a_job_larger_than_its_home_spans() -> None:
    subs = {"west": machines(2, "w"), "east": machines(4, "e")}
    run = simulated([job(0.0, group(24, 30.0), home="west")], subs=subs, pace=Pace()).run()
    (row,) = run.jobs
    assert row["containers"] == 24 and row["finished"] < 60, "all at once, two thirds of them elsewhere"


def test_who_waits_for_what_runs_is_looked_at_more_and_more_seldom() -> None:
    def waits() -> list[Submission]:
        return [job(10.0 * at, group(16, 200.0)) for at in range(5)] + [job(500.0, group(4, 60.0), queue="root.b")]

    often, seldom = (simulated(waits(), pace=Pace(patience_s=most_s)).run() for most_s in (0.0, 60.0))
    assert seldom.rounds < often.rounds / 2
    for name in ("started", "finished", "preempted"):
        assert seldom.jobs[name] == pytest.approx(often.jobs[name], abs=2.0), "what is owed is taken back as soon"


def test_a_queue_gets_what_it_is_guaranteed_by_preemption_where_the_policy_says_so() -> None:
    def late() -> list[Submission]:
        return [job(0.0, group(16, 600.0)), job(30.0, group(8, 60.0), queue="root.b")]

    never = HALVES | {"components": {"preemption": {"policy": "off"}}}
    patient = simulated(late(), policy=never, pace=Pace()).run()
    quick = simulated(late(), pace=Pace()).run()
    assert patient.jobs["started"][1] >= 600 and not patient.preempted.any()
    assert quick.jobs["started"][1] < 120 and 0 < quick.preempted[0] <= 8 and quick.wasted[0] > 0


def test_a_policy_that_is_pushed_counts_from_then_on() -> None:
    less = {"queues": {"a": {"guaranteed": 0.25, "maximum": 0.25, **OPEN}, "b": {"guaranteed": 0.75, **OPEN}}}
    s = simulated([job(float(i), group(4, 10.0)) for i in range(100)], pace=Pace())
    s.push(less, 50.0, delay_s=1.0)
    run = s.run()
    assert run.used[0, 0, 1] > 6000 and run.used[2, 0, 1] <= 4100


def test_a_pushed_policy_may_name_its_queues_in_any_order() -> None:
    """Leaves at several depths: a document's order is not the one in which leaders keep them."""
    inner = {"guaranteed": 0.5, "children": {"z": OPEN, "c": OPEN}}
    s = simulated(
        [job(float(i), group(4, 10.0), queue="root.b") for i in range(100)],
        policy={"queues": {"b": {"guaranteed": 0.5, **OPEN}, "a": inner}}, pace=Pace(),
    )  # fmt: skip
    s.push({"queues": {"b": {"guaranteed": 0.25, "maximum": 0.25, **OPEN}, "a": inner}}, 50.0)
    run = s.run()
    at = run.queues.index("root.b")
    assert run.queues == ["root.a.c", "root.a.z", "root.b"]
    assert run.used[0, at, 1] > 6000 and run.used[2, at, 1] <= 4100
    s = simulated([job(0.0, group(1, 60.0))], pace=Pace())
    s.push({"queues": {"b": OPEN, "other": OPEN}}, 5.0)
    with pytest.raises(ValueError, match=r"other leaf queues: \['root.a', 'root.other'\]"):
        s.run()


def test_what_can_never_start_ends_the_run_and_is_told() -> None:
    run = simulated([job(0.0, group(1, 1.0)), job(1.0, group(1, 1.0, node_labels="zone == mars"))], pace=Pace()).run()
    assert run.jobs["state"].tolist() == [JobState.SUCCEEDED, JobState.ADMITTED]
    assert run.notes and "1 job waits" in run.notes[0]


def test_a_workload_must_not_go_back_in_time() -> None:
    with pytest.raises(Disordered, match="job 2 is submitted at 1 s"):
        simulated([job(3.0, group(1, 1.0), number=1), job(1.0, group(1, 1.0), number=2)]).run()


def test_a_run_is_cancelled_by_what_it_tells() -> None:
    class Stop(Exception):
        pass

    def told(now: float) -> None:
        raise Stop

    with pytest.raises(Stop):
        simulated(crowd(1)).run(told)
