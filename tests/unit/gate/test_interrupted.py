"""Ctrl-C in the middle of a run: what the tests began is ended by the tests, and nothing goes on behind it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controlplane.embedded import spawn
from tests.patience import wait_until
from tests.processes import Pid, alive
from tests.stores import ROOT

PLAIN = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # no plugin is needed inside
INNER = """
import os, pathlib, subprocess, pytest
HERE = pathlib.Path(__file__).parent

@pytest.fixture
def stack():
    yield
    (HERE / "ended").touch()

def test_long(stack):
    (HERE / "began").write_text(str(os.getpid()))
    subprocess.run(["sleep", "600"])
def test_next():
    (HERE / "went_on").touch()
"""
RUN = """
import os, signal, sys
from pathlib import Path
from tests.gate import lanes
from tests.gate.stages import Stage

signal.signal(signal.SIGINT, signal.default_int_handler)
folder = Path(sys.argv[1])
runs = [lanes.Run(Stage(name, "", (), 1), folder, sys.argv[2:]) for name in ("one", "two")]
lanes.run([runs], dict(os.environ))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_test_outlives_its_run(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "test_inner.py").write_text(INNER)
    words = [str(tmp_path), "--rootdir", str(tmp_path), str(tmp_path / "test_inner.py")]
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, *words], cwd=ROOT, env=os.environ | PLAIN,
        stdout=subprocess.PIPE, text=True, preexec_fn=spawn.before_exec(signal.SIGKILL),
    )  # fmt: skip
    began = tmp_path / "began"
    wait_until(lambda: began.exists() and began.read_text(), 30, "the test begins")
    inner = Pid(int(began.read_text()))
    run.send_signal(how)
    said, _ = run.communicate()
    wait_until(lambda: not alive(inner), 30, "pytest ends")
    assert not (tmp_path / "went_on").exists()
    assert not (tmp_path / "two.log").exists()
    if how is signal.SIGINT:
        assert "stopping" in said
        assert (tmp_path / "ended").exists(), "its fixtures have come to their end"
