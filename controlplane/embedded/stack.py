"""Starting, watching and stopping a whole stack from a command."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import spawn
from .home import Home, HomeError, read_json

REPO = Path(__file__).resolve().parents[2]
START_S = 180.0
STOP_S = 30.0
POLL_S = 0.05


@dataclass(frozen=True)
class RunningStack:
    """A stack: its folder, and the guard's process id when this process started it."""

    home: Home
    pid: int
    url: str


def start(
    home: Home,
    sub_clusters: Collection[str],
    nodes: int,
    detach: bool,
    show: Callable[[str], None],
    stores: bool = False,
) -> RunningStack:
    """Start and wait until every process serves. Raises ``HomeError`` with the reason; then nothing is left."""
    answer = os.memfd_create("answer")
    os.set_inheritable(answer, True)
    argv = [sys.executable, "-m", "controlplane.embedded.guard", "--answer", str(answer)]
    argv += ["--sub-clusters", ",".join(sub_clusters), "--nodes", str(nodes)] + ["--only-stores"] * stores
    with open(home.logs / "supervisor.log", "ab") as log:
        guard = subprocess.Popen(
            argv,
            cwd=REPO,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[answer],
            start_new_session=True,
            preexec_fn=None if detach else spawn.before_exec(signal.SIGTERM),
        )
    try:
        url = wait_until_ready(home, guard, answer, show)
    except BaseException:
        stop_process(guard)
        raise
    finally:
        os.close(answer)
    guard.returncode = 0  # whoever waits for it later does so by its number
    return RunningStack(home, guard.pid, url)


def wait_until_ready(home: Home, guard: subprocess.Popen[bytes], answer: int, show: Callable[[str], None]) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if guard.poll() is not None:
            raise HomeError(reason(home, answer))
        state = own_state(home, guard.pid)
        if state.get("phase") == "ready":
            return str(state["url"])
        show(progress(state))
        time.sleep(POLL_S)
    raise HomeError(f"not ready after {START_S:.0f} s; {progress(own_state(home, guard.pid))}. See {home.logs}")


def own_state(home: Home, guard_pid: int) -> dict[str, Any]:
    """The state file, unless it is still that of an earlier run."""
    state = read_json(home.state)
    return state if state.get("guard_pid") == guard_pid else {}


def progress(state: dict[str, Any]) -> str:
    waiting = [p["name"] for p in state.get("processes", []) if p["state"] not in {"ready", "done", "held"}]
    crashed = [f"{p['name']} ({p['last_exit']})" for p in state.get("processes", []) if p["state"] == "backoff"]
    if crashed:
        return f"restarting {', '.join(crashed)}"
    return f"starting {', '.join(waiting)}" if waiting else "starting"


def reason(home: Home, answer: int) -> str:
    size = os.fstat(answer).st_size
    if size:
        return os.pread(answer, size, 0).decode(errors="replace")
    return str(read_json(home.state).get("message") or f"the supervisor ended; see {home.logs / 'supervisor.log'}")


def stop_process(guard: subprocess.Popen[bytes]) -> None:
    guard.terminate()
    try:
        guard.wait(STOP_S)
    except subprocess.TimeoutExpired:
        guard.kill()  # the supervisor is told by its parent-death signal
        guard.wait()


def stop(home: Home, show: Callable[[str], None]) -> bool:
    """Stop the stack that runs in this folder; False when none does. Raises ``HomeError`` when it does not stop."""
    pid = home.running()
    if not pid:
        return False
    spawn.send([pid], signal.SIGTERM)
    deadline = time.monotonic() + STOP_S
    while home.running():
        if time.monotonic() > deadline:
            raise HomeError(f"process {pid} does not stop; see {home.logs / 'supervisor.log'}")
        alive = [p["name"] for p in read_json(home.state).get("processes", []) if p["pid"]]
        show(f"stopping {', '.join(alive)}")
        time.sleep(POLL_S)
    return True
