"""Policies beside one another: what is paired with what, and whether intervals hold what they promise."""

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from controlplane.whatif.redrawing import BLOCKS
from simulator import compare as comparing
from simulator import toldusers
from simulator.compare import JOB_PAIRS, JOBS, NOTHING, PAIRS, SEEDS, Comparison, Estimate, Incomparable, compare
from simulator.measures import Run
from simulator.toldusers import OTHERS
from tests.unit.simulator.test_figures import made
from wire.resources import AXES


def ran(policy: str, seed: int, waits: Any, queue: Any = 0, **changed: Any) -> Run:
    """A run whose jobs waited so long."""
    queues = np.broadcast_to(queue, len(waits))
    jobs = [
        {"number": i, "submitted": float(i), "started": i + wait, "finished": i + wait + 1, "queue": queues[i]}
        for i, wait in enumerate(waits)
    ]
    return made(jobs, policy=policy, seed=seed, ended_s=1e9, **changed)


def change(comparison: Comparison, figure: str, policy: int = 1) -> Estimate:
    found = comparison.policies[policy].figures[figure].change
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.3027), (10, 2.2281), (30, 2.0423), (40, 2.0211), (120, 1.9799)]
)
def test_quantiles_of_t(freedom: int, quantile: float):
    assert float(comparing.t_quantile(np.array(freedom))) == pytest.approx(quantile, abs=1e-4)


def test_quantiles_of_t_fall_and_broken_freedom_is_rounded_down():
    found = comparing.t_quantile(np.arange(1.0, 200))
    assert (np.diff(found) < 0).all() and found[-1] > 1.96
    assert comparing.t_quantile(np.array(2.9)) == comparing.t_quantile(np.array(2.0))


def test_changes_are_paired_by_seed():
    base = [10.0, 50.0, 90.0]  # seeds differ much, the policies differ always by nearly the same
    runs = [ran("old", seed, [wait]) for seed, wait in enumerate(base)]
    runs += [ran("new", seed, [wait - 5 + 0.1 * seed]) for seed, wait in enumerate(base)]
    found = compare(runs)
    assert found.baseline == "old" and found.policies[0].figures["wait_mean_s"].change is None
    value, less = found.policies[1].figures["wait_mean_s"].value, change(found, "wait_mean_s")
    assert value.over == SEEDS and value.count == 3 and value.low == 0  # a wait below 0 is not possible
    assert less.over == PAIRS and less.clear
    assert less.value == pytest.approx(-4.9)
    assert less.high - less.value == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-4)


def test_no_interval_of_a_part_goes_above_the_whole():
    runs = [ran("old", seed, [1.0], used=used(0.9 + 0.05 * seed)) for seed in range(3)]
    value = compare(runs).policies[0].figures["utilization_vcores"].value
    assert value.value == pytest.approx(0.95) and value.low < 0.9 and value.high == 1


def used(part: float) -> np.ndarray:
    """So much of the cores of two periods, by one of two queues."""
    found = np.zeros((2, 2, len(AXES)))
    found[:, 0, 1] = 10_000 * part
    return found


def test_other_seeds_are_compared_as_means():
    runs = [ran("old", seed, [wait]) for seed, wait in enumerate([10.0, 11.0, 12.0])]
    runs += [ran("new", seed, [wait]) for seed, wait in ((7, 20.0), (8, 21.0), (9, 22.0))]
    found = change(compare(runs), "wait_mean_s")
    assert (found.value, found.over) == (pytest.approx(10), SEEDS)
    assert found.high - found.value == pytest.approx(2.7764 * (2 / 3) ** 0.5, rel=1e-3)  # Welch: 4 degrees of freedom


def test_one_seed_gets_an_interval_over_pairs_of_jobs():
    rng = np.random.default_rng(3)
    waits = rng.exponential(100, 400)
    queue = np.arange(400) % 2
    runs = [ran("old", 1, waits, queue), ran("new", 1, np.where(queue == 0, waits - waits * 0.1, waits + 3), queue)]
    found = compare(runs)
    assert found.policies[0].figures["wait_mean_s"].value.over == JOBS
    first, second = (q.figures["wait_mean_s"].change for q in found.policies[1].queues)
    assert first is not None and second is not None
    assert first.over == second.over == JOB_PAIRS and first.count == 200
    assert first.clear and first.low < -0.1 * waits[::2].mean() < first.high
    assert second.low == pytest.approx(3) == pytest.approx(second.high)  # each job waits 3 s longer
    assert change(found, "fairness_error").over == NOTHING  # no statistic over jobs
    assert "not over seeds" in found.notes[0]
    assert json.dumps(asdict(compare(runs))) == json.dumps(asdict(found))  # drawn the same way again


