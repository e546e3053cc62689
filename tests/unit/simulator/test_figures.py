"""Figures of runs that are made by hand, with answers that are known."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import figures
from simulator.measures import JOB, LATENCY_BOUNDS_S, Run
from tests.amounts import amounts
from wire.resources import AXES, NOTHING
from wire.states import JobState

NAN = float("nan")
BOUND = 10 ** (1 / 20)


def made(jobs: list[dict[str, Any]] | None = None, queues: int = 2, periods: int = 2, **changed: Any) -> Run:
    """A run of a cluster of 1,000 MiB and 10 cores without GPUs, in which nothing happened but what is told."""
    rows = np.zeros(len(jobs or []), JOB)
    for row, job in zip(rows, jobs or [], strict=True):
        for name, value in {"started": NAN, "finished": NAN, **job}.items():
            row[name] = value
    run = Run(
        policy="first",
        workload="by hand",
        seed=1,
        queues=[f"root.q{i}" for i in range(queues)],
        users=["somebody"],
        period_s=60.0,
        jobs=rows,
        latency=np.zeros((queues, len(LATENCY_BOUNDS_S) + 1), np.int64),
        capacity=np.tile([1000.0, 10000.0, *NOTHING[2:]], (periods, 1)),
        used=np.zeros((periods, queues, len(AXES))),
        wanted=np.zeros((periods, queues, len(AXES))),
        share=np.full((periods, queues), NAN),
        preempted=np.zeros(queues, np.int64),
        locality=np.zeros((queues, 3), np.int64),
        wasted=np.zeros(queues),
        ended_s=60.0 * periods,
    )
    for name, value in changed.items():
        setattr(run, name, value)
    return run


def binned(seconds: np.ndarray) -> np.ndarray:
    counts = np.bincount(np.searchsorted(LATENCY_BOUNDS_S, seconds), minlength=len(LATENCY_BOUNDS_S) + 1)
    return counts.astype(np.int64)


# --- over time


def test_utilization_is_weighted_by_what_was_up_and_for_how_long():
    run = made(periods=3, ended_s=150.0)  # the last period has 30 s
    run.capacity[1] /= 2
    run.used[:, 0, 0] = [500, 500, 0]
    run.used[:, 1, 1] = [0, 0, 10000]
    assert figures.period_lengths(run).tolist() == [60, 60, 30]
    over_time = figures.utilization_over_time(run)
    assert over_time[:, 0].tolist() == [0.5, 1, 0]
    assert np.isnan(over_time[:, 2:]).all()
    memory, cores, *others = figures.utilization(run)
    assert memory == pytest.approx(60 * 1000 / (60 * 1000 + 60 * 500 + 30 * 1000))
    assert cores == pytest.approx(30 / (60 + 30 + 30))
    assert np.isnan(others).all()


def test_without_a_told_end_all_periods_are_whole():
    assert figures.period_lengths(made(ended_s=0.0)).tolist() == [60, 60]


def test_a_queue_holds_its_dominant_part():
    run = made()
    run.used[0, 0] = amounts(100, 4000)
    assert figures.held(run)[0].tolist() == [0.4, 0]
    run.capacity[1] = 0
    assert np.isnan(figures.held(run)[1]).all()


def test_fairness_error_is_what_is_in_wrong_hands():
    run = made(periods=4)
    run.share[:3] = 0.5
    run.used[0, :, 0] = [700, 300]  # both want more: 0.2 of the whole is with the wrong one
    run.wanted[0, :, 0] = 500
    run.used[1, :, 0] = [700, 300]  # the second wants no more, so the first is alone counted
    run.used[2, :, 0] = [100, 200]  # nobody wants its share
    assert figures.fairness_error_over_time(run)[:3].tolist() == pytest.approx([0.2, 0.1, 0])
    assert np.isnan(figures.fairness_error_over_time(run)[3])
    assert figures.fairness_error(run) == pytest.approx(0.1)  # the period without shares is left out
    assert np.isnan(figures.fairness_error(made()))


def test_what_a_queue_lacks_is_granted_and_wanted():
    run = made()
    run.share[0], run.share[1] = [0.6, 0.4], [0.6, NAN]
    run.used[:, 0, 0], run.wanted[:, 0, 0] = 300, [100, 900]
    found = figures.lacked_over_time(run)
    assert found[:, 0].tolist() == pytest.approx([0.1, 0.3])
    assert found[:, 1].tolist() == [0, 0]  # it wanted nothing, whatever it was granted
    assert figures.by_queue(run)["share_granted"].tolist() == pytest.approx([0.6, 0])


def test_jain_is_one_when_all_get_the_same_part_of_what_they_are_granted():
    run = made()
    run.share[:] = [0.6, 0.4]
    run.used[:, :, 0] = [300, 200]
    assert figures.jain_index(run) == pytest.approx(1)
    run.used[:, :, 0] = [600, 0]
    run.wanted[:, 1, 0] = 400
    assert figures.jain_index(run) == pytest.approx(0.5)
    assert np.isnan(figures.jain_index(made()))


# --- allocation


def test_latency_percentiles_by_queue_and_overall():
    run = made(latency=np.array([binned(np.full(99, 0.5)), binned(np.full(1, 1000.0))]))
    whole, each = figures.latency_percentiles(run, (0.5, 0.99, 1.0))
    assert whole.tolist() == pytest.approx([0.5, 0.5, 1000], rel=BOUND - 1)
    assert each[1].tolist() == pytest.approx([1000] * 3, rel=BOUND - 1)
    assert figures.overall(run)["latency_max_s"] == pytest.approx(1000, rel=BOUND - 1)
    assert figures.by_queue(run)["latency_max_s"][1] >= 1000


def test_nothing_allocated_has_no_percentiles_and_beyond_the_bounds_is_not_told():
    counts = np.array([binned(np.array([])), binned(np.full(3, 5e6))])
    found = figures.percentiles(counts, (0.5,))
    assert np.isnan(found[0, 0])
    assert found[1, 0] == np.inf
    assert np.isnan(figures.latency_max(counts)[0]) and figures.latency_max(counts)[1] == np.inf


@given(st.lists(st.floats(0, 9e5), min_size=1, max_size=200), st.sampled_from([0.01, 0.1, 0.5, 0.9, 0.99, 1.0]))
def test_percentiles_of_bins_are_as_near_as_is_said(seconds: list[float], level: float):
    true = float(np.quantile(seconds, level, method="inverted_cdf"))
    found = float(figures.percentiles(binned(np.array(seconds)), (level,))[0])
    if true <= 0.001:
        assert 0 <= found <= 0.001
    else:
        assert true / BOUND * (1 - 1e-9) <= found <= true * BOUND * (1 + 1e-9)


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=50))
def test_percentiles_rise(seconds: list[float]):
    found = figures.percentiles(binned(np.array(seconds)), np.linspace(0, 1, 21).tolist())
    assert (np.diff(found) >= 0).all()


def test_cdf_is_exact_at_the_bounds():
    found = figures.latency_cdf(binned(np.array([0.0, 0.001, 1.0, 2e6])))
    assert found[0] == 0.5
    assert found[np.searchsorted(LATENCY_BOUNDS_S, 0.999999)] == 0.75
    assert found[-1] == 0.75  # one is beyond all bounds


def test_locality_is_of_those_that_had_wishes():
    run = made(locality=np.array([[6, 2, 2], [0, 0, 0]]))
    assert figures.locality_parts(run)[0].tolist() == [0.6, 0.2, 0.2]
    assert np.isnan(figures.locality_parts(run)[1]).all()
    assert figures.overall(run)["locality_node"] == 0.6


# --- jobs


def test_waits_and_slowdowns():
    run = made([
        {"submitted": 0, "started": 10, "finished": 30, "run_s": 20, "queue": 0, "state": JobState.SUCCEEDED},
        {"submitted": 10, "started": 10, "finished": 11, "run_s": 1, "queue": 0, "state": JobState.SUCCEEDED},
        {"submitted": 20, "started": 30, "finished": 31, "run_s": 1, "queue": 1, "state": JobState.FAILED},
    ])  # fmt: skip
    assert figures.waits(run).tolist() == [10, 0, 10]
    assert figures.slowdowns(run).tolist() == pytest.approx([30 / 20, 1, 11 / 10])
    assert figures.slowdowns(run, short_run_s=1).tolist() == pytest.approx([30 / 20, 1, 11])
    assert figures.makespan(run) == 31
    found = figures.by_queue(run)
    assert found["wait_mean_s"].tolist() == [5, 10]
    assert found["wait_p90_s"].tolist() == pytest.approx([9, 10])
    assert found["jobs"].tolist() == [2, 1]
    assert figures.overall(run)["wait_median_s"] == 10
    assert figures.jobs_by_state(run)["succeeded"] == 2 and figures.jobs_by_state(run)["failed"] == 1


def test_a_job_that_is_squeezed_is_slowed_down():
    run = made([{"submitted": 0, "started": 0, "finished": 1000, "run_s": 10, "state": JobState.SUCCEEDED}])
    assert figures.slowdowns(run).tolist() == [100], "its tasks ran one after the other, though the first began at once"


def test_what_failed_before_it_started_does_not_look_fast():
    run = made([{"submitted": 20, "started": NAN, "finished": 21, "run_s": 40, "state": JobState.FAILED}])
    found = figures.overall(run)
    assert (found["wait_mean_s"], found["turnaround_mean_s"], found["slowdown_mean"]) == (100, 100, 140 / 40)


def test_what_has_not_ended_counts_with_the_time_until_then():
    run = made([
        {"submitted": 0, "started": 10, "finished": NAN, "run_s": 500, "state": JobState.RUNNING},
        {"submitted": 20, "started": NAN, "finished": 50, "run_s": 5, "state": JobState.KILLED},  # given up
        {"submitted": 70, "started": NAN, "finished": NAN, "run_s": 5, "state": JobState.SUBMITTED},
    ])  # fmt: skip
    assert figures.waits(run).tolist() == [10, 100, 50], "what was given up has waited to the end"
    assert figures.turnarounds(run).tolist() == [120, 100, 50]
    assert figures.slowdowns(run).tolist() == pytest.approx([510 / 500, 105 / 10, 55 / 10])
    assert figures.makespan(run) == 120
    found = figures.overall(run)
    assert (found["jobs"], found["jobs_unfinished"], found["jobs_unstarted"]) == (3, 2, 2)
    assert found["jobs_killed"] == 1


def test_jobs_of_no_queue_are_nobodys():
    run = made([{"submitted": 0, "started": 5, "queue": -1}, {"submitted": 0, "started": 7, "queue": 1}])
    assert figures.by_queue(run)["jobs"].tolist() == [0, 1]
    assert figures.overall(run)["wait_mean_s"] == 6


def test_what_routing_refuses_is_counted():
    run = made(users=["ann", "bob"], refused=np.array([[0, 1], [0, 0], [-1, 1]]))
    assert figures.overall(run)["jobs_refused"] == 3
    assert figures.by_queue(run)["jobs_refused"].tolist() == [2, 0]
    assert figures.by_user(run)["jobs_refused"].tolist() == [1, 2]


def test_a_quantile_is_numpys():
    values = np.sort(np.random.default_rng(1).random((3, 17)))
    for name, level in (("median", 50), ("p90", 90)):
        assert figures.STATISTICS[name](values) == pytest.approx(np.percentile(values, level, axis=1))


# --- work


def test_wasted_work_is_a_part_of_what_was_done():
    run = made(wasted=np.array([3.6e6, 0.0]), preempted=np.array([4, 1]))
    run.used[:, 0, 1] = 300e3
    assert figures.work_done(run).tolist() == [36e6, 0]
    whole, each = figures.wasted_part(run)
    assert whole == pytest.approx(0.1) and each[0] == pytest.approx(0.1) and np.isnan(each[1])
    found = figures.overall(run)
    assert found["wasted_core_hours"] == 1 and found["preemptions"] == 5


def test_users_waited_held_and_lost_what_their_jobs_did():
    jobs = [
        {"user": user, "started": wait, "finished": 99.0, "preempted": user, "lost_work": 3.6e6 * user}
        for user, wait in ((0, 10.0), (1, 4.0), (1, 6.0))
    ]
    run = made(jobs, users=["ann", "bob", "idle"])
    run.held = np.zeros((3, len(AXES)))
    run.held[:2, :2] = [[60_000, 120_000], [0, 600_000]]  # of 120 s of 1,000 MiB and 10,000 thousandths
    found = figures.by_user(run)
    assert found["wait_mean_s"].tolist()[:2] == [10, 5] and np.isnan(found["wait_mean_s"][2])
    assert found["share_held"].tolist() == [0.5, 0.5, 0.0], "each of the resource it held most of"
    assert found["preemptions"].tolist() == [0, 2, 0] and found["wasted_core_hours"].tolist() == [0, 2, 0]
    assert found["jobs"].tolist() == [1, 2, 0] and found["jobs_unfinished"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("run", [made(), made(queues=0, periods=0), made(periods=0)])
@pytest.mark.filterwarnings("error")
def test_an_empty_run_has_every_figure(run: Run):
    assert set(figures.overall(run)) == set(figures.OVERALL)
    found = figures.by_queue(run)
    assert set(found) == set(figures.BY_QUEUE)
    assert all(values.shape == (len(run.queues),) for values in found.values())
    by_user = figures.by_user(run)
    assert set(by_user) == set(figures.BY_USER)
    assert all(values.shape == (len(run.users),) for values in by_user.values())


def test_every_figure_says_what_it_is():
    for figure in (*figures.OVERALL.values(), *figures.BY_QUEUE.values(), *figures.BY_USER.values()):
        assert figure.title and figure.unit in {"s", "part", "count", "core hours", ""}
        assert figure.better in {"higher", "lower", ""}
