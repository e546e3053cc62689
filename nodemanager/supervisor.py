"""The process that starts containers and outlives the agent. One per node, standard library only.

It forks tasks, captures their output, records how they end and kills whole
trees. It knows nothing of the control plane. The agent talks to it over a Unix
socket in lines of JSON; every answer and event is a line too.
"""

import argparse
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from nodemanager import launch
from nodemanager.adoption import load
from nodemanager.cgroups import Cgroups, find
from nodemanager.entering import Entrance
from nodemanager.jsonlines import MAX_LINE, JsonLines
from nodemanager.task import Task

MAX_FAILURES = 100
PART_BYTES = MAX_LINE // 4  # of a list, which may be longer than a line


class Supervisor:
    """The loop: one selector for the agent's socket, pipes, child signals and timers."""

    def __init__(self, root: str, containers: str, name: str, max_disconnect_s: float, cpu_quota: bool = False) -> None:
        self.root, self.containers = root, containers
        self.max_disconnect_s = max_disconnect_s
        self.selector = selectors.DefaultSelector()
        self.cgroups: Cgroups = find(name) if name else Cgroups()
        self.cgroups.cpu_quota = cpu_quota
        self.tasks: dict[int, Task] = {}
        self.by_pid: dict[int, Task] = {}
        self.entrance = Entrance(self.selector, self.tasks, self.cgroups)
        self.agent: JsonLines | None = None
        self.agent_seen_at = time.monotonic()  # the agent's last word, or its leaving
        self.pinged = False  # it says now and then that it lives; older agents do not
        self.quitting = False

    # --- setting up

    def prepare(self) -> None:
        """Become the reaper of orphans, listen, and take over what an earlier supervisor has left."""
        launch.prctl(launch.PR_SET_CHILD_SUBREAPER, 1)
        launch.prctl(launch.PR_SET_NO_NEW_PRIVS, 1)
        self._signals()
        self._listen()
        for task in load(self.containers, self.selector, self.cgroups):
            self.tasks[task.id] = task
            if task.pid and task.ended is None:
                self.by_pid[task.pid] = task
        self.entrance.listen(os.path.join(self.root, "run", "exec.sock"))

    def _signals(self) -> None:
        read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)  # what is held outlives a terminal and its user
        self.selector.register(read, selectors.EVENT_READ, lambda _: self._signalled(read))

    def _signalled(self, read: int) -> None:
        numbers = os.read(read, 4096)
        self.reap()
        if signal.SIGTERM in numbers and not self._running():
            self.quitting = True

    def _running(self) -> list[Task]:
        return [task for task in self.tasks.values() if task.exit is None]

    def _listen(self) -> None:
        path = os.path.join(self.root, "run", "supervisor.sock")
        if os.path.exists(path):
            os.unlink(path)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        old = os.umask(0o177)
        try:
            server.bind(path)
        finally:
            os.umask(old)
        server.listen(4)
        self.selector.register(server, selectors.EVENT_READ, lambda _: self._accept(server))

    # --- the agent

    def _accept(self, server: socket.socket) -> None:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        self._drop_agent()  # the newest agent is the agent: an older one is gone or going
        self.agent = JsonLines(self.selector, connection, self._on_message, self._agent_left)

    def _drop_agent(self) -> None:
        if self.agent is not None:
            self.agent.close()
        self._agent_left()

    def _agent_left(self) -> None:
        self.agent = None
        self.pinged = False
        self.agent_seen_at = time.monotonic()

    def _on_message(self, line: bytes) -> None:
        self.agent_seen_at = time.monotonic()
        try:
            message = json.loads(line)
            OPERATIONS[message["op"]](self, message)
        except (ValueError, KeyError, TypeError) as error:
            self.send({"ev": "refused", "error": f"{type(error).__name__}: {error}"})

    def send(self, message: dict[str, Any]) -> None:
        """Send to the agent when there is one; what it misses it learns from the list."""
        if self.agent is not None:
            self.agent.send(message)

    # --- what the agent may ask for

    def op_list(self, message: dict[str, Any]) -> None:
        """All containers that are not forgotten, with what their orders said of them."""
        parts: list[list[dict[str, Any]]] = [[]]
        room = PART_BYTES
        for task in self.tasks.values():
            summary = task.summary()
            size = len(json.dumps(summary))
            if size > room and parts[-1]:
                parts.append([])
                room = PART_BYTES
            parts[-1].append(summary)
            room -= size
        for part in parts:
            more = part is not parts[-1]
            self.send({"ev": "list", "pid": os.getpid(), "containers": part, "more": more, "pings": True})

    def op_start(self, message: dict[str, Any]) -> None:
        """Begin a container; ``started``, ``start_failed`` or, at the end, ``exit`` tells of it."""
        context = launch.LaunchContext(**message["order"])
        if context.id in self.tasks:
            return  # asked before: its events have been or will be told
        task = Task(context, self.selector, self.cgroups, message.get("secret") or ())
        self.tasks[context.id] = task
        try:
            task.start(lambda error: self._launched(task, error))
        except (OSError, ValueError) as error:
            self._launched(task, str(error))
        if task.pid:
            self.by_pid[task.pid] = task

    def _launched(self, task: Task, error: str) -> None:
        if not error:
            self.send({"ev": "started", "id": task.id})
            return
        task.failed_to_start(error)
        if not task.pid:
            self.send({"ev": "start_failed", "id": task.id, "error": error})

    def op_stop(self, message: dict[str, Any]) -> None:
        """End a container; one that has ended or is not known needs nothing."""
        task = self.tasks.get(message["id"])
        if task is not None and task.exit is None:
            task.stop(float(message["grace_s"]))

    def op_forget(self, message: dict[str, Any]) -> None:
        """Drop a finished container from memory; its folder is the agent's to remove."""
        task = self.tasks.get(message["id"])
        if task is not None and task.exit is not None:
            del self.tasks[task.id]

    def op_ping(self, message: dict[str, Any]) -> None:
        """The agent lives. One that then falls silent for as long as one may be away counts as gone."""
        self.pinged = True

    def op_quit(self, message: dict[str, Any]) -> None:
        """Leave once nothing runs any more."""
        self.quitting = True

    # --- children

    def reap(self) -> None:
        """Collect every ended child. A task's tree is signalled before its pid can be used again."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            task = self.by_pid.pop(ended.si_pid, None)
            if task is not None:
                task.tree.kill_group()
            tell = self.entrance.ended(ended.si_pid)
            _, status, usage = os.wait4(ended.si_pid, 0)
            if tell is not None:
                tell(status)
            if task is not None:
                task.leader_ended(status, usage, time.monotonic())

    def check(self, now: float) -> None:
        """Timers of all tasks, and what has become of their trees."""
        leaders = set(self.by_pid)
        for task in list(self.tasks.values()):
            if task.exit is None:
                task.check(now, leaders, self.send)
        self.entrance.check(now)
        if (self.agent is None or self.pinged) and now - self.agent_seen_at > self.max_disconnect_s:
            self._on_agent_lost()

    def _on_agent_lost(self) -> None:
        """No agent came back, or it hangs: nobody can tell whether these containers are still wanted."""
        running = self._running()
        for task in running:
            task.disconnected = True
            task.stop(5.0)
        if not running:
            self.quitting = True

    def timeout(self) -> float | None:
        """How long to sleep: until the next timer of a live task, else until something happens."""
        now = time.monotonic()
        due = [task.due(now) for task in self.tasks.values() if task.exit is None]
        if self.agent is None:
            due.append(now + 5.0)
        if self.entrance.by_pid:
            due.append(self.entrance.due())
        return max(0.001, min(due) - now) if due and min(due) < float("inf") else None

    def run(self) -> None:
        """Until told to quit and nothing runs. A failure in one task's handling must not cost the others."""
        failures = 0
        while not self.quitting or self._running():
            for key, mask in self.selector.select(self.timeout()):
                callback: Callable[[int], object] = key.data
                failures += self._guarded(callback, mask)
            failures += self._guarded(self.check, time.monotonic())
            if failures > MAX_FAILURES:
                sys.exit("too many failures; the next supervisor takes over")

    def _guarded(self, call: Callable[[Any], object], argument: Any) -> int:
        """0, or 1 when the call failed; the reason goes to the log."""
        try:
            call(argument)
        except Exception:
            traceback.print_exc()
            return 1
        return 0