def test_jobs_are_paired_by_number_whatever_their_order():
    waits = np.random.default_rng(4).exponential(50, 60)
    old, new = ran("old", 1, waits), ran("new", 1, waits + 2)
    new.jobs = new.jobs[::-1].copy()
    found = change(compare([old, new]), "wait_mean_s")
    assert (found.low, found.high) == (pytest.approx(2), pytest.approx(2))


def test_what_differs_by_rounding_only_is_no_change():
    waits = np.full(60, 0.1)
    for seeds in ((1,), (1, 2)):
        old = [ran("old", seed, waits) for seed in seeds]
        new = [ran("new", seed, waits * (1 + 1e-15)) for seed in seeds]
        assert not change(compare([*old, *new]), "wait_mean_s").clear


def test_jobs_without_numbers_are_paired_by_when_they_came():
    waits = np.random.default_rng(4).exponential(50, 60)
    old, new = ran("old", 1, waits), ran("new", 1, waits + 2)
    old.jobs["number"] = new.jobs["number"] = 0
    assert change(compare([old, new]), "wait_mean_s").over == JOB_PAIRS
    new.jobs["submitted"] += 0.5
    assert change(compare([old, new]), "wait_mean_s").over == NOTHING


def test_few_jobs_say_nothing():
    assert compare([ran("old", 1, [1.0] * 9)]).policies[0].figures["wait_mean_s"].value.over == NOTHING


def test_sums_over_jobs_are_resampled_only_where_they_are_the_figure():
    old, new = (ran(policy, 1, [1.0] * 40, preempted=np.array([20, 0])) for policy in ("old", "new"))
    old.jobs["preempted"][:20] = 1
    found = compare([old, new])
    assert found.policies[0].figures["preemptions"].value.over == JOBS
    assert found.policies[1].figures["preemptions"].value.over == NOTHING  # its jobs tell of none


def test_queues_are_matched_by_name():
    old = ran("old", 1, [10.0, 20.0], [0, 1])
    new = replace(ran("new", 1, [10.0, 20.0], [0, 1]), queues=["root.q1", "root.new"])
    found = compare([old, new])
    assert found.queues == ["root.q0", "root.q1", "root.new"]
    changes = [q.figures["wait_mean_s"].change for q in found.policies[1].queues]
    assert changes[1] is not None and changes[1].value == -10
    assert all(c is not None and np.isnan(c.value) for c in (changes[0], changes[2]))


def of_users(run: Run, *owners: str) -> Run:
    """The same with jobs of these users."""
    run.users = sorted(set(owners))
    run.jobs["user"] = [run.users.index(name) for name in owners]
    return run


def test_users_are_matched_by_name_and_have_intervals_over_pairs_of_seeds():
    old = [of_users(ran("old", seed, [10.0 + seed, 20.0]), "ann", "bob") for seed in range(3)]
    new = [of_users(ran("new", seed, [4.0 + seed, 20.0, 7.0]), "bob", "bob", "new") for seed in range(3)]
    found = compare([*old, *new])
    assert sorted(found.users) == ["ann", "bob", "new"] and found.total_users == 3
    by_name = {user.user: user.figures["wait_mean_s"] for user in found.policies[1].users}
    ann, bob, late = (by_name[name] for name in ("ann", "bob", "new"))
    assert bob.change is not None and bob.change.value == pytest.approx(12.5 - 20) and bob.change.over == PAIRS
    assert bob.value.over == SEEDS and bob.value.low < bob.value.value < bob.value.high
    assert np.isnan(ann.value.value) and late.value.value == 7 and late.change is not None
    assert np.isnan(late.change.value)


