"""What the gate makes of a run: which failures may be the machine's fault, and what is counted."""

import os
import subprocess
import threading
from pathlib import Path

import httpx
import psutil
import pytest
from django.db import OperationalError

from tests.gate import lanes, outcomes, record
from tests.patience import RanOut
from tests.stores import ROOT

# What runs inside needs neither Django nor other plugins, and would load them for seconds.
PLAIN = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
INNER = """
import subprocess, pytest
from tests.patience import RanOut

@pytest.fixture
def slow(): raise RanOut("the stack")
@pytest.fixture
def wrong_after():
    yield
    assert False, "an invariant"

def test_right(): pass
def test_wrong(): assert 1 == 2
def test_late(): raise RanOut("it")
def test_never_began(slow): pass
def test_late_and_wrong(wrong_after): raise RanOut("it")
@pytest.mark.skip(reason="no chromium")
def test_left_out(): pass
@pytest.mark.xfail(reason="theirs differs", strict=True)
def test_expected(): assert False
"""


@pytest.mark.parametrize("shared", [(), ("-p", "xdist", "-n", "2")])
def test_a_run_is_written_down_and_read_back(tmp_path: Path, shared: tuple[str, ...], monkeypatch) -> None:
    (tmp_path / "test_inner.py").write_text(INNER)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    words = ["--rootdir", str(tmp_path), *shared, str(tmp_path / "test_inner.py")]
    with open(tmp_path / "log", "w") as log:
        status, cpu_s = lanes.pytest(tmp_path / "record.jsonl", words, os.environ | PLAIN, log)
    found = outcomes.read(tmp_path / "record.jsonl")
    assert status == 1, (tmp_path / "log").read_text()
    assert cpu_s > 0.1
    assert found.collected == 7
    assert found.counts() == {"passed": 1, "failed": 4, "skipped": 2}
    failed = {o.test.rpartition("::")[2]: (o.missed, o.errors[0]) for o in found.failed()}
    assert {name: missed for name, (missed, _) in failed.items()} == {
        "test_wrong": False, "test_late": True, "test_never_began": True, "test_late_and_wrong": False,
    }  # fmt: skip
    assert failed["test_late"][1].endswith("it")
    assert {o.test.rpartition("::")[2] for o in found.failed() if o.stall} == {
        "test_late", "test_never_began", "test_late_and_wrong",
    }  # fmt: skip
    assert sorted(o.skipped or o.expected for o in found.not_run()) == ["no chromium", "theirs differs"]


@pytest.mark.parametrize(
    ("error", "missed"),
    [
        (RanOut("a leader"), True),
        (TimeoutError(), True),
        (OperationalError("connection timeout expired"), True),
        (OperationalError("deadlock detected"), False),
        (subprocess.TimeoutExpired("up", 120), True),
        (psutil.TimeoutExpired(5.0), True),
        (threading.BrokenBarrierError(), True),
        (httpx.PoolTimeout("no connection is free"), True),
        (httpx.ConnectError("refused"), False),
        (AssertionError("Locator expected to be visible\nTimeout 40000ms\nCall log:\n - waiting"), True),
        (AssertionError("Locator expected\nError: strict mode violation: two\nCall log:\n with timeout 5ms"), False),
        (AssertionError("Timeout is 3, not 4"), False),
        (AssertionError("two containers on one place"), False),
        (ValueError("x"), False),
    ],
)
def test_only_missing_time_is_tried_again(error: BaseException, missed: bool) -> None:
    assert record.missed_time(error) is missed


def test_a_test_that_pytest_timed_out_missed_its_time() -> None:
    with pytest.raises(pytest.fail.Exception) as told:
        pytest.fail("Timeout (>300.0s) from pytest-timeout.")
    assert record.missed_time(told.value)


def test_a_line_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "record"
    line = '{"test": "a", "phase": "call", "outcome": "passed", "seconds": 1.0}\n'
    path.write_text('{"collected": 2}\n' + line + line[:20])
    assert outcomes.read(path).counts() == {"passed": 1}
    assert outcomes.read(tmp_path / "nothing-yet").collected == 0
