"""One container inside the supervisor, from its order to its recorded exit."""

import os
import selectors
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nodemanager import jsonfiles, procfs
from nodemanager.capture import STREAMS
from nodemanager.cgroups import Cgroups
from nodemanager.launch import LaunchContext, launch
from nodemanager.monitor import Monitor
from nodemanager.processtree import ProcessTree
from nodemanager.streams import Streams

DRAIN_S = 2.0  # output still in a pipe this long after the tree is dead is given up
UNKILLABLE_S = 10.0
KILL_RETRY_S = 1.0  # between two kills of a tree whose first process does not go
Send = Callable[[dict[str, Any]], None]


class Task:
    """``ended``: the first process is gone, its tree or output may not be. ``exit``: all is over and recorded.

    secret: lines that are not kept of what it prints; they are in memory alone.
    """

    def __init__(
        self, context: LaunchContext, selector: selectors.BaseSelector, cgroups: Cgroups, secret: Sequence[str] = ()
    ) -> None:
        self.context, self.selector, self.cgroups = context, selector, cgroups
        self.id = context.id
        self.tree = ProcessTree(context.id, str(context.meta.get("name", "")), context.marker_gid, cgroups)
        self.streams = Streams(context.logs, context.uid, context.log_max_bytes, selector, secret)
        self.started_at = time.monotonic()
        self.monitor = Monitor(context.id, context.memory_bytes, cgroups, self.started_at)
        self.exit: dict[str, Any] | None = None
        self.ended: dict[str, Any] | None = None
        self.ended_at = 0.0
        self.start_error = ""
        self.disconnected = self.stopping = False
        self.reporting = False  # the child has not yet said whether its command runs
        self.kill_at = 0.0

    @property
    def pid(self) -> int:
        """Of the first process; 0 before it is forked, and where its number has become another's."""
        return self.tree.pid

    # --- starting

    def start(self, launched: Callable[[str], None]) -> None:
        """Fork. ``launched("")`` once the command runs, ``launched(error)`` when it cannot. Raises OSError."""
        self._write_spec(0)
        joins = self.cgroups.create(self.id, self.context.memory_bytes, self.context.cpu_milli)
        ends = [self.streams.make(stream) for stream in STREAMS]
        try:
            self.tree.pid, report = launch(self.context, ends[0], ends[1], joins)
        finally:
            for end in ends:
                os.close(end)
            self.context = replace(self.context, env={})  # may hold secrets, and is not needed again
        self.started_at = time.monotonic()
        process = procfs.read(self.pid)
        try:
            self._write_spec(process.start_ticks if process else 0)
        except OSError:
            os.close(report)
            self.stop(0.0)  # no later supervisor would know it
            raise
        self.reporting = True
        self.selector.register(report, selectors.EVENT_READ, lambda _: self._reported(report, launched))

    def _reported(self, report: int, launched: Callable[[str], None]) -> None:
        self.selector.unregister(report)
        text = os.read(report, 4096).decode(errors="replace")
        os.close(report)
        self.reporting = False
        launched(text)

    def failed_to_start(self, error: str) -> None:
        """The command does not run; where there is a process, its end is still to be reaped."""
        self.start_error = error
        if not self.pid:
            self.streams.close()
            self._record({"start_error": error})

    def _write_spec(self, start_ticks: int) -> None:
        context = {name: getattr(self.context, name) for name in LaunchContext.__dataclass_fields__}
        context["env"] = {}  # likewise
        spec = {"order": context, "pid": self.pid, "ticks": start_ticks, "boot": procfs.boot_id()}
        jsonfiles.write_json(os.path.join(self.context.folder, "spec.json"), spec)

    # --- while it runs

    def due(self, now: float) -> float:
        """When ``check`` is to be called next, if nothing happens before; s, monotonic."""
        if self.ended is not None:
            return now + 0.01  # the first process is gone and the rest must follow
        due = min(self.monitor.due, self.streams.due())
        return min(due, self.kill_at) if self.stopping else due

    def stop(self, grace_s: float) -> None:
        """The polite signal to the whole tree now, the kill after ``grace_s``. Asking again may only hasten it."""
        due = time.monotonic() + max(0.0, grace_s)
        self.kill_at = min(self.kill_at, due) if self.stopping else due
        if not self.stopping:
            self.stopping = True
            self.tree.signal(signal.SIGTERM if grace_s > 0 else signal.SIGKILL)

    def check(self, now: float, leaders: set[int], send: Send) -> None:
        """Timers: budgets, grace, measures, and the last steps after the first process's end.

        ``leaders``: the first processes of all tasks.
        """
        self.streams.refill(now)
        if self.ended is not None:
            self._finish(now, leaders, send)
        elif self.pid:
            if self.stopping and now >= self.kill_at:
                self.tree.kill()
                self.kill_at = now + KILL_RETRY_S
            if now >= self.monitor.due:
                self._measure(now, send)

    def _measure(self, now: float, send: Send) -> None:
        if self.monitor.measure(self.tree, now):
            self.tree.kill()
        if self.monitor.sample_due(now):
            used, cpu_ms = self.monitor.used_bytes, self.monitor.cpu_ms
            send({"ev": "sample", "id": self.id, "memory_mib": used >> 20, "cpu_ms": cpu_ms})

    # --- the end

    def leader_ended(self, status: int | None, usage: Any, now: float) -> None:
        """The first process is gone, with this wait status; None where nobody can tell.

        ``usage``: what the kernel counted of a child of ours, None of another's.
        """
        if status is None:
            self.ended = {"unknown": True}
        else:
            code = os.waitstatus_to_exitcode(status)
            self.ended = {"code": max(code, 0), "signal": max(-code, 0)}
        self.ended["ran_ms"] = int((now - self.started_at) * 1000)
        self.ended_at = self.kill_at = now
        self.tree.leader_alive = self.streams.throttled = False
        if usage is not None:
            self.monitor.add_kernel_usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)

    def _finish(self, now: float, leaders: set[int], send: Send) -> None:
        if self.reporting:
            return
        if self.tree.members(leaders) and now - self.ended_at < UNKILLABLE_S:
            self.tree.kill()
            return
        late = now - self.ended_at > DRAIN_S
        if not self.streams.drain(late) and now - self.ended_at < DRAIN_S:
            return
        self.streams.close()
        over = self.monitor.over_memory or self.cgroups.over_memory(self.id)
        self.cgroups.remove(self.id)
        self._record((self.ended or {}) | {"over_memory": over})
        if self.start_error:
            send({"ev": "start_failed", "id": self.id, "error": self.start_error})
        else:
            send({"ev": "exit", "id": self.id, "exit": self.exit})

    def _record(self, how: dict[str, Any]) -> None:
        self.exit = how | {
            "cpu_ms": self.monitor.cpu_ms,
            "peak_mib": self.monitor.peak_bytes >> 20,
            "disconnected": self.disconnected,
            "log_bytes": self.streams.bytes,
        }
        if self.start_error:
            self.exit["start_error"] = self.start_error
        try:
            jsonfiles.write_json(os.path.join(self.context.folder, "exit.json"), self.exit)
        except OSError:
            pass  # a full disk: the agent hears it now, and a restart finds it unknown
        self.streams.remove()

    def summary(self) -> dict[str, Any]:
        """For the agent's list."""
        return {
            "id": self.id,
            "meta": self.context.meta,
            "exit": self.exit,
            "ran_ms": int((time.monotonic() - self.started_at) * 1000),
        }
