"""The scripts behind docs/figures.md, at sizes that take seconds: what each figure claims holds there too."""

import os
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import backfilling, federated, figure5, workload_shape
from benchmarks.pictures import chart, mark_swatch, picture
from simulator.report.svg import Plot, linear
from simulator.setups import SetupParameters, generate
from simulator.workload import Submission, SubmittedGroup
from simulator.workloads import synthetic

SVG = "{http://www.w3.org/2000/svg}"
needs_log = pytest.mark.skipif("HYDRA_DATA" not in os.environ, reason="HYDRA_DATA names no folder of real traces")


def drawn(picture: str) -> ElementTree.Element:
    root = ElementTree.fromstring(picture)
    assert root.tag == f"{SVG}svg"
    assert "prefers-color-scheme: dark" in picture
    return root


def batch(at_s: float, processors: int, run_s: float) -> Submission:
    group = SubmittedGroup(processors, backfilling.MIB, 1000, np.array([run_s]), estimate_s=run_s, gang=True)
    return Submission(at_s, "root.batch", "u", (group,))


def test_a_picture_holds_its_charts_and_their_legends() -> None:
    axis = linear(1.0, "Parts")
    plots = [Plot(axis, axis, 300.0, 200.0) for _ in range(2)]
    charts = [
        chart(f"Chart {i}", plot, [(mark_swatch(0), f"word {k}") for k in range(9)], "") for i, plot in enumerate(plots)
    ]
    root = drawn(picture(charts, 300.0, 200.0))
    said = [element.text for element in root.iter(f"{SVG}text")]
    assert said.count("word 3") == 2
    assert {"Chart 0", "Chart 1"} <= set(said)
    high = float(root.attrib["height"])
    assert high > 200 + 3 * 20, "the legend takes several rows"


def test_jobs_that_come_faster_offer_more_load() -> None:
    jobs = [batch(60.0 * k, 4, 30.0) for k in range(11)]
    assert backfilling.load_percent(jobs, 4) == 55.0
    assert backfilling.load_percent(backfilling.faster(jobs, 2.0), 4) == 110.0
    assert [j.at_s for j in backfilling.between(jobs, 60.0, 180.0)] == [0.0, 60.0]


def test_estimates_are_too_long_in_two_ways() -> None:
    jobs = [batch(60.0 * k, 4, 30.0) for k in range(200)]
    said = {way: [j.groups[0].estimate_s for j in backfilling.guess(jobs, 3.0, way)] for way in backfilling.GUESSES}
    assert set(said["times"]) == {90.0}
    assert 30.0 <= min(said["drawn"]) < 35.0
    assert 85.0 < max(said["drawn"]) <= 90.0


def test_a_short_job_passes_only_with_backfilling() -> None:
    jobs = [batch(0.0, 3, 600.0), batch(10.0, 4, 600.0), batch(20.0, 1, 60.0), batch(1200.0, 1, 1.0)]
    found = {rule: backfilling.measure(jobs, 4, rule) for rule in backfilling.RULES}
    assert found["strict"]["wait_mean_min"] > found["easy"]["wait_mean_min"] == found["conservative"]["wait_mean_min"]


@pytest.mark.faults  # for its length
@needs_log
def test_a_day_of_the_log() -> None:
    log, processors = backfilling.read(Path(os.environ["HYDRA_DATA"]) / backfilling.LOG)
    assert processors == 128
    assert backfilling.load_percent(log, 128) == pytest.approx(46.6, abs=0.1)
    jobs = backfilling.between(log, 45 * 86_400.0, 46 * 86_400.0)
    as_then = backfilling.measure(jobs, 128, "strict")
    assert as_then["waited_percent"] < 1, "its submit times are the times of starts"
    jobs = backfilling.faster(jobs, 2.0)
    found = {rule: backfilling.measure(jobs, 128, rule) for rule in backfilling.RULES}
    for rule in ("easy", "conservative"):
        assert found[rule]["slowdown_mean"] < found["strict"]["slowdown_mean"] / 2
        assert found[rule]["in_use_percent"] > found["strict"]["in_use_percent"]
    drawn(
        backfilling.draw(
            {r: {2.0: f} for r, f in found.items()},
            {"drawn": {1.0: found["easy"], 2.0: found["easy"]}} | {"times": {1.0: found["easy"]}},
        )
    )


@pytest.mark.faults  # for its length
def test_asks_that_follow_their_data_run_on_it() -> None:
    subs = federated.sub_clusters(3, 18)
    shape = federated.rated(federated.shaped(subs, 180.0), 0.4, subs, 0)
    jobs = list(federated.with_data(synthetic.generate(0, shape), subs, 0))
    assert federated.load(jobs, subs, shape) == pytest.approx(0.4, rel=0.5)
    names = ("one cluster", "data first, 5 s", "home anywhere")
    found = {name: federated.played(name, subs, shape, jobs) for name in names}
    local = {name: federated.figures(result, 180.0)["node_percent"] for name, result in found.items()}
    assert local["data first, 5 s"] > 1.3 * local["home anywhere"]
    assert local["one cluster"] > 1.3 * local["home anywhere"]
    for result in found.values():
        assert result.tasks.sum() == sum(g.count for job in jobs for g in job.groups)
    drawn(federated.draw(found))


def test_the_generator_keeps_what_the_papers_tell(tmp_path: Path) -> None:
    figure = tmp_path / "shape.svg"
    said = workload_shape.main(["--hours", "24", "--figure", str(figure)])
    assert said["tasks_under_10_s_percent"] == pytest.approx(60, abs=5)
    assert said["task_mean_s"] == pytest.approx(39.6, rel=0.3)
    assert said["fleet_jobs_per_day"] == pytest.approx(500_000, rel=0.15)
    assert said["priorities"] == 10
    drawn(figure.read_text())


@pytest.mark.faults  # for its length
def test_global_shares_use_more_than_local_ones() -> None:
    found = [figure5.measure(generate(seed, SetupParameters(sub_clusters=6, leaves=20))) for seed in range(5)]
    figures = {name: np.array([each[name] for each in found]) for name in found[0]}
    assert figures["gif_utilization"].mean() > figures["uniform_utilization"].mean()
    assert (figures["gif_utilization"] > figures["centralised_utilization"] - 2).all()
    drawn(figure5.plot(figures))