def test_with_one_seed_a_users_interval_is_over_its_own_jobs():
    waits = np.random.default_rng(3).exponential(10.0, 60)
    owners = ["ann"] * 40 + ["bob"] * 20
    old, new = (of_users(ran(name, 1, waits * part), *owners) for name, part in (("old", 1.0), ("new", 0.5)))
    ann, bob = compare([old, new]).policies[1].users
    for user, count in ((ann, 40), (bob, 20)):
        changed = user.figures["wait_mean_s"].change
        assert changed is not None and (changed.over, changed.count) == (JOB_PAIRS, count) and changed.high < 0
    assert ann.figures["share_held"].value.over == NOTHING


def test_of_many_users_the_busiest_and_the_most_moved_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(toldusers, "USERS_MOST", 2)
    owners = ("a", "b", "b", "c", "c", "c", "moved")
    old, new = (of_users(ran(name, 1, [1.0, 2, 2, 3, 3, 3, last]), *owners) for name, last in (("old", 4), ("new", 90)))
    for run in (old, new):
        run.held = np.array([[1.0] * 3, [2] * 3, [3] * 3, [0] * 3])
    found = compare([old, new])
    assert found.users == ["c", "moved", OTHERS] and found.total_users == 4
    assert any(note.startswith("Of 4 users 2 are told one by one") for note in found.notes)
    c, moved, others = found.policies[1].users
    assert [user.figures["jobs"].value.value for user in (c, moved, others)] == [3, 1, 3], "nothing is missing"
    assert others.figures["wait_mean_s"].value.value == pytest.approx(5 / 3)
    held = [user.figures["share_held"].value.value for user in (c, others)]
    assert held[0] == pytest.approx(held[1]) and held[0] > 0, "a's and b's together are c's"
    assert moved.figures["wait_mean_s"].change is not None and moved.figures["wait_mean_s"].change.value == 86


def test_a_user_who_is_called_like_the_others_is_one_of_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(toldusers, "USERS_MOST", 1)
    found = compare([of_users(ran("old", 1, [1.0] * 4), OTHERS, OTHERS, OTHERS, "a")])
    assert found.users == [OTHERS] and found.policies[0].users[0].figures["jobs"].value.value == 4


def test_what_cannot_be_compared():
    with pytest.raises(Incomparable, match="no runs"):
        compare([])
    with pytest.raises(Incomparable, match="twice with seed 1"):
        compare([ran("old", 1, [1.0]), ran("old", 1, [2.0])])
    with pytest.raises(Incomparable, match="different workloads"):
        compare([ran("old", 1, [1.0]), ran("new", 1, [1.0], workload="another")])


def test_endless_latencies_leave_no_interval():
    runs = [ran(policy, seed, [1.0]) for policy in ("old", "new") for seed in (1, 2)]
    for run in runs:
        run.latency[0, -1] = 5
    found = compare(runs)
    assert found.policies[0].figures["latency_p50_s"].value.value == np.inf
    assert change(found, "latency_p50_s").over == NOTHING
    for run in runs[2:]:
        run.latency[0, 10] = 50
    assert change(compare(runs), "latency_p50_s").value == -np.inf


def test_what_had_not_ended_is_noted():
    run = ran("old", 1, [1.0, 2.0])
    run.jobs["finished"][1] = np.nan
    run.notes.append("every tenth job")
    notes = compare([run]).notes
    assert any("1 of 2 jobs had not ended" in note for note in notes)
    assert "old, seed 1: every tenth job" in notes
    others = compare([run, ran("old", 2, [1.0, 2.0])]).notes
    assert any("in its 2 runs together 1 of 4 jobs had not ended" in note for note in others)


def test_intervalsover_seeds_cover_the_mean_nineteen_times_in_twenty():
    rng = np.random.default_rng(5)
    for seeds in (3, 8):
        found = comparing.over_seeds(rng.normal(7, 2, (seeds, 4000)), SEEDS)
        covered = float(((found.low <= 7) & (found.high >= 7)).mean())
        assert covered == pytest.approx(0.95, abs=0.012)


