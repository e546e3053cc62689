"""One container inside the supervisor: its process tree, its output, its end."""

import ctypes
import os
import selectors
import signal
import struct
import time
from collections.abc import Callable
from typing import Any

from nodemanager import proctree, records
from nodemanager.capture import Writer
from nodemanager.cgroups import Cgroups
from nodemanager.launch import Order, launch, libc

CHECK_S = 0.5  # how often a live tree is measured where no kernel limit holds its memory
SAMPLE_S = 10.0  # how often the agent hears of it
STREAMS = ("stdout", "stderr")
READ_BYTES = 1 << 16
BUDGET_BYTES = 2 << 20  # read per stream and TICK; a flood beyond it waits in the writer
TICK_S = 0.1
DRAIN_S = 2.0  # output still in a pipe this long after the tree is dead is given up
UNKILLABLE_S = 10.0
PIDFD_GET_INFO = 0xC040FF0B  # Linux 6.15: how a process that is not our child has ended
PIDFD_INFO_EXIT = 1 << 3
Say = Callable[[dict[str, Any]], None]


class Task:
    """A container from its order to its recorded exit.

    ``adopted``: its process was started by an earlier supervisor, so it is not
    our child; its end is seen through a pidfd and its status may be unknowable.
    """

    def __init__(self, order: Order, selector: selectors.BaseSelector, groups: Cgroups) -> None:
        self.order, self.selector, self.groups = order, selector, groups
        self.id = order.id
        self.pid = 0
        self.start_ticks = 0
        self.started_at = time.monotonic()
        self.started_unix = time.time()
        self.exit: dict[str, Any] | None = None
        self.ended: dict[str, Any] | None = None  # the leader is gone; its tree or output may not be
        self.ended_at = 0.0
        self.start_error = ""
        self.disconnected = self.over_memory = self.adopted = self.stopping = False
        self.kill_at = 0.0
        self.pipes: dict[int, Writer] = {}
        self.budget: dict[int, int] = {}
        self.paused: set[int] = set()
        self.window = 0.0  # when the budgets were last filled
        self.reporting = False  # the child has not yet said whether its command runs
        self.log_bytes = dict.fromkeys(STREAMS, 0)
        self.pidfd = -1
        self.peak_bytes = self.cpu_ms = 0
        self.next_measure = time.monotonic() + CHECK_S
        self.next_sample = 0.0

    # --- starting

    def start(self, launched: Callable[[str], None]) -> None:
        """Fork. ``launched("")`` once the command runs, ``launched(error)`` when it cannot. Raises OSError."""
        self._write_spec()
        joins = self.groups.create(self.id, self.order.memory_bytes, self.order.cpu_milli)
        ends = [self._open_pipe(stream) for stream in STREAMS]
        try:
            self.pid, report = launch(self.order, ends[0], ends[1], joins)
        finally:
            for end in ends:
                os.close(end)
        self.started_at, self.started_unix = time.monotonic(), time.time()
        process = proctree.read(self.pid)
        self.start_ticks = process.start_ticks if process else 0
        self._write_spec()
        self.reporting = True
        self.selector.register(report, selectors.EVENT_READ, lambda _: self._reported(report, launched))

    def _reported(self, report: int, launched: Callable[[str], None]) -> None:
        self.selector.unregister(report)
        text = os.read(report, 4096).decode(errors="replace")
        os.close(report)
        self.reporting = False
        launched(text)

    def failed_to_start(self, error: str) -> None:
        self.start_error = error
        if not self.pid:  # not even a process: nothing will be reaped
            self._close_pipes()
            self._record({"start_error": error})

    def _write_spec(self) -> None:
        order = {name: getattr(self.order, name) for name in Order.__dataclass_fields__}
        order["env"] = {}  # may hold secrets, and is not needed again
        spec = {"order": order, "pid": self.pid, "ticks": self.start_ticks, "boot": proctree.boot_id()}
        records.write_json(os.path.join(self.order.folder, "spec.json"), spec | {"unix": self.started_unix})

    def _open_pipe(self, stream: str) -> int:
        """A named pipe, read here; returns the task's end.

        The task's end can read too, so that the task survives a moment without
        a reader: the next supervisor opens the pipe again by its name.
        """
        path = os.path.join(self.order.logs, f"{stream}.pipe")
        if not os.path.exists(path):
            os.mkfifo(path, 0o600)
            if self.order.uid >= 0:
                os.chown(path, self.order.uid, self.order.uid)
        self.reopen(stream)
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def reopen(self, stream: str) -> None:
        fd = os.open(os.path.join(self.order.logs, f"{stream}.pipe"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.pipes[fd] = Writer(self.order.logs, stream, self.order.log_max_bytes)
        self.budget[fd] = BUDGET_BYTES
        self._listen(fd)

    def _listen(self, fd: int) -> None:
        self.selector.register(fd, selectors.EVENT_READ, lambda _: self._read(fd))

    # --- output

    def _read(self, fd: int) -> bool:
        """Move what is there; returns whether there may be more."""
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._close_pipe(fd)
            return False
        self.pipes[fd].write(data)
        self.budget[fd] -= len(data)
        if self.budget[fd] <= 0 and fd not in self.paused and self.ended is None:
            self.selector.unregister(fd)
            self.paused.add(fd)
        return True

    def _close_pipe(self, fd: int) -> None:
        if fd not in self.paused:
            self.selector.unregister(fd)
        self.paused.discard(fd)
        self.budget.pop(fd, None)
        writer = self.pipes.pop(fd)
        self.log_bytes[writer.stream] = writer.offset
        writer.close()
        os.close(fd)

    def _close_pipes(self) -> None:
        for fd in list(self.pipes):
            self._close_pipe(fd)

    def _refill(self, now: float) -> None:
        if now - self.window < TICK_S:
            return
        self.window = now
        for fd in self.budget:
            self.budget[fd] = BUDGET_BYTES
        for fd in self.paused:
            self._listen(fd)
        self.paused.clear()

    def due(self, now: float) -> float:
        """When ``check`` is to be called next, if nothing happens before."""
        if self.ended is not None:
            return now + 0.01  # the leader is gone and the rest must follow
        times = [self.next_measure]
        if self.paused:
            times.append(self.window + TICK_S)
        if self.stopping:
            times.append(self.kill_at)
        return min(times)

    # --- stopping and killing

    def signal_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except OSError:
            pass

    def stop(self, grace_s: float) -> None:
        """The polite signal to the whole tree now, the kill after ``grace_s``. Asking again may only hasten it."""
        due = time.monotonic() + max(0.0, grace_s)
        self.kill_at = min(self.kill_at, due) if self.stopping else due
        if not self.stopping:
            self.stopping = True
            self._signal(self.members(), signal.SIGTERM if grace_s > 0 else signal.SIGKILL)

    def members(self, strangers_of: set[int] | None = None) -> set[int]:
        """Every live process of this container.

        ``strangers_of``: pids of all tasks' leaders; given, the cheap look is
        taken first: without orphans among our children there is nothing to find.
        """
        if strangers_of is not None and not self.adopted:
            orphans = direct_children()
            if orphans is not None and not orphans - strangers_of and not self.groups.pids(self.id):
                return set()
        processes = proctree.everything()
        by_parent = proctree.children_of(processes)
        roots = {p.pid for p in processes.values() if p.session == self.pid and p.state not in "ZX"}
        if self.ended is None:
            roots.add(self.pid)
        entry = f"HYDRA_CONTAINER_ID={self.order.meta.get('name', '')}".encode()
        me = os.getpid()
        below = set(processes) if self.adopted else proctree.descend({me}, by_parent)
        for pid in below - roots - {me}:
            process = processes[pid]
            if process.state in "ZX":
                continue
            if self.order.marker_gid >= 0:
                if self.order.marker_gid in proctree.groups_of(process.pid):
                    roots.add(process.pid)
            elif process.parent in (me, 1) and proctree.environment_has(process.pid, entry):
                roots.add(process.pid)
        found = proctree.descend(roots, by_parent) | self.groups.pids(self.id)
        return {pid for pid in found if pid != me and pid in processes and processes[pid].state not in "ZX"}

    def _signal(self, pids: set[int], number: int) -> None:
        for pid in pids:
            try:
                os.kill(pid, number)
            except OSError:
                pass

    def kill_tree(self) -> None:
        """Freeze, look again until nothing new appears, then kill: forking cannot outrun it."""
        self.groups.kill(self.id)
        seen: set[int] = set()
        for _ in range(20):
            new = self.members() - seen
            if not new:
                break
            self._signal(new, signal.SIGSTOP)
            seen |= new
        self._signal(seen, signal.SIGKILL)

    # --- the end

    def leader_ended(self, status: int, usage: Any, now: float) -> None:
        """The first process has been reaped; ``usage`` is None for one that was not our child."""
        code = os.waitstatus_to_exitcode(status)
        self.ended = {"code": max(code, 0), "signal": max(-code, 0)}
        self._ended(now)
        if usage is not None:
            self.cpu_ms = max(self.cpu_ms, int((usage.ru_utime + usage.ru_stime) * 1000))
            self.peak_bytes = max(self.peak_bytes, usage.ru_maxrss * 1024)

    def _ended(self, now: float) -> None:
        self.ended_at = now
        self.kill_at = now
        if self.ended is not None:
            self.ended["ran_ms"] = int((now - self.started_at) * 1000)

    def _pidfd_ended(self) -> None:
        info = array_of_info(self.pidfd)
        self.selector.unregister(self.pidfd)
        os.close(self.pidfd)
        self.pidfd = -1
        if info is None:
            self.ended = {"unknown": True}
            self._ended(time.monotonic())
        else:
            self.leader_ended(info, None, time.monotonic())

    def check(self, now: float, leaders: set[int], say: Say) -> None:
        """Timers: budgets, grace, measures, and the last steps after the leader's end."""
        if self.budget:
            self._refill(now)
        if self.ended is not None:
            self._finish(now, leaders, say)
        elif self.pid:
            if self.stopping and now >= self.kill_at:
                self.kill_tree()
                self.kill_at = now + 1.0
            if now >= self.next_measure:
                self._measure(now, say)

    def _finish(self, now: float, leaders: set[int], say: Say) -> None:
        if self.reporting:
            return
        left = self.members(leaders)
        if left and now - self.ended_at < UNKILLABLE_S:
            self.kill_tree()
            return
        for fd in list(self.pipes):
            while fd in self.pipes and self._read(fd):
                if now - self.ended_at > DRAIN_S:
                    break
        if self.pipes and now - self.ended_at < DRAIN_S:
            return
        self._close_pipes()
        over = self.over_memory or self.groups.over_memory(self.id)
        self.groups.remove(self.id)
        self._record((self.ended or {}) | {"over_memory": over})
        if self.start_error:
            say({"ev": "start_failed", "id": self.id, "error": self.start_error})
        else:
            say({"ev": "exit", "id": self.id, "exit": self.exit})

    def _record(self, how: dict[str, Any]) -> None:
        self.exit = how | {
            "cpu_ms": self.cpu_ms,
            "peak_mib": self.peak_bytes >> 20,
            "disconnected": self.disconnected,
            "log_bytes": self.log_bytes,
        }
        if self.start_error:
            self.exit["start_error"] = self.start_error
        try:
            records.write_json(os.path.join(self.order.folder, "exit.json"), self.exit)
        except OSError:
            pass  # a full disk: the agent hears it now, and a restart finds it unknown
        for stream in STREAMS:
            try:
                os.unlink(os.path.join(self.order.logs, f"{stream}.pipe"))
            except OSError:
                pass

    # --- measuring

    def _measure(self, now: float, say: Say) -> None:
        grouped = self.groups.memory_mib(self.id)
        self.next_measure = now + (CHECK_S if grouped is None and self.order.memory_bytes else SAMPLE_S)
        seen = proctree.recent.look(now)
        processes = seen.processes
        tree = proctree.descend({self.pid}, seen.by_parent) | self.groups.pids(self.id)
        alive = {pid for pid in tree if pid in processes}
        used = sum(processes[pid].rss_bytes for pid in alive)
        limit = self.order.memory_bytes
        if grouped is not None:
            used = grouped << 20
        elif limit and used > limit:
            used = proctree.proportional_bytes(alive)  # shared pages counted once
            if used > limit and not self.over_memory:
                self.over_memory = True
                self.kill_tree()
        self.peak_bytes = max(self.peak_bytes, used)
        self.cpu_ms = max(self.cpu_ms, sum(processes[pid].cpu_ms for pid in alive))
        if now >= self.next_sample:
            self.next_sample = now + SAMPLE_S
            say({"ev": "sample", "id": self.id, "memory_mib": used >> 20, "cpu_ms": self.cpu_ms})

    def summary(self) -> dict[str, Any]:
        """For the agent's list."""
        return {
            "id": self.id,
            "pid": self.pid,
            "meta": self.order.meta,
            "exit": self.exit,
            "ran_ms": int((time.monotonic() - self.started_at) * 1000),
        }


def direct_children() -> set[int] | None:
    """Pids of this process's children; None where the kernel does not list them."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return {int(pid) for pid in file.read().split()}
    except OSError:
        return None


def array_of_info(pidfd: int) -> int | None:
    """Wait status of the ended process behind ``pidfd``; None where the kernel does not tell."""
    buffer = ctypes.create_string_buffer(struct.pack("<Q", PIDFD_INFO_EXIT), 64)
    if libc.ioctl(pidfd, ctypes.c_ulong(PIDFD_GET_INFO), buffer) != 0:
        return None
    mask: int = struct.unpack_from("<Q", buffer, 0)[0]
    status: int = struct.unpack_from("<i", buffer, 60)[0]
    return status if mask & PIDFD_INFO_EXIT else None


def load(folder: str, selector: selectors.BaseSelector, groups: Cgroups) -> list[Task]:
    """Every container an earlier supervisor left behind, alive or ended."""
    tasks = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        spec = records.read_json(os.path.join(folder, name, "spec.json"))
        if spec is None:
            continue
        try:
            task = Task(Order(**spec["order"]), selector, groups)
            _adopt(task, spec, os.path.join(folder, name))
        except (KeyError, TypeError, ValueError, OSError):
            continue
        tasks.append(task)
    return tasks


def _adopt(task: Task, spec: dict[str, Any], folder: str) -> None:
    task.pid, task.start_ticks = int(spec["pid"]), int(spec["ticks"])
    task.exit = records.read_json(os.path.join(folder, "exit.json"))
    if task.exit is not None:
        task.pid = 0
        return
    ran_s = max(0.0, time.time() - float(spec["unix"]))
    task.started_at, task.started_unix = time.monotonic() - ran_s, float(spec["unix"])
    task.adopted = True
    process = proctree.read(task.pid) if task.pid and spec["boot"] == proctree.boot_id() else None
    if process is None or process.start_ticks != task.start_ticks or process.state in "ZX":
        task.ended = {"unknown": True}
        task.ended_at = task.kill_at = time.monotonic()
        return
    task.pidfd = os.pidfd_open(task.pid)
    task.selector.register(task.pidfd, selectors.EVENT_READ, lambda _: task._pidfd_ended())
    for stream in STREAMS:
        task.reopen(stream)
