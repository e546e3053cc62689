"""The process runtime: the agent's end of the supervisor's socket."""

import json
import os
import selectors
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodemanager.events import Adopted
from nodemanager.launch import Order
from nodemanager.log import note
from nodemanager.runtimes import Happened, exit_from

SOURCE = Path(__file__).resolve().parent.parent.parent
START_S = 5.0  # a supervisor that does not listen after this is started again


class ProcessRuntime:
    """Starts the supervisor when there is none, adopts it when there is one."""

    def __init__(
        self,
        *,
        root: Path,
        containers: Path,
        cgroup: str,
        max_disconnect_s: float,
        selector: selectors.BaseSelector,
        tell: Callable[[Happened], None],
    ) -> None:
        self.root, self.containers = root, containers
        self.cgroup, self.max_disconnect_s = cgroup, max_disconnect_s
        self.selector, self.tell = selector, tell
        self.enforces: list[str] = []
        self.connection: socket.socket | None = None
        self.child: subprocess.Popen[bytes] | None = None
        self.spawned_at = float("-inf")
        self.inbox, self.outbox = bytearray(), bytearray()
        self.pid = 0
        self.listed = False  # orders wait for the list, or it would not name what they start
        self.seen = False

    def tend(self, at: float) -> None:
        if self.child is not None and self.child.poll() is not None:
            self.child = None
        if self.connection is None and not self._connect() and at - self.spawned_at > START_S:
            self.spawned_at = at
            self._spawn()

    def _spawn(self) -> None:
        """A session of its own, so that no signal to the agent's group reaches it."""
        code = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from nodemanager.supervisor import main; main()"
        command = [sys.executable, "-I", "-S", "-c", code, "--dir", str(self.root)]
        command += ["--containers", str(self.containers)]
        command += ["--cgroup", self.cgroup, "--max-disconnect-s", str(self.max_disconnect_s)]
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
        connection.setblocking(False)
        self.connection = connection
        self.inbox.clear()
        self.outbox.clear()
        self.selector.register(connection, selectors.EVENT_READ, self._ready)
        self.listed = False
        self._say({"op": "list"})
        return True

    def _lost(self) -> None:
        if self.connection is not None:
            self.selector.unregister(self.connection)
            self.connection.close()
            self.connection = None
            self.tell(Happened("down"))

    def _ready(self, mask: int) -> None:
        if self.connection is None:
            return
        try:
            if mask & selectors.EVENT_READ:
                data = self.connection.recv(1 << 18)
                if not data:
                    self._lost()
                    return
                self.inbox += data
            self._flush()
        except BlockingIOError:
            pass
        except OSError:
            self._lost()
            return
        *lines, rest = self.inbox.split(b"\n")
        self.inbox = bytearray(rest)
        for line in lines:
            self._hear(json.loads(line))

    def _hear(self, message: dict[str, Any]) -> None:
        kind, cid = message["ev"], message.get("id", 0)
        if kind == "list":
            self.pid, self.listed = message["pid"], True
            self.tell(Happened("list", held=tuple(adopted(raw) for raw in message["containers"])))
        elif kind == "exit":
            raw = message["exit"]
            self.tell(Happened("exit", cid, exit=exit_from(raw), log_bytes=sum(raw["log_bytes"].values())))
        elif kind == "sample":
            self.tell(Happened("sample", cid, memory_mib=message["memory_mib"], cpu_ms=message["cpu_ms"]))
        else:
            self.tell(Happened(kind, cid, error=message.get("error", "")))

    def _say(self, message: dict[str, Any]) -> None:
        """A word lost with the connection is said again: the core acts on the next list."""
        if self.connection is None:
            return
        self.outbox += json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            self._flush()
        except OSError:
            self._lost()

    def _flush(self) -> None:
        if self.connection is None:
            return
        try:
            while self.outbox:
                del self.outbox[: self.connection.send(self.outbox)]
        except BlockingIOError:
            pass
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.outbox else 0)
        if self.selector.get_key(self.connection).events != events:
            self.selector.modify(self.connection, events, self._ready)

    def start(self, order: Order) -> None:
        if self.listed:
            self._say({"op": "start", "order": asdict(order)})

    def stop(self, container_id: int, grace_s: float) -> None:
        self._say({"op": "stop", "id": container_id, "grace_s": grace_s})

    def forget(self, container_id: int) -> None:
        self._say({"op": "forget", "id": container_id})

    def close(self, quit_runtime: bool) -> None:
        """Let go of the supervisor; with ``quit_runtime`` it ends once nothing runs."""
        if quit_runtime and self.connection is not None:
            self.connection.setblocking(True)
            self._say({"op": "quit"})
        if self.connection is not None:
            self.selector.unregister(self.connection)
            self.connection.close()
            self.connection = None


def adopted(raw: dict[str, Any]) -> Adopted:
    ended = raw["exit"]
    return Adopted(raw["id"], raw["meta"], raw["ran_ms"], exit_from(ended) if ended is not None else None)