OPERATIONS: dict[str, Callable[[Supervisor, dict[str, Any]], None]] = {
    "list": Supervisor.op_list,
    "start": Supervisor.op_start,
    "stop": Supervisor.op_stop,
    "forget": Supervisor.op_forget,
    "ping": Supervisor.op_ping,
    "quit": Supervisor.op_quit,
}


def lock(root: str) -> int:
    """Hold the folder's supervisor lock for this process's life; exits when another one has it."""
    fd = os.open(os.path.join(root, "run", "supervisor.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(3)
    os.ftruncate(fd, 0)
    os.write(fd, str(os.getpid()).encode())
    return fd


def main() -> None:
    """One supervisor for a folder: another exits with status 3 while this one lives."""
    parser = argparse.ArgumentParser(prog="hydra-supervisor")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--containers", required=True)
    parser.add_argument("--cgroup", default="")
    parser.add_argument("--cpu-quota", action="store_true")
    parser.add_argument("--max-disconnect-s", type=float, default=300.0)
    args = parser.parse_args()
    os.umask(0o077)
    launch.raise_open_files()
    lock_fd = lock(args.dir)
    supervisor = Supervisor(args.dir, args.containers, args.cgroup, args.max_disconnect_s, args.cpu_quota)
    supervisor.prepare()
    supervisor.run()
    supervisor.cgroups.close()
    os.close(lock_fd)


if __name__ == "__main__":
    main()
