"""Keeps a set of programs running: order of start, restart with back-off, order of stop. Standard library only.

Level-triggered like the rest: every pass compares what should run with what
does. A file in ``run/held`` named like a process keeps that one stopped.
"""

import os
import select
import signal
import sys
import time
from typing import Any

from . import notify, spawn, template
from .home import Home, HomeError, write_json
from .program import Child, Program

TICK_BUSY_S = 0.05  # while something starts
TICK_IDLE_S = 0.5
GIVE_UP_AFTER = 5  # failed starts of an essential program
LOG_CHECK_S = 60.0


class Supervisor:
    def __init__(self, home: Home, programs: list[Program], facts: dict[str, object]) -> None:
        self.home = home
        self.facts = facts
        self.children = [Child(p, home.logs / f"{p.name}.log") for p in programs]
        self.by_name = {c.program.name: c for c in self.children}
        self.phase = "starting"
        self.message = ""
        self.stopping = False
        self.written: dict[str, object] = {}
        self.next_log_check = time.monotonic() + LOG_CHECK_S
        self.inbox = notify.listen(str(home.sockets / "notify.sock"))
        self.wake_read, self.wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.tied_to = tie()

    def run(self) -> int:
        """Until SIGTERM, SIGINT, or an essential program cannot be started. Returns the exit status."""
        for sig in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sig, self.on_stop_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        spawn.adopt_orphans()
        try:
            while not self.stopping:
                self.step()
                self.wait()
        except HomeError as problem:
            self.fail(str(problem))
        self.stop_all()
        self.home.remove_short()
        return 1 if self.phase == "failed" else 0

    def on_stop_signal(self, *_: object) -> None:
        self.stopping = True

    def step(self) -> None:
        self.take_in_ends()
        for pid in notify.senders(self.inbox):
            for child in self.children:
                if child.pid == pid and child.state == "starting":
                    child.change("ready")
        held = set(os.listdir(self.home.held))
        for child in self.children:
            self.tend(child, child.program.name in held)
        if self.phase == "starting" and all(c.fit or c.state == "held" for c in self.children):
            self.phase = "ready"
        self.write_state()

    def tend(self, child: Child, held: bool) -> None:
        if held and child.state != "held":
            child.signal(child.program.stop_signal)
            if not child.alive:
                child.change("held")
        elif not held and child.state == "held":
            child.change("waiting")
            child.failures = 0
        elif child.state == "starting":
            child.check_ready()
        if child.state in {"waiting", "backoff"} and not held and self.may_start(child):
            self.start(child)

    def may_start(self, child: Child) -> bool:
        return time.monotonic() >= child.next_start and all(self.by_name[n].fit for n in child.program.needs)

    def start(self, child: Child) -> None:
        if child.program.essential and child.failures >= GIVE_UP_AFTER:
            raise HomeError(f"{child.program.name} does not start ({child.last_exit}):\n{child.last_words()}")
        try:
            child.start()
        except template.Absent as problem:  # it comes back, or the stack ends with it
            child.last_exit = str(problem)
            child.back_off()
        except OSError as error:
            raise HomeError(f"{child.program.name} cannot be started: {error.strerror or error}") from None

    def take_in_ends(self) -> None:
        by_pid = {c.pid: c for c in self.children if c.alive}
        for pid, status in spawn.reap():
            child = by_pid.get(pid)
            if child is None:
                continue  # an adopted orphan
            name = child.program.name
            held = (self.home.held / name).exists()
            child.ended(status, wanted=self.stopping)
            if held:
                child.change("held")
            elif child.state == "backoff":
                say(f"{name} ended: {child.last_exit}. {child.last_words(1)}")
                if child.program.oneshot:
                    raise HomeError(f"{name} failed:\n{child.last_words(6)}")

    def wait(self) -> None:
        busy = any(c.state in {"starting", "backoff"} for c in self.children) or self.phase == "starting"
        watched: list[Any] = [self.inbox, self.wake_read, *self.tied_to]
        readable, _, _ = select.select(watched, [], [], TICK_BUSY_S if busy else TICK_IDLE_S)
        if any(fd in readable for fd in self.tied_to):
            say("the process this stack is tied to has ended")
            self.stopping = True
        try:
            os.read(self.wake_read, 4096)
        except BlockingIOError:
            pass
        if time.monotonic() > self.next_log_check:
            self.next_log_check = time.monotonic() + LOG_CHECK_S
            for child in self.children:
                child.bound_log()

    def fail(self, message: str) -> None:
        self.phase, self.message = "failed", message
        say(message)

    def stop_all(self) -> None:
        """Rank by rank, and after the first everything that the node managers left behind."""
        self.stopping = True
        if self.phase != "failed":
            self.phase = "stopping"
        for rank in sorted({c.program.stop_rank for c in self.children}, reverse=True):
            self.stop_rank(rank)
            self.end_orphans()
        if self.phase == "stopping":
            self.phase = "stopped"
        self.write_state()

    def stop_rank(self, rank: int) -> None:
        group = [c for c in self.children if c.program.stop_rank == rank]
        for child in group:
            child.signal(child.program.stop_signal)
        started = time.monotonic()
        while alive := [c for c in group if c.alive]:
            self.take_in_ends()
            self.write_state()
            for child in alive:
                if time.monotonic() - started > child.program.grace_s:
                    child.signal(signal.SIGKILL)
            select.select([self.wake_read], [], [], TICK_BUSY_S)
            try:
                os.read(self.wake_read, 4096)
            except BlockingIOError:
                pass
        for child in group:
            if child.state not in {"done", "held"}:
                child.change("stopped")

    def end_orphans(self) -> None:
        """Adopted processes: not ours to ask politely, their own supervisors first so that nothing is half told."""
        ours = {c.pid for c in self.children if c.alive}
        while left := [pid for pid in spawn.children(os.getpid()) if pid not in ours]:
            for pid in left:
                spawn.send([pid, *spawn.descendants(pid)], signal.SIGKILL)
            self.take_in_ends()
            time.sleep(0.01)

    def write_state(self) -> None:
        state = {
            "pid": os.getpid(),
            "guard_pid": os.getppid(),
            **self.facts,
            "phase": self.phase,
            "message": self.message,
            "processes": [c.describe() for c in self.children],
        }
        if state == self.written:
            return
        try:
            write_json(self.home.state, state)
            self.written = state
        except HomeError as problem:
            if self.phase == "starting":
                raise
            say(str(problem))  # a full disk must not end what runs


def tie() -> list[int]:
    """A descriptor that becomes readable when the process HYDRA_TIED_TO ends; none without that setting."""
    pid = os.environ.get("HYDRA_TIED_TO", "")
    if not pid:
        return []
    try:
        return [os.pidfd_open(int(pid))]
    except (ValueError, OSError) as error:
        raise HomeError(f"HYDRA_TIED_TO is {pid!r}; use the number of a running process") from error


def say(text: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}", file=sys.stderr, flush=True)
