"""Commands that people run in containers, beside the containers' own: the supervisor's part.

Whoever wants one (``execrelay``, a process for each) connects to a socket of the agent's user, says in one packet which
command in which container, and hands over the three ends that are to be its stdin, stdout and stderr. What is said
there does not pass through the supervisor. The command ends with the connection, and with the container.
"""

import array
import json
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nodemanager import procfs
from nodemanager.cgroups import Cgroups
from nodemanager.launch import LaunchContext, enter
from nodemanager.task import Task
from wire.execs import GRACE_S

ORDER_MAX = 64 << 10  # bytes of the packet
MOST = 32  # at once
INF = float("inf")
OVER = "the container has ended"
IDLE = "the container's own command does not run: it has not started yet, or has ended"


class Entered:
    """One command, from the connection of whoever wants it to its end."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.task: Task | None = None
        self.pid = 0
        self.report: int | None = None  # where a command that cannot be started says why; closed by one that begins
        self.failed = ""  # why it could not be started
        self.kill_at = INF

    def say(self, **message: Any) -> None:
        """A packet for whoever wants the command, if they are still there."""
        try:
            self.connection.send(json.dumps(message).encode())
        except OSError:
            pass  # gone: the selector says so too

    def leave(self) -> None:
        """Whoever wanted it has gone: everything in its session is to end."""
        if self.pid:
            _signal(self.pid, signal.SIGHUP)
            self.kill_at = time.monotonic() + GRACE_S

    def check(self, now: float) -> None:
        """Kill it once its grace is over; s, monotonic."""
        if now >= self.kill_at:
            self.kill_at = now + GRACE_S
            _signal(self.pid, signal.SIGKILL)


def _signal(session: int, number: int) -> None:
    """To all processes of a session; that they are continued lets those that were stopped hear of it."""
    for pid in procfs.looks.now().by_session.get(session, ()):
        for each in (number, signal.SIGCONT):
            try:
                os.kill(pid, each)
            except OSError:
                pass


class Entrance:
    """The socket, and all commands that run by it. ``tasks``: the supervisor's, by their containers."""

    def __init__(self, selector: selectors.BaseSelector, tasks: dict[int, Task], cgroups: Cgroups) -> None:
        self.selector, self.tasks, self.cgroups = selector, tasks, cgroups
        self.waiting: set[Entered] = set()  # connected, and not yet ordered
        self.by_pid: dict[int, Entered] = {}

    def listen(self, path: str) -> None:
        """Take connections of our own user at ``path``."""
        if os.path.exists(path):
            os.unlink(path)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        old = os.umask(0o177)
        try:
            server.bind(path)
        finally:
            os.umask(old)
        server.listen(MOST)
        self.selector.register(server, selectors.EVENT_READ, lambda _: self._accept(server))

    def _accept(self, server: socket.socket) -> None:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        connection.setblocking(False)
        entered = Entered(connection)
        if len(self.waiting) + len(self.by_pid) >= MOST:
            entered.say(error="too many commands run in containers of this node; end one first")
            connection.close()
            return
        self.waiting.add(entered)
        self.selector.register(connection, selectors.EVENT_READ, lambda _: self._readable(entered))

    def _readable(self, entered: Entered) -> None:
        try:
            data, ends = _packet(entered.connection)
        except BlockingIOError:
            return
        except OSError:
            data, ends = b"", []
        try:
            if data and entered in self.waiting:
                self._order(entered, data, ends)
            elif not data:
                self._left(entered)
        finally:
            for end in ends:
                os.close(end)

    def _left(self, entered: Entered) -> None:
        self.waiting.discard(entered)
        self.selector.unregister(entered.connection)
        entered.connection.close()
        entered.leave()

    def _order(self, entered: Entered, data: bytes, ends: list[int]) -> None:
        """Start what the packet says, or say why not. Who asks for nothing but the container's processes is told."""
        self.waiting.discard(entered)
        try:
            order = json.loads(data)
            entered.task = self._task(int(order["container"]))
            if order.get("members"):
                entered.say(pids=sorted(entered.task.tree.members()))
                self._left(entered)
                return
            stdin, stdout, stderr = ends
            context = _context(entered.task, order)
            entered.pid, entered.report = enter(context, (stdin, stdout, stderr), self.cgroups.joins(context.id))
        except (OSError, ValueError, KeyError, TypeError) as error:
            entered.say(error=str(error) or type(error).__name__)
            self._left(entered)
            return
        self.by_pid[entered.pid] = entered
        self.selector.register(entered.report, selectors.EVENT_READ, lambda _: self._reported(entered))

    def _task(self, cid: int) -> Task:
        """The container's, if its command runs; else ValueError."""
        task = self.tasks.get(cid)
        # Before its exec the process still has the environment of whoever forked it: ours.
        if task is None or not task.pid or task.reporting or _over(task):
            raise ValueError(IDLE)
        return task

    def _reported(self, entered: Entered) -> None:
        if entered.report is None:
            return  # said when it ended, before its turn here
        self.selector.unregister(entered.report)
        text = os.read(entered.report, 4096).decode(errors="replace")
        os.close(entered.report)
        entered.report = None
        if text:
            entered.failed = f"the command could not be started: {text}"  # said with its status, once it has ended
        else:
            entered.say(begun=True)

    def ended(self, pid: int) -> Callable[[int], None] | None:
        """What to call with the wait status of this child of ours once it is reaped; None of one that is none here."""
        entered = self.by_pid.pop(pid, None)
        return None if entered is None else lambda status: self._ended(entered, status)

    def _ended(self, entered: Entered, status: int) -> None:
        self._reported(entered)  # how it began is said before how it ended
        entered.pid, entered.kill_at = 0, INF
        code = os.waitstatus_to_exitcode(status)
        if code < 0 and entered.task is not None and _over(entered.task):
            entered.say(error=OVER)
        elif entered.failed:
            entered.say(error=entered.failed, **({"code": code} if code >= 0 else {}))
        else:
            entered.say(**({"code": code} if code >= 0 else {"signal": -code}))

    def check(self, now: float) -> None:
        """End those that nobody is connected to any more."""
        for entered in self.by_pid.values():
            entered.check(now)

    def due(self) -> float:
        """When ``check`` has something to do; s, monotonic."""
        return min((entered.kill_at for entered in self.by_pid.values()), default=INF)


def _over(task: Task) -> bool:
    return task.ended is not None or task.stopping


def _context(task: Task, order: dict[str, Any]) -> LaunchContext:
    """As the container's own command was started, but for the command."""
    env = dict(task.context.env) or procfs.environment_of(task.pid)  # an earlier supervisor's is not kept
    env = _texts(order.get("unless_set", {})) | env | _texts(order["env"])
    env[procfs.NAMED_BY.decode().rstrip("=")] = str(task.context.meta.get("name", ""))  # by which it is found
    return replace(task.context, argv=[str(word) for word in order["command"]], env=env)


def _texts(given: dict[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in given.items()}


def _packet(connection: socket.socket) -> tuple[bytes, list[int]]:
    """One packet and the descriptors that came with it, which are closed in commands that are started."""
    space = socket.CMSG_LEN(8 * array.array("i").itemsize)
    data, extra, _, _ = connection.recvmsg(ORDER_MAX, space, socket.MSG_CMSG_CLOEXEC)
    found = array.array("i")
    for level, kind, part in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(part[: len(part) - len(part) % found.itemsize])
    return data, list(found)
