"""``up``, ``down`` and what must never be left behind.

Of tasks that run when the whole stack ends none survives it, and their jobs go on at the next start.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.homes import ready_made
from tests.patience import wait_until
from tests.stack import UNHURRIED, Stack
from tests.stores import ROOT


def of_home(home: Path) -> list[psutil.Process]:
    """Every live process that names this folder in its command line or environment."""
    found = []
    for process in psutil.process_iter():
        try:
            text = " ".join(process.cmdline()) + process.environ().get("HYDRA_HOME", "")
            if str(home) in text and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                found.append(process)
        except psutil.Error:
            continue
    return found


def nothing_left(stack: Stack) -> bool:
    return not of_home(stack.home.root) and not stack.home.running()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One small stack for the tests that leave it as they find it, or start it again.

    Its folder is empty at first, but for what an initdb left that was interrupted.
    """
    stack = Stack(tmp_path_factory.mktemp("up") / "home", sub_clusters=1, nodes=1, environ=UNHURRIED)
    (stack.home.root / "pg.new" / "base").mkdir(parents=True, mode=0o700)
    stack.start()
    yield stack
    stack.stop()
    wait_until(lambda: nothing_left(stack), 20, "everything has ended")


def running(stack: Stack) -> None:
    if not stack.home.running():
        stack.start()


def test_status_shows_every_process_with_its_epoch(shared: Stack):
    running(shared)

    def led() -> dict[str, Any] | None:
        told = json.loads(shared.manage("status", "--output", "json").stdout)
        return told if any(p["epoch"] for p in told["processes"]) else None

    report = wait_until(led, 20, "somebody leads east")
    names = {p["name"] for p in report["processes"] if p["pid"]}
    assert names == {"postgres", "valkey", "broker", "template", "web", "beat", "worker-a", "worker-b", "east-1"}
    assert all(p["health"] == "ok" for p in report["processes"])
    leader = next(p for p in report["processes"] if p["epoch"])
    assert leader["name"] in {"worker-a", "worker-b"}
    assert leader["epoch"].startswith("east ")


def test_a_database_that_was_half_made_is_made_anew(shared: Stack):
    assert (shared.home.root / "pg" / "PG_VERSION").exists()
    assert not (shared.home.root / "pg.new").exists()


def test_a_second_up_says_that_one_runs_and_changes_nothing(shared: Stack):
    running(shared)
    pids = {p["name"]: p["pid"] for p in shared.state()["processes"]}
    done = shared.manage("up", "--detach")
    assert "already runs" in done.stderr
    assert pids == {p["name"]: p["pid"] for p in shared.state()["processes"]}


def test_a_killed_process_is_started_again(shared: Stack):
    running(shared)
    shared.kill_and_wait("beat")
    assert shared.process("beat")["last_exit"] == "killed by SIGKILL"


def test_roles_outlive_the_template_that_they_are_copies_of(shared: Stack):
    running(shared)
    before = {p["name"]: p["pid"] for p in shared.state()["processes"] if p["name"] != "template"}
    shared.kill_and_wait("template")
    assert before == {p["name"]: p["pid"] for p in shared.state()["processes"] if p["name"] != "template"}
    shared.kill_and_wait("beat")


@pytest.mark.faults
def test_postgres_killed_loses_nothing(shared: Stack):
    running(shared)
    shared.kill_and_wait("postgres")
    wait_until(lambda: shared.manage("status", check=False).returncode == 0, 30, "status answers again")
    assert "operator" in shared.manage("shell", "-c", COUNT_USERS).stdout


COUNT_USERS = "from controlplane.accounts.models import User; print([u.username for u in User.objects.all()])"


@pytest.mark.faults
@pytest.mark.parametrize("victim", ["guard_pid", "pid"])
def test_either_parent_killed_leaves_nothing_running(shared: Stack, victim: str):
    running(shared)
    assert of_home(shared.home.root)
    os.kill(shared.state()[victim], signal.SIGKILL)
    wait_until(lambda: nothing_left(shared), 20, "everything has ended")
    shared.start()
    assert "operator" in shared.manage("shell", "-c", COUNT_USERS).stdout


@pytest.mark.faults
def test_the_foreground_killed_takes_the_stack_along(shared: Stack):
    if shared.home.running():
        shared.manage("down")
    command = [sys.executable, str(ROOT / "manage.py"), "up", "--sub-clusters", "1", "--nodes", "1"]
    with subprocess.Popen(command, env=shared.environ, stderr=subprocess.PIPE, text=True) as up:
        wait_until(lambda: shared.state().get("phase") == "ready" and shared.home.running(), 60, "ready")
        up.kill()
        wait_until(lambda: nothing_left(shared), 20, "everything has ended")


