"""What the supervisor runs: the description of a program, and the life of its current process."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import spawn, template

LOG_MAX_BYTES = 20 * 2**20
BACKOFF_FIRST_S = 0.1
BACKOFF_MAX_S = 15.0
BACKOFF_SERVED_MAX_S = 1.0  # for one that served: a node that stays away is lost, without a standby nobody leads
SETTLED_S = 10.0  # a process that lived this long starts again without delay when it ends


@dataclass(frozen=True)
class Program:
    """``ready`` is asked with the process id; without one, the process says so itself (``notify``) or, with
    ``silent``, counts as ready at once. Programs of a higher ``stop_rank`` stop first. ``template``: the socket of
    the process that this one is a copy of, in whose environment it runs."""

    name: str
    argv: list[str]
    env: dict[str, str]
    needs: tuple[str, ...] = ()
    ready: Callable[[int], bool] | None = None
    silent: bool = False
    oneshot: bool = False
    essential: bool = False  # the stack gives up when it cannot be started
    as_nobody: bool = False
    stop_rank: int = 1
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGKILL
    grace_s: float = 5.0
    before: Callable[[], None] | None = None  # run in the supervisor just before each start
    template: Path | None = None


@dataclass
class Child:
    """One program's state: waiting, starting, ready, done, backoff, held or stopped."""

    program: Program
    log: Path
    state: str = "waiting"
    pid: int = 0
    since: float = field(default_factory=time.time)  # of the state, Unix seconds
    started: float = 0.0  # monotonic
    restarts: int = 0
    failures: int = 0  # since it last settled
    next_start: float = 0.0
    last_exit: str = ""

    def change(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.since = time.time()

    @property
    def alive(self) -> bool:
        return self.pid > 0

    @property
    def fit(self) -> bool:
        """Whether programs that need this one may start."""
        return self.state == ("done" if self.program.oneshot else "ready")

    def start(self) -> None:
        """Raises ``OSError``, ``HomeError`` or ``template.Absent`` when the process cannot be started."""
        program = self.program
        self.started = time.monotonic()
        if program.before:
            program.before()
        self.pid = template.copy(program.template, program.argv[2:], self.log) if program.template else self._execute()
        self.change("ready" if program.silent and not program.oneshot else "starting")

    def _execute(self) -> int:
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                self.program.argv,
                env=self.program.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=spawn.before_exec(self.program.death_signal, self.program.as_nobody),
            )
        process.returncode = 0  # the supervisor reaps; keep Popen from waiting for it or complaining
        return process.pid

    def check_ready(self) -> None:
        if self.state == "starting" and self.program.ready and self.program.ready(self.pid):
            self.change("ready")

    def ended(self, status: int, wanted: bool) -> None:
        """Take in the end of the process; ``wanted`` when the supervisor asked for it."""
        code = os.waitstatus_to_exitcode(status)
        self.pid = 0
        self.last_exit = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        if self.program.oneshot and code == 0:
            self.change("done")
        elif wanted:
            self.change("stopped")
        else:
            self.back_off()

    def back_off(self) -> None:
        if time.monotonic() - self.started > SETTLED_S:
            self.failures = 0
        self.failures += 1
        self.restarts += 1
        longest = BACKOFF_SERVED_MAX_S if self.state == "ready" else BACKOFF_MAX_S
        self.next_start = time.monotonic() + min(longest, BACKOFF_FIRST_S * 2 ** (self.failures - 1))
        self.change("backoff")

    def signal(self, sig: int) -> None:
        if self.alive:
            spawn.send([self.pid], sig)

    def last_words(self, lines: int = 3) -> str:
        """The end of its log, for messages."""
        try:
            with open(self.log, "rb") as log:
                log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
                text = log.read().decode(errors="replace").strip()
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def bound_log(self) -> None:
        """Keep one older piece. The process goes on appending to the emptied file."""
        try:
            if self.log.stat().st_size > LOG_MAX_BYTES:
                older = self.log.with_suffix(".log.1")
                older.write_bytes(self.log.read_bytes()[-LOG_MAX_BYTES:])
                os.truncate(self.log, 0)
        except OSError:
            pass  # nothing depends on it

    def describe(self) -> dict[str, object]:
        return {
            "name": self.program.name,
            "state": self.state,
            "pid": self.pid,
            "since": self.since,
            "restarts": self.restarts,
            "last_exit": self.last_exit,
            "log": str(self.log),
        }
