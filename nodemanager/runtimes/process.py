"""The process runtime: the agent's end of the supervisor's socket."""

import json
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodemanager.events import RuntimeContainer
from nodemanager.jsonlines import JsonLines
from nodemanager.launch import LaunchContext
from nodemanager.log import note
from nodemanager.runtimes import RuntimeEvent, exit_from

SOURCE = Path(__file__).resolve().parent.parent.parent
PINGS = 4  # within the time after which an agent that says nothing is gone
START_S = 5.0  # a supervisor that does not listen after this is started again


class ProcessRuntime:
    """Starts the supervisor when there is none, adopts it when there is one."""

    def __init__(
        self,
        *,
        root: Path,
        containers: Path,
        cgroup: str,
        cpu_quota: bool = False,
        max_disconnect_s: float,
        selector: selectors.BaseSelector,
        on_event: Callable[[RuntimeEvent], None],
    ) -> None:
        self.root, self.containers = root, containers
        self.cgroup, self.cpu_quota, self.max_disconnect_s = cgroup, cpu_quota, max_disconnect_s
        self.selector, self.on_event = selector, on_event
        self.connection: JsonLines | None = None
        self.child: subprocess.Popen[bytes] | None = None
        self.spawned_at = float("-inf")
        self.pid = 0
        self.listed = False  # orders wait for the list, or it would not name what they start
        self.listing: list[RuntimeContainer] = []  # the parts of a list that have come
        self.listed_before = False
        self.pings = False  # the supervisor wants to hear that we live; an older one does not know the word
        self.ping_at = 0.0
        self.resting = False

    def tick(self, at: float) -> None:
        """Connect, starting a supervisor where none listens; to be called again and again. ``at``: s, monotonic."""
        if self.child is not None and self.child.poll() is not None:
            self.child = None
        if self.resting:
            return
        if self.connection is None and not self._connect() and at - self.spawned_at > START_S:
            self.spawned_at = at
            try:
                self._spawn()
            except OSError as error:  # a disk that fails, no process to be had: the node says so by its health
                note("error", "the supervisor could not be started", why=str(error))
        if self.listed and self.pings and at >= self.ping_at:
            self.ping_at = at + self.max_disconnect_s / PINGS
            self._send({"op": "ping"})

    def _spawn(self) -> None:
        """A session of its own, so that no signal to the agent's group reaches it."""
        code = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from nodemanager.supervisor import main; main()"
        command = [sys.executable, "-I", "-S", "-c", code, "--dir", str(self.root)]
        command += ["--containers", str(self.containers)]
        command += ["--cgroup", self.cgroup, "--max-disconnect-s", str(self.max_disconnect_s)]
        command += ["--cpu-quota"] if self.cpu_quota else []
        path = self.root / "run" / "supervisor.log"
        if path.exists() and path.stat().st_size:
            note("error", "the last supervisor left words", words=path.read_text(errors="replace")[-2000:])
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            self.child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},
                start_new_session=True,
            )
        finally:
            os.close(log)

    def _connect(self) -> bool:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(self.root / "run" / "supervisor.sock"))
        except OSError:
            connection.close()
            return False
        self.connection = JsonLines(
            self.selector, connection, lambda line: self._on_message(json.loads(line)), self._lost
        )
        self.listed, self.listing = False, []
        self.connection.send({"op": "list"})
        return True

    def _lost(self) -> None:
        self.connection = None
        self.on_event(RuntimeEvent("down"))

    def _on_message(self, message: dict[str, Any]) -> None:
        kind, cid = message["ev"], message.get("id", 0)
        if kind == "list":
            self.listing += [runtime_container(raw) for raw in message["containers"]]
            if message.get("more"):
                return
            self.pid, self.listed = message["pid"], True
            self.pings = bool(message.get("pings"))
            self.on_event(RuntimeEvent("list", containers=tuple(self.listing)))
            self.listing = []
        elif kind == "exit":
            raw = message["exit"]
            self.on_event(RuntimeEvent("exit", cid, exit=exit_from(raw), log_bytes=sum(raw["log_bytes"].values())))
        elif kind == "sample":
            self.on_event(RuntimeEvent("sample", cid, memory_mib=message["memory_mib"], cpu_ms=message["cpu_ms"]))
        else:
            self.on_event(RuntimeEvent(kind, cid, error=message.get("error", "")))

    def _send(self, message: dict[str, Any]) -> None:
        """A word lost with the connection is said again: the core acts on the next list."""
        if self.connection is not None:
            self.connection.send(message)

    def start(self, context: LaunchContext, secret: Sequence[str] = ()) -> None:
        """Run a container. Before the list it is not said: what it starts would be missing there.

        secret: lines that are not kept of what it prints. A supervisor that is older passes over them.
        """
        if self.listed:
            self._send({"op": "start", "order": asdict(context), "secret": list(secret)})

    def stop(self, container_id: int, grace_s: float) -> None:
        """End a container, by force after ``grace_s``; asking again may only hasten it."""
        self._send({"op": "stop", "id": container_id, "grace_s": grace_s})

    def forget(self, container_id: int) -> None:
        """An ended container need not be listed any more."""
        self._send({"op": "forget", "id": container_id})

    def rest(self) -> bool:
        """Have no supervisor until ``wake``: to be called when nothing runs. Whether one is let go by this call."""
        if self.resting or not self.listed or self.connection is None:
            return False
        self.resting, self.listed, self.pid = True, False, 0
        self.close(quit_runtime=True)
        return True

    def wake(self) -> None:
        """There is something to run again."""
        self.resting = False

    def close(self, quit_runtime: bool) -> None:
        """Let go of the supervisor; with ``quit_runtime`` it ends once nothing runs."""
        if self.connection is None:
            return
        if quit_runtime:
            self.connection.send_and_close({"op": "quit"})
        self.connection.close()
        self.connection = None


def runtime_container(raw: dict[str, Any]) -> RuntimeContainer:
    """One entry of the supervisor's list."""
    ended = raw["exit"]
    return RuntimeContainer(raw["id"], raw["meta"], raw["ran_ms"], exit_from(ended) if ended is not None else None)
