"""The example of a master that searches parameters: its file is right, and its search narrows as it should."""

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from client.jobfile import pack, parse, read_text
from contract import jobspec
from hydra.am import ApplicationMaster, Event
from tests.stores import ROOT

FOLDER = ROOT / "examples" / "parameter-search"


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"parameter_search_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


search, trial = module("search"), module("trial")


def test_the_job_file_is_taken_and_brings_the_package() -> None:
    packed = pack(parse(read_text(FOLDER / "job.yaml"), FOLDER / "job.yaml"), FOLDER)
    spec, errors = jobspec.parse(packed.spec)
    assert not errors and spec is not None and spec.groups[0].retries == 2
    paths = {file.path for file in spec.groups[0].files}
    assert paths >= {"search.py", "trial.py", "hydra/am.py", "hydra/calls.py", "hydra/__init__.py"}
    assert {Path(upload.source).name for upload in packed.uploads} >= {"search.py", "trial.py", "am.py"}


def test_a_trial_is_the_same_every_time_and_learns() -> None:
    good = {"rate": 0.3, "decay": 1e-5, "degree": 4}
    assert trial.train(**good, epochs=3) == trial.train(**good, epochs=3)
    assert trial.train(**good, epochs=12) < trial.train(**good, epochs=1) < 1.0


@pytest.fixture
def found() -> Any:
    return search.Search(ApplicationMaster("http://127.0.0.1:1", "am.x"))


def test_each_rung_keeps_the_best_third(found: Any) -> None:
    sizes = []
    while len(found.rung()[1]) > 1:
        number, left = found.rung()
        sizes.append(len(left))
        assert [c for _, c in found.todo()] == left
        found.losses |= {(number, c): float(c) for c in left}
    assert sizes == [27, 9, 3] and found.rung() == (3, [0])


def test_what_runs_or_is_done_is_not_run_again(found: Any) -> None:
    found.running["c-1-1-1"] = (0, 5)
    found.losses[0, 7] = 0.1
    assert {c for _, c in found.todo()} == set(range(27)) - {5, 7}
    found.hear(Event(1, "ended", "c-1-1-1", tag="0.5", state="LOST", reason="NODE_LOST"))
    assert (0, 5) in found.todo(), "it was not its own fault"
    for _ in range(search.TRIES):
        found.hear(Event(2, "ended", "c-1-1-2", tag="0.6", state="FAILED", reason="EXIT_CODE"))
    assert math.isinf(found.losses[0, 6]), "one that fails again and again is given up"
