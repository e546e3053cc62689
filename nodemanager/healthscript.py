"""The operator's health script: run now and then, its verdict a health flag and one line of text.

Exit status 0 without a line that begins with ERROR is well; anything else is
not, also a script that takes too long or cannot be started. It runs on a
thread of its own, in a process group of its own, which ends with it.
"""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from nodemanager.config import Config
from nodemanager.http import Http, HttpError
from nodemanager.isolation import Isolation
from nodemanager.log import note
from wire import nodeapi
from wire.states import NodeHealth

OUTPUT_MAX = 65_536  # bytes read; what a script says beyond them is dropped
REPORT_RETRY_S = 5.0
ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class Script:
    """``uid``: the unprivileged user it runs as, -1 for the agent's own."""

    argv: Sequence[str]
    interval_s: float
    timeout_s: float
    uid: int
    env: dict[str, str]


def configured_script(config: Config, isolation: Isolation) -> Script:
    """How the operator's health script runs."""
    as_task = config.health_as_task_user and isolation.separates_users
    env = {"PATH": config.path, "LANG": "C.UTF-8", "HYDRA_NODE": config.name, "HYDRA_WORK_DIR": str(config.dir)}
    timing = config.health_interval_s, config.health_timeout_s
    return Script(config.health_script, *timing, config.uid_base if as_task else -1, env)


def run(script: Script, stopping: threading.Event | None = None) -> str:
    """What the script complains of, in one short line; empty when all is well. Ends its whole process group."""
    deadline = time.monotonic() + script.timeout_s
    uid, groups = (None, None) if script.uid < 0 else (script.uid, list[int]())
    try:
        process = subprocess.Popen(
            list(script.argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd="/", env=script.env, start_new_session=True,
            user=uid, group=uid, extra_groups=groups,
        )  # fmt: skip
    except OSError as error:
        return one_line(f"the health script cannot be started: {error.strerror}: {error.filename or script.argv[0]}")
    assert process.stdout is not None
    try:
        output = _read(process, process.stdout, deadline, stopping)
    finally:
        _end(process)
        process.stdout.close()
    if process.returncode == -signal.SIGKILL and output is None:
        return one_line(f"the health script did not end within {script.timeout_s:g} s")
    output_lines = [text for text in (output or b"").decode(errors="replace").splitlines() if text.strip()]
    complaint = next((text for text in output_lines if text.startswith(ERROR)), "")
    if complaint or process.returncode == 0:
        return one_line(complaint)
    how = f"exit status {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
    return one_line(f"the health script ended with {how}" + (f": {output_lines[-1]}" if output_lines else ""))


def _read(
    process: "subprocess.Popen[bytes]", stdout: IO[bytes], deadline: float, stopping: threading.Event | None
) -> bytes | None:
    """The start of what the script writes, until it has ended; ``None`` when it has not in time.

    A child it leaves behind may hold the pipe open, so that the pipe's end is not waited for. The script is not
    reaped here: until then its process group cannot become another's.
    """
    os.set_blocking(stdout.fileno(), False)
    output = b""
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        open_ = True
        while True:
            ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
            while open_ and (data := _some(stdout)) is not None:
                open_ = bool(data)
                output = (output + data)[:OUTPUT_MAX]
            if ended:
                return output
            left = deadline - time.monotonic()
            if left <= 0 or (stopping is not None and stopping.is_set()):
                return None
            if open_:
                selector.select(min(left, 0.1))
            else:
                time.sleep(min(left, 0.02))


def _some(stdout: IO[bytes]) -> bytes | None:
    try:
        return os.read(stdout.fileno(), OUTPUT_MAX)
    except BlockingIOError:
        return None


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass  # nothing of it is left
    process.wait()


def one_line(text: str) -> str:
    """Printable, and no longer than the control plane takes."""
    return "".join(c if c.isprintable() else " " for c in text)[: nodeapi.HEALTH_TEXT_MAX].strip()


class HealthScript:
    """Runs the script on a thread. ``changed``: called there when ``flag`` has changed."""

    def __init__(self, script: Script, http: Http, changed: Callable[[], None]) -> None:
        self.script, self.http, self.changed = script, http, changed
        self.flag = int(NodeHealth.SCRIPT) if script.argv else 0  # until it has said that all is well
        self.text = ""
        self.reported: str | None = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._loop, name="health-script", daemon=True)

    def start(self) -> None:
        """Begin to run it; without a script there is no thread."""
        if self.script.argv:
            self.thread.start()

    def close(self) -> None:
        """Kill a script that runs; its verdict no longer counts."""
        self.stopping.set()

    def _loop(self) -> None:
        due = time.monotonic()
        while not self.stopping.is_set():
            if time.monotonic() >= due:
                due = time.monotonic() + self.script.interval_s
                self._verdict(run(self.script, self.stopping))
            self._report()
            wait = max(0.0, due - time.monotonic())
            self.stopping.wait(wait if self.reported == self.text else min(wait, REPORT_RETRY_S))

    def _verdict(self, text: str) -> None:
        if self.stopping.is_set():
            return
        flag = int(NodeHealth.SCRIPT) if text else 0
        if text != self.text:
            note("warning" if text else "info", "the health script's verdict changed", says=text or "all is well")
        changed, self.flag, self.text = flag != self.flag, flag, text
        if changed:
            self.changed()

    def _report(self) -> None:
        if self.reported == self.text or self.stopping.is_set():
            return
        try:
            self.http.request("POST", f"{nodeapi.PREFIX}/health", {"text": self.text})
        except HttpError as error:
            note("warning", "the health script's text could not be told", why=str(error))
            if error.retry or error.status in (401, 403):
                return  # told later
        self.reported = self.text
