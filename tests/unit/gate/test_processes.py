"""A process whose number another has by now is not alive."""

import os
import subprocess

import psutil
import pytest

from tests.processes import Pid, alive


def test_one_that_has_ended_is_not_alive() -> None:
    child = subprocess.Popen(["sleep", "60"])
    pid = Pid(child.pid)
    assert alive(pid) and pid == child.pid
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not alive(pid), "a zombie"
    child.wait()
    assert not alive(pid) and not alive(Pid(child.pid))


def test_another_with_its_number_is_not_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = Pid(os.getpid())
    assert alive(pid)
    monkeypatch.setattr(psutil.Process, "__eq__", lambda *_: False)
    assert not alive(pid)