def test_runs_drawn_anew_tell_the_standard_error_and_no_more_observations():
    waits = [10.0, 14.0, 8.0, 16.0]
    old = [ran("old", n, [wait], drawn_from=0 if n else None) for n, wait in enumerate(waits)]
    new = [ran("new", n, [wait + n], drawn_from=0 if n else None) for n, wait in enumerate(waits)]
    found = compare([*old, *new])
    value, more = found.policies[0].figures["wait_mean_s"].value, change(found, "wait_mean_s")
    assert (value.value, value.count, value.over) == (10, 4, SEEDS), "of what was recorded"
    assert value.high - value.value == pytest.approx(3.1824 * (56 / 3) ** 0.5, rel=1e-4)
    assert (more.value, more.over) == (0, PAIRS) and more.high == pytest.approx(3.1824 * (14 / 3) ** 0.5, rel=1e-4)
    with pytest.raises(Incomparable, match="lacks a run"):
        compare(old[1:])


def test_unpaired_changes_reckon_with_what_was_drawn_anew():
    old = [ran("old", n, [wait], drawn_from=0 if n else None) for n, wait in enumerate([10.0, 11.0, 9.0])]
    new = [ran("new", n, [20.0 + n % 2], drawn_from=8 if n > 8 else None) for n in (8, 9, 10)]
    found = change(compare([*old, *new]), "wait_mean_s")
    assert (found.value, found.over) == (10, SEEDS)
    freedom = np.array(1.5**2 / (1**2 / 2 + 0.5**2 / 2))
    assert found.high - found.value == pytest.approx(float(comparing.t_quantile(freedom)) * 1.5**0.5)


def by_blocks(rng: np.random.Generator, samples: int, seeds: int, tries: int) -> np.ndarray:
    """(seeds, tries) means of data about 7, as the product draws them: recorded samples, then their blocks anew.

    Each has ``BLOCKS`` blocks of 8 values that depend on one another.
    """
    data = 7 + rng.normal(0, 1, (samples, tries, BLOCKS, 1)) + rng.normal(0, 1, (samples, tries, BLOCKS, 8))
    blocks = data.mean(axis=3)
    found = [*blocks.mean(axis=2)]
    for seed in range(samples, seeds):
        drawn = rng.integers(BLOCKS, size=(tries, BLOCKS))
        found.append(np.take_along_axis(blocks[seed % samples], drawn, axis=1).mean(axis=1))
    return np.array(found)


@pytest.mark.parametrize(("samples", "seeds"), [(1, 2), (1, 3), (1, 10), (3, 3), (3, 10)])
def test_intervals_over_what_is_drawn_in_blocks_cover_the_truth(samples: int, seeds: int):
    values = by_blocks(np.random.default_rng(9), samples, seeds, 4000)
    origins = np.array([n if n < samples else n % samples for n in range(seeds)])
    found = comparing.over_seeds(values, SEEDS, origins)
    assert float(((found.low <= 7) & (found.high >= 7)).mean()) == pytest.approx(0.945, abs=0.02)
    if seeds > samples:
        narrow = comparing.over_seeds(values, SEEDS)
        assert float(((narrow.low <= 7) & (narrow.high >= 7)).mean()) < 0.93, "these are no further observations"


def test_intervals_of_unpaired_changes_cover_it_too():
    rng = np.random.default_rng(6)
    sides = [
        comparing._Side(name, {n: ran(name, n, [1.0]) for n in seeds}, rng.normal(mean, spread, (len(seeds), 4000)))
        for name, seeds, mean, spread in (("old", range(6), 5, 1), ("new", range(10, 14), 8, 3))
    ]
    found = comparing._change(sides[1], sides[0])
    assert float(((found.low <= 3) & (found.high >= 3)).mean()) == pytest.approx(0.955, abs=0.02)


@pytest.mark.parametrize("jobs", [60, 15_000])
def test_intervals_over_jobs_are_as_wide_as_theory_says(jobs: int):
    columns = np.random.default_rng(7).normal(50, 10, (5, jobs))
    truth, samples = comparing._resample(columns, np.random.default_rng(8))
    names = comparing.RESAMPLED
    mean, total = names.index("wait_mean_s"), names.index("preemptions")
    assert truth[mean] == pytest.approx(columns[0].mean())
    assert samples[:, mean].std() == pytest.approx(10 / jobs**0.5, rel=0.15)
    assert samples[:, total].std() == pytest.approx(10 * jobs**0.5, rel=0.15)
    assert samples[:, names.index("wait_median_s")].std() == pytest.approx(12.5 / jobs**0.5, rel=0.25)
