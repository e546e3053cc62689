"""How a run ends: one closing over all of it, records that stay where something failed, and no process left."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate import again, closing, lanes, outcomes
from tests.gate.stages import FAULTS, Stage
from tests.patience import stretched
from tests.stores import ROOT

PLAIN = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # no plugin is needed inside
STALL = {"late_s": 2.0, "pressure": 0.25, "stolen": 0.0}


def part(folder: Path, name: str, marked: str, *lines: dict) -> lanes.Run:
    ran = lanes.Run(Stage(name, "", (), 1, marked), folder, status=1 if "failed" in str(lines) else 0)
    told = ({"phase": "call", "seconds": 1.0, "outcome": "passed"} | line for line in lines)
    ran.record.write_text("".join(json.dumps(line) + "\n" for line in told))
    return ran


def missed(test: str) -> dict:
    return {"test": test, "outcome": "failed", "missed_time": True, "stall": STALL, "error": "not within 61 s: it"}


def test_several_stages_have_one_closing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gate = part(tmp_path, "gate", "not faults", {"test": "a"}, missed("b"), {"test": "c", "outcome": "skipped"})
    faults = part(tmp_path, "faults", FAULTS.marked, {"test": "d"})
    flaky = gate.outcomes().failed()
    assert closing.tell([gate, faults], flaky) == 0
    assert closing.tell([gate, faults], []) == 1
    closing.sum_up([gate, faults], flaky, tmp_path, {"HYDRA_TEST_FACTOR": "1.00"}, [])
    said = capsys.readouterr().out
    assert "FLAKY b - stalled 2.00 s, 25% short of a core, 0% stolen - not within 61 s: it\n" in said
    assert said.count(" passed, ") == 1 and "\n3 passed, 0 failed, 1 skipped\nleft out - " in said
    assert "run with --faults" not in said
    closing.sum_up([gate], [], tmp_path, {"HYDRA_TEST_FACTOR": "1.00"}, [])
    assert "run with --faults" in capsys.readouterr().out


@pytest.mark.parametrize("status", [0, 1])
def test_what_passes_the_second_time_is_recorded(tmp_path: Path, monkeypatch, status: int) -> None:
    monkeypatch.setattr(lanes, "pytest", lambda *_: (status, 0.0))
    found = again.flaky([part(tmp_path, "one", "", {"test": "a"}, missed("b"))], {}, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / again.RECORD).read_text().splitlines()]
    told = [{"test": "b", "stall": STALL, "error": "not within 61 s: it"}]
    assert lines == ([] if status else told) and [o.test for o in found] == [line["test"] for line in lines]


def test_many_that_missed_their_time_are_no_accident(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(lanes, "pytest", lambda *_: (0, 0.0))
    assert not again.flaky([part(tmp_path, "one", "", *(missed(name) for name in "abcd"))], {}, tmp_path)


RUN = """
import os, subprocess, sys
from tests.gate import run
from tests.gate.stages import Stage

def compiles(self):
    child = subprocess.Popen(["sleep", "600"])
    print("compiler", child.pid, flush=True)
    child.wait()

run.environment = lambda soak, lightly: {**os.environ, "HYDRA_TEST_FACTOR": "1.00"}
run._Warm.run = compiles
sys.exit(run.stages([[[Stage("one", "", (), 1, "not faults")]]], sys.argv[1:], soak=False))
"""


@pytest.mark.parametrize("right", [True, False])
def test_records_stay_where_something_failed_and_no_process_does(tmp_path: Path, right: bool) -> None:
    (tmp_path / "test_inner.py").write_text(f"def test_it(): assert {right}")
    environ = os.environ | PLAIN | {"TMPDIR": str(tmp_path)}
    environ.pop("HYDRA_TEST_KEEP", None)
    words = ["--rootdir", str(tmp_path), str(tmp_path / "test_inner.py")]
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words], cwd=ROOT, env=environ, capture_output=True, text=True, check=False,
        timeout=stretched(30),
    )  # fmt: skip
    assert done.returncode == (0 if right else 1), done.stdout + done.stderr
    pid = done.stdout.partition("compiler ")[2].split()[0]
    assert not Path(f"/proc/{pid}").exists()
    kept = list(tmp_path.glob("hydra-tested-*"))
    assert bool(kept) is not right
    if kept:
        assert f"records and logs are kept: {kept[0]}" in done.stdout
        assert [o.test for o in outcomes.read(kept[0] / "one.jsonl").failed()] == ["test_inner.py::test_it"]
