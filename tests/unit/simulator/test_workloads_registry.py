"""Workloads by name."""

import inspect
from pathlib import Path

import pytest

from simulator.workloads import READERS, history, open_workload
from tests.unit.simulator.workload_cases import same, written

PATH = __file__  # any that is there
LINE = "1 0 -1 5 2 -1 -1 2 -1 -1 1 1 1 -1 1 -1 -1 -1\n"


def test_each_by_its_name(tmp_path: Path):
    assert set(READERS) == {"swf", "sls", "openb", "philly", "synthetic", "history"}
    path = written(tmp_path / "a.swf", LINE)
    (job,) = open_workload("swf", path, memory_mib=5)
    assert job.groups[0].memory_mib == 5
    one = open_workload("synthetic", seed=4, containers=10)
    assert same(one, open_workload("synthetic", None, seed=4, containers=10))
    (again,) = open_workload("swf", str(path))
    assert again.number == 1


def test_a_part_of_a_longer_log_begins_with_its_first_job(tmp_path: Path):
    first, second = (LINE.replace("1 0 ", f"{number} {at} ", 1) for number, at in ((1, 70_000_000), (2, 70_000_030)))
    path = written(tmp_path / "a.swf", first + second)
    assert [job.at_s for job in open_workload("swf", path)] == [0.0, 30.0]


def test_a_history_says_what_whoever_reads_it_has_to_know(tmp_path: Path):
    (job,) = open_workload("swf", written(tmp_path / "a.swf", LINE))
    history.dump([job], tmp_path / "h", ["A sample: 12 % of the jobs."])
    assert open_workload("history", tmp_path / "h").notes == ["A sample: 12 % of the jobs."]
    head = '{"format": "hydra-history", "version": 1, "notes": [1]}'
    with pytest.raises(ValueError, match="field notes: these are no notes; give at most 20 texts"):
        open_workload("history", written(tmp_path / "wrong", head))


def test_options_are_those_of_the_reader():
    for name, reader in READERS.items():
        given = inspect.signature(reader.read).parameters
        assert reader.options or name == "history"
        if name != "synthetic":
            assert set(reader.options) == set(given) - {"path"}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("slurm", "x", {}), "workload: 'slurm' is unknown; use one of: history, openb, philly, sls, swf, synthetic"),
        (("swf", "x", {"memory": 1}), "'memory' is no option of the workload swf; options: keep_failed, memory_mib"),
        (("history", "x", {"a": 1}), "'a' is no option of the workload history; options: none"),
        (("synthetic", None, {"job": 1}), "'job' is no option of the workload synthetic; options: alike, bundles"),
        (("swf", None, {}), "the workload swf needs a path; give the file to read"),
        (("swf", PATH, {"queue": 3}), "queue: '3' does not fit; give a valid string or a valid dictionary"),
        (("philly", PATH, {"memory_mib": "abc"}), "memory_mib: 'abc' does not fit; give a valid integer"),
        (("synthetic", "x", {}), "path: 'x' is not read, as jobs are drawn; leave it out"),
    ],
)
def test_errors_name_the_choices(call: tuple, told: str):
    name, path, options = call
    with pytest.raises(ValueError, match=told):
        open_workload(name, path, **options)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        open_workload("history", tmp_path / "none")
