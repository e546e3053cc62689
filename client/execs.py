"""Commands in containers; a part of ``Client``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from client import answers
from client.errors import HydraError, Unreachable, client_error
from client.forwarding import Forward, Told, listen
from client.transport import Transport, authorities, is_loopback
from contract.execs import ExecBegun
from contract.problems import Problem
from wire import execs
from wire.execs import End, Kind, Window

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

OPEN_S = 20.0
CUT_OFF = "The connection to the server was lost, and the command was ended with it"


class Piece(NamedTuple):
    """What the command wrote. ``stream``: "stdout" or "stderr"; on a terminal both are "stdout"."""

    stream: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ExecDone:
    """How a command ended. ``status``: as a shell says it, 128 and the number of a signal."""

    status: int
    stdout: bytes
    stderr: bytes


class Running:
    """A command in a container, while it runs; use it in ``with``: leaving it ends the command.

    One thread may read ``pieces`` while another says what the command is to read.
    """

    def __init__(self, connection: ClientConnection, close: Callable[[], None], begun: ExecBegun) -> None:
        self.begun, self._close = begun, close
        self.end: End | None = None
        self._connection, self._window = connection, Window()
        self._room = threading.Condition()
        self._over = False

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish()
        self._close()

    def say(self, data: bytes) -> bool:
        """Write to the command's stdin, as fast as it reads. False once it has ended."""
        view = memoryview(data)
        while view:
            if not self._send(execs.frame(Kind.STDIN, bytes(view[: execs.DATA_MAX]))):
                return False
            view = view[execs.DATA_MAX :]
        return True

    def end_input(self) -> None:
        """The command finds the end of its stdin."""
        self._send(execs.frame(Kind.STDIN))

    def resize(self, rows: int, columns: int) -> None:
        """The terminal has another size."""
        self._send(execs.resize(rows, columns))

    def pieces(self) -> Iterator[Piece]:
        """What it writes, until its end, which is ``end`` then. ``HydraError`` when it did not end by itself.

        The command goes on as fast as this is read.
        """
        streams = {Kind.STDOUT: "stdout", Kind.STDERR: "stderr"}
        for data in self._frames():
            kind, payload = execs.parse(data)
            if kind is Kind.CREDIT:
                with self._room:
                    self._window.credit(execs.credit_of(payload))
                    self._room.notify_all()
            elif kind is Kind.END:
                self.end = execs.end_of(payload)
                self._finish()
                if self.end.error:
                    raise HydraError(Problem(title="The command did not end by itself", detail=self.end.error))
                return
            elif kind in streams:
                yield Piece(streams[kind], payload)
                self._send(execs.credit(execs.cost_of(data)))

    def _frames(self) -> Iterator[bytes]:
        from websockets.exceptions import ConnectionClosed

        while True:
            try:
                data = self._connection.recv()
            except (ConnectionClosed, OSError) as error:
                self._finish()
                raise Unreachable(Problem(title=CUT_OFF), sent=True) from error
            yield data if isinstance(data, bytes) else data.encode()

    def _send(self, frame: bytes) -> bool:
        from websockets.exceptions import ConnectionClosed

        with self._room:
            self._room.wait_for(lambda: self._over or execs.cost_of(frame) <= self._window.room)
            if self._over:
                return False
            self._window.send(execs.cost_of(frame))
            try:
                self._connection.send(frame)
            except (ConnectionClosed, OSError):
                self._over = True
            return not self._over

    def _finish(self) -> None:
        with self._room:
            self._over = True
            self._room.notify_all()


class ExecCalls:
    _transport: Transport

    def open_exec(
        self,
        container: str,
        command: Sequence[str],
        *,
        tty: bool = False,
        rows: int = 24,
        columns: int = 80,
        term: str = "xterm",
    ) -> Running:
        """Run a command in a live container of a job that you may change: as its task's user, in its folder.

        tty: on a terminal of this size and type.
        """
        if isinstance(command, str):
            raise client_error(
                "is one text", field_name="command", remedy='Give a list of words, such as ["sh", "-c", "ls -l | wc"]'
            )
        order = {"command": list(command), "tty": tty, "rows": rows, "columns": columns, "term": term}
        return self._begun(container, "exec", order)

    def _begun(self, container: str, what: str, order: dict[str, Any]) -> Running:
        path = f"/api/v1/containers/{quote(container, safe='')}/{what}"
        begun = answers.read(ExecBegun, self._transport.request("POST", path, json=order, patience_s=0).json())
        return Running(*_connected(self._transport, begun.socket), begun)

    def port_forward(self, container: str, ports: Mapping[int, int], refused: Told = lambda port, why: None) -> Forward:
        """Bring connections to ports of this machine to those of a live container of a job that you may change.

        ports: by the container's, this machine's, of 127.0.0.1 alone; 0 for any that is free. refused: told of each
        connection that was refused there, and why. ``HydraError`` when a port here is in use.
        """
        listening = listen(ports)
        try:
            return Forward(self._begun(container, "forward", {"ports": list(ports)}), listening, refused)
        except BaseException:
            for server in listening.values():
                server.close()
            raise

    def exec(self, container: str, command: Sequence[str], stdin: bytes = b"") -> ExecDone:
        """Run a command in a live container to its end, with all of ``stdin``; what it writes is kept in memory."""
        with self.open_exec(container, command) as running:
            writer = threading.Thread(target=_all, args=(running, stdin), daemon=True)
            writer.start()
            wrote = {"stdout": bytearray(), "stderr": bytearray()}
            for piece in running.pieces():
                wrote[piece.stream] += piece.data
        assert running.end is not None
        return ExecDone(running.end.status, bytes(wrote["stdout"]), bytes(wrote["stderr"]))


def _all(running: Running, stdin: bytes) -> None:
    if running.say(stdin):
        running.end_input()


def _connected(transport: Transport, path: str) -> tuple[ClientConnection, Callable[[], None]]:
    """The open WebSocket, and what closes it."""
    from websockets.exceptions import WebSocketException
    from websockets.sync.client import connect

    url = "ws" + transport.url.removeprefix("http") + path
    opening = connect(
        url,
        additional_headers={"Authorization": transport.authorization},
        ssl=authorities() if url.startswith("wss:") else None,
        proxy=None if is_loopback(transport.url) else True,
        compression=None,
        open_timeout=OPEN_S,
        max_size=execs.FRAME_MAX,
        max_queue=None,  # what waits is bounded by the window; who reads slowly still answers the server's pings
    )
    try:
        with ExitStack() as stack:
            return stack.enter_context(opening), stack.pop_all().close
    except (OSError, WebSocketException) as error:
        detail = (
            f"{transport.url} answers, but opens no WebSocket ({error}); what stands between has to let them through."
        )
        raise Unreachable(Problem(title="The command was not started", detail=detail), sent=False) from error