def tasks(stack: Stack) -> list[psutil.Process]:
    """The tasks' own processes, below the node manager's."""
    below = psutil.Process(stack.pid("east-1")).children(recursive=True)
    return [process for process in below if process.name() == "sleep"]


KILLS = [pytest.param(victim, marks=pytest.mark.faults) for victim in ("guard_pid", "pid")]


@pytest.mark.parametrize("end", ["down", *KILLS])
def test_tasks_end_with_the_stack_and_their_job_goes_on_with_the_next(shared: Stack, end: str):
    running(shared)
    # What is stopped in good order costs no attempt; of what is killed nobody can tell how it ended.
    group = {"name": "g", "count": 2, "command": ["sleep", "8"], "retries": 0 if end == "down" else 1}
    group["resources"] = {"memory_mib": 32, "vcores_milli": 100}
    job = shared.client().submit({"name": "sleeper", "queue": "root.default", "groups": [group]})
    wait_until(lambda: len(tasks(shared)) == 2, 20, "both tasks run")
    begun = tasks(shared)
    if end == "down":
        shared.manage("down")
        assert "nothing runs" in shared.manage("down").stderr
        assert shared.manage("status", check=False).returncode == 3
    else:
        os.kill(shared.state()[end], signal.SIGKILL)
    wait_until(lambda: nothing_left(shared), 20, "everything has ended")
    assert not [process for process in begun if process.is_running()]
    assert "1 node in east" in shared.manage("up", "--detach", timeout_s=240).stderr, "of the shape that it had"
    done = shared.client().wait(job.id, timeout_s=60)
    assert done.succeeded, done.message


def test_a_stale_lock_file_is_no_running_stack(tmp_path: Path):
    stack = Stack(tmp_path / "home")
    stack.home.create()
    stack.home.lock.write_text(str(os.getpid()))
    assert stack.home.running() == 0


def test_a_taken_port_is_named_and_nothing_starts(tmp_path: Path):
    stack = Stack(tmp_path / "home")
    with socket.create_server(("127.0.0.1", stack.port)):
        done = stack.manage("up", "--detach", check=False)
    assert done.returncode == 1
    assert "HYDRA_HTTP_PORT" in done.stderr
    assert str(stack.port) in done.stderr
    wait_until(lambda: nothing_left(stack), 20, "everything has ended")


@pytest.mark.parametrize("damage", ["secrets-gone", "secrets-half", "database-half"])
def test_a_half_written_folder_is_said(tmp_path: Path, damage: str):
    stack = Stack(tmp_path / "home", sub_clusters=1, nodes=0)
    root = stack.home.root
    (root / "pg").mkdir(parents=True, mode=0o700)
    if damage == "secrets-gone":
        (root / "pg" / "PG_VERSION").write_text("18\n")
    elif damage == "secrets-half":
        (root / "secrets.json").write_text('{"postgres": "x')
    else:
        (root / "pg" / "base").mkdir()
    done = stack.manage("up", "--detach", check=False)
    assert done.returncode == 1
    assert str(root) in done.stderr.replace("\n", "")
    assert "Traceback" not in done.stderr
    wait_until(lambda: nothing_left(stack), 20, "everything has ended")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small file system")
def test_a_full_disk_is_said_and_nothing_stays(tmp_path: Path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", str(small)], check=False)
    if mounted.returncode:
        pytest.skip("this host lets root mount nothing")
    try:
        stack = Stack(small / "home", sub_clusters=1, nodes=0)
        done = stack.manage("up", "--detach", check=False)
        assert done.returncode == 1
        assert "MiB" in done.stderr
        wait_until(lambda: nothing_left(stack), 20, "everything has ended")
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_under_a_long_path_it_works_and_ends_with_the_process_it_is_tied_to(tmp_path: Path):
    home = ready_made(tmp_path / ("long-" * 12) / ("folder-" * 8) / "home")
    with subprocess.Popen(["sleep", "600"]) as other:
        stack = Stack(home, sub_clusters=1, nodes=1, environ={"HYDRA_TIED_TO": str(other.pid)})
        try:
            stack.start()
            report = json.loads(stack.manage("status", "--output", "json").stdout)
            assert report["nodes"][0]["state"] == "UP"
            assert stack.home.sockets != stack.home.run
        finally:
            other.kill()
        wait_until(lambda: nothing_left(stack), 20, "everything has ended")
    assert not stack.home.sockets.exists(), "nothing is left outside its folder"
