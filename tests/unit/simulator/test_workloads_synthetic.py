"""Drawn workloads: the same for a seed, in order, and shaped as told."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.policy import documents
from simulator.workload import in_order
from simulator.workloads import synthetic
from simulator.workloads.shape import Durations, Sizes, WorkloadShape, zipf
from tests.examples import examples
from tests.unit.simulator.workload_cases import same, told

SMALL = WorkloadShape(jobs_per_hour=60.0, tasks_median=3.0, tasks_mean=6.0, tasks_most=50)
PLACES = {"east": ("e1", "e2"), "west": ("w1", "w2", "w3"), "north": ()}

shapes = st.builds(
    WorkloadShape,
    horizon_s=st.sampled_from([600.0, 7200.0]),
    jobs_per_hour=st.floats(0.1, 200),
    diurnal=st.floats(0, 1),
    peak_h=st.floats(0, 24),
    queues=st.integers(1, 5),
    queue_skew=st.floats(0, 3),
    users_per_queue=st.integers(1, 3),
    sub_clusters=st.sampled_from([{}, PLACES]),
    local_share=st.floats(0, 1),
    tasks_median=st.floats(1, 5),
    tasks_mean=st.floats(5, 20),
    tasks_most=st.integers(1, 100),
    alike=st.floats(0, 1),
    estimates=st.sampled_from(["exact", "factor", "lognormal", "none"]),
    failing=st.floats(0, 1),
    gang_share=st.floats(0, 1),
)


def group_of(job):
    return job.groups[0]


@examples(40)
@given(st.integers(0, 2**64), shapes)
def test_jobs_are_in_order_and_the_same_for_a_seed(seed: int, shape: WorkloadShape):
    source = synthetic.generate(seed, shape)
    jobs = list(in_order(source))
    assert same(jobs, source)
    queues = set(shape.leaf_queues())
    for i, job in enumerate(jobs, 1):
        (group,) = job.groups
        assert 0 <= job.at_s < shape.horizon_s
        assert (job.number, job.queue in queues, 0 <= job.priority < shape.priorities) == (i, True, True)
        assert group.run_s.shape == (group.count,)
        assert 1 <= group.count <= shape.tasks_most
        assert ((group.run_s >= shape.shortest_s) & (group.run_s <= shape.longest_s)).all()
        assert len(set(group.fails)) == len(group.fails)
        assert set(group.fails) <= set(range(group.count))
        assert set(group.nodes) <= set(shape.sub_clusters[job.home] if job.home else ())


@examples(20)
@given(st.integers(0, 2**32), st.integers(1, 5000))
def test_exactly_so_many_containers(seed: int, containers: int):
    shape = replace(SMALL, jobs_per_hour=0.0, containers=containers)
    assert sum(group_of(job).count for job in synthetic.generate(seed, shape)) == containers


def test_seeds_differ():
    assert not same(synthetic.generate(1, SMALL), synthetic.generate(2, SMALL))


def test_a_change_of_one_aspect_leaves_the_others():
    was = [told(job) for job in synthetic.generate(5, SMALL)]
    for changed in ({"estimates": "lognormal"}, {"failing": 0.3}, {"gang_share": 0.5}, {"sub_clusters": PLACES}):
        now = list(synthetic.generate(5, replace(SMALL, **changed)))
        assert [told(job) for job in now] != was
        back = [
            replace(job, home="", groups=(replace(g, estimate_s=float(g.run_s.max()), fails=(), gang=False, nodes=()),))
            for job in now
            for g in job.groups
        ]
        assert [told(job) for job in back] == was


# --- the curves


def test_durations_keep_to_what_the_papers_tell():
    durations = Durations.of(WorkloadShape(alike=0.0))
    run_s = durations.draw(np.random.default_rng(0), 400_000)
    assert (run_s < 10).mean() == pytest.approx(0.6, abs=0.005)
    assert run_s.mean() == pytest.approx(39.6, rel=0.03)
    assert np.median(run_s) == pytest.approx(6.1, abs=0.1)
    assert np.quantile(run_s, 0.99) == pytest.approx(9.1 * 60, rel=0.05)


def test_tasks_of_a_job_are_alike():
    rng = np.random.default_rng(0)
    alike, unlike = (
        np.mean([np.log(Durations.of(WorkloadShape(alike=part)).draw(rng, 50)).std() for _ in range(50)])
        for part in (0.9, 0.0)
    )
    assert alike < 0.4 * unlike


@pytest.mark.parametrize("most", [1, 5, 1000, 10_000])
def test_the_mean_size_is_known(most: int):
    sizes, rng = Sizes.of(WorkloadShape(tasks_most=most)), np.random.default_rng(1)
    drawn = [sizes.draw(rng) for _ in range(100_000)]
    assert np.mean(drawn) == pytest.approx(sizes.mean(), rel=0.03)
    same_size = Sizes.of(WorkloadShape(tasks_median=7.0, tasks_mean=7.0, tasks_most=most))
    assert same_size.mean() == pytest.approx(same_size.draw(rng)) == min(7, most)


def test_the_rate():
    jobs = list(synthetic.generate(0, WorkloadShape(jobs_per_hour=400.0, diurnal=0.8, tasks_mean=20.0)))
    assert len(jobs) == pytest.approx(9600, rel=0.05)
    hours = np.bincount([int(job.at_s // 3600) for job in jobs], minlength=24)
    assert 12 <= hours.argmax() <= 16
    assert hours[[13, 14]].mean() > 5 * hours[[1, 2]].mean()
    assert len(list(synthetic.generate(0, WorkloadShape(tasks_mean=20.0)))) == pytest.approx(208 * 24, rel=0.05)


@pytest.mark.parametrize("horizon_s", [6 * 3600.0, 86_400.0])
def test_containers_take_about_the_horizon(horizon_s: float):
    shape = WorkloadShape(containers=50_000, horizon_s=horizon_s, diurnal=0.9, tasks_mean=25.0)
    ends = [list(synthetic.generate(seed, shape))[-1].at_s for seed in range(5)]
    assert np.mean(ends) == pytest.approx(horizon_s, rel=0.1)


def test_queues_users_and_places_are_skewed():
    shape = replace(SMALL, jobs_per_hour=3000.0, queues=3, sub_clusters=PLACES, local_share=0.5, home_skew=5.0)
    jobs = list(islice(synthetic.generate(0, shape), 6000))
    found = np.array([sum(job.queue == queue for job in jobs) for queue in shape.leaf_queues()]) / len(jobs)
    assert found == pytest.approx(zipf(3, 1.0), abs=0.03)
    assert {job.user for job in jobs if job.queue == "root.q00001"} == {"q00001-u1", "q00001-u2"}
    assert sum(bool(job.home) for job in jobs) / len(jobs) == pytest.approx(0.5, abs=0.03)
    for queue in shape.leaf_queues():  # each queue has a sub-cluster of its own that it wants most
        homes = [job.home for job in jobs if job.queue == queue and job.home]
        assert max(homes.count(home) for home in PLACES) > 0.9 * len(homes)


@pytest.mark.parametrize(
    ("estimates", "least", "most"), [("exact", 1, 1), ("factor", 3, 3), ("lognormal", 0.01, 900), ("none", 0, 0)]
)
def test_estimates(estimates: str, least: float, most: float):
    shape = replace(SMALL, estimates=estimates, estimate_factor=3.0)
    ratios = [g.estimate_s / g.run_s.max() for g in map(group_of, synthetic.generate(0, shape))]
    assert least - 1e-9 <= min(ratios) <= max(ratios) <= most + 1e-9
    if estimates == "lognormal":
        assert np.median(ratios) == pytest.approx(3, rel=0.1)
        assert np.log(ratios).std() == pytest.approx(0.5, rel=0.1)


def test_failures_and_gangs():
    shape = replace(SMALL, failing=0.2, gang_share=0.5, gang_most=4)
    groups = [group_of(job) for job in synthetic.generate(0, shape)]
    assert sum(len(g.fails) for g in groups) / sum(g.count for g in groups) == pytest.approx(0.2, abs=0.02)
    assert not any(g.gang for g in groups if g.count > 4)
    assert 0.3 < np.mean([g.gang for g in groups if g.count <= 4]) < 0.7


# --- queues and options


def test_the_queue_tree_is_a_policy():
    tree = synthetic.queue_tree(WorkloadShape(queues=300, queue_skew=1.3))
    documents.validate({"queues": tree})
    assert len(tree) == 300
    nested = synthetic.queue_tree(WorkloadShape(leaves=("root.a.b", "root.c", "root.a.d"), queue_skew=0.0))
    documents.validate({"queues": nested})
    assert nested["a"]["guaranteed"] == pytest.approx(2 / 3)
    assert nested["a"]["children"]["d"] == {"guaranteed": pytest.approx(1 / 2)}
    assert nested["c"] == {"guaranteed": pytest.approx(1 / 3)}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"diurnal": 1.5}, "diurnal: 1.5 does not fit; give a number from 0 to 1"),
        ({"queues": 2.5}, "queues: 2.5 does not fit; give a whole number from 1 to 20000"),
        ({"horizon_s": 0}, r"horizon_s: 0 does not fit; give a number above 0 up to 1e\+09"),
        ({"mean_s": float("nan")}, "mean_s: nan does not fit"),
        ({"containers": 5, "jobs_per_hour": 1.0}, "jobs_per_hour: containers is given too"),
        ({"tasks_mean": 5.0}, "tasks_mean: 5 is below tasks_median; give 20 or more"),
        ({"shortest_s": 9.0, "longest_s": 1.0}, "longest_s: 1 is below shortest_s"),
        ({"mean_s": 1.0}, "mean_s: no log-normal curve with 0.6 below 10 s has the mean 1 s"),
        ({"bundles": ()}, "bundles: give at least one"),
        ({"bundles": ((1, 1),)}, "bundles: give at least one"),
        ({"leaves": ("root.a", "root.a.b")}, "leaves: 'root.a' is no leaf of its own"),
        ({"leaves": ("a",)}, "leaves: 'a' is no leaf"),
        ({"estimates": "good"}, "estimates: 'good' is unknown; use one of: exact, factor, lognormal, none"),
    ],
)
def test_options_are_checked(options: dict, told: str):
    with pytest.raises(ValueError, match=told):
        WorkloadShape(**options)


def test_options_as_a_document_has_them():
    options = {"bundles": [[1024, 500, 1]], "leaves": ["root.a", "root.b"], "containers": 20}
    jobs = list(synthetic.read(seed=3, **options))
    assert {(group_of(j).memory_mib, group_of(j).vcores_milli) for j in jobs} == {(1024, 500)}
    assert {j.queue for j in jobs} <= {"root.a", "root.b"}
