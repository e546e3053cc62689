"""What a health script's end is taken to mean, whatever it does."""

import json
import os
import threading
from pathlib import Path

import pytest

from nodemanager import config
from nodemanager.healthscript import Script, configured_script, run
from nodemanager.isolation import Isolation, detect
from tests.patience import wait_until
from tests.processes import Pid, alive


def script(text: str, timeout_s: float = 5.0, uid: int = -1) -> Script:
    return Script(["/bin/sh", "-c", text], 60.0, timeout_s, uid, {"PATH": os.environ["PATH"]})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("exit 0", ""),
        ("echo all is well", ""),
        ("echo no ERROR here", ""),
        ("echo fine; echo ERROR fan 3 stands still; echo more", "ERROR fan 3 stands still"),
        ("echo ERROR first; echo ERROR second; exit 1", "ERROR first"),
        ("echo disk sda is slow; exit 3", "the health script ended with exit status 3: disk sda is slow"),
        ("exit 1", "the health script ended with exit status 1"),
        ("kill -SEGV $$", "the health script ended with signal 11"),
        ("kill -KILL $$", "the health script ended with signal 9"),
        (r"printf 'ERROR a\033[2J\tb\377\n'", "ERROR a [2J b\ufffd"),
        ("echo ERROR not on stdout >&2", ""),
    ],
)
def test_verdicts(text: str, says: str) -> None:
    assert run(script(text)) == says


def test_the_text_is_short_and_endless_output_is_not_kept() -> None:
    assert len(run(script("printf 'ERROR %1000s' x"))) <= 200
    assert run(script("yes well", timeout_s=0.3)) == "the health script did not end within 0.3 s"


def test_one_that_hangs_is_ended_with_everything_it_has_started(tmp_path: Path) -> None:
    says = run(script(f"sleep 60 & echo $! > {tmp_path}/pid; trap '' TERM; sleep 60", timeout_s=0.5))
    assert says == "the health script did not end within 0.5 s"
    begun = Pid(int((tmp_path / "pid").read_text()))
    wait_until(lambda: not alive(begun), 5, "what it has started is gone")


def test_a_child_left_behind_is_not_waited_for_and_ended(tmp_path: Path) -> None:
    assert run(script(f"sleep 60 & echo $! > {tmp_path}/pid; echo ERROR left one")) == "ERROR left one"
    begun = Pid(int((tmp_path / "pid").read_text()))
    wait_until(lambda: not alive(begun), 5, "what it has started is gone")


def test_one_that_cannot_be_started_says_so() -> None:
    missing = Script(["/nowhere/check"], 60.0, 5.0, -1, {})
    assert run(missing) == "the health script cannot be started: No such file or directory: /nowhere/check"


def test_stopping_ends_it_at_once() -> None:
    stopping = threading.Event()
    threading.Timer(0.2, stopping.set).start()
    run(script("sleep 600", timeout_s=600), stopping)  # pytest's own limit is shorter


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_it_runs_as_the_task_user_when_operators_say_so(tmp_path: Path) -> None:
    settings = {"control_plane": "http://127.0.0.1:1", "name": "n", "dir": "/tmp/x", "health_as_task_user": True}
    path = tmp_path / "node.json"
    path.write_text(json.dumps(settings | {"health_script": ["/bin/sh", "-c", "echo ERROR $(id -u) $(id -G); id"]}))
    read = config.load(str(path), {"HYDRA_NODE_HEALTH_INTERVAL_S": "7"})
    found = detect(read, [])
    made = configured_script(read, found)
    assert made.interval_s == 7
    if found.separates_users:
        assert run(made) == f"ERROR {read.uid_base} {read.uid_base}"
    assert configured_script(read, Isolation(False, [], 1)).uid == -1


def test_the_environment_names_a_script_as_a_path_or_as_words(tmp_path: Path) -> None:
    path = tmp_path / "node.json"
    path.write_text(json.dumps({"control_plane": "http://127.0.0.1:1", "name": "n", "dir": "/tmp/x"}))
    assert config.load(str(path), {}).health_script == ()
    for text, words in (("/opt/a check", ("/opt/a check",)), ('["/opt/a", "-q"]', ("/opt/a", "-q"))):
        assert config.load(str(path), {"HYDRA_NODE_HEALTH_SCRIPT": text}).health_script == words
