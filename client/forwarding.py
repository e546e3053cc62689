"""Ports of this machine whose connections are brought to ports of a container, as streams over one exec."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

from client.errors import HydraError, client_error
from contract.problems import Problem
from wire.execs import ExecError
from wire.streams import MOST, Streams

if TYPE_CHECKING:
    from client.execs import Running

HERE = "127.0.0.1"
Told = Callable[[int, str], None]


def listen(ports: Mapping[int, int]) -> dict[int, socket.socket]:
    """Sockets that listen here for ports there (there -> here). ``HydraError`` when one cannot be had."""
    with contextlib.ExitStack() as stack:
        listening = {there: stack.enter_context(_listening(here)) for there, here in ports.items()}
        stack.pop_all()
        return listening


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HERE, port))
    except OSError as error:
        remedy = "Choose another port here: OTHER:PORT, or 0:PORT for any that is free."
        raise client_error(f"{HERE}:{port}: {error.strerror}", field_name="ports", remedy=remedy) from error


class Forward:
    """They are brought there while this is used in ``with``. ``local``: by ports there, those here.

    So many as ``MOST`` at once; more wait. A connection that is refused there ends, and the others go on.
    """

    def __init__(self, running: Running, listening: Mapping[int, socket.socket], refused: Told) -> None:
        self.begun = running.begun
        self.local = {there: int(server.getsockname()[1]) for there, server in listening.items()}
        self._running, self._listening, self._refused = running, listening, refused
        self._room = threading.BoundedSemaphore(MOST)
        self._streams = Streams(running.say, closed=self._closed)
        self._error: HydraError | None = None
        self._thread = threading.Thread(target=self._hear, name="forward", daemon=True)

    def __enter__(self) -> Forward:
        self._thread.start()
        for port, server in self._listening.items():
            threading.Thread(target=self._accept, args=(port, server), name=f"port {port}", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.__exit__(kind, error, trace)
        self._end()

    def wait(self) -> None:
        """Until it has ended. ``HydraError`` says why."""
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _end(self) -> None:
        for server in self._listening.values():
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)  # wakes who accepts
            server.close()
        self._streams.close()

    def _hear(self) -> None:
        try:
            for piece in self._running.pieces():
                self._streams.hear(piece.data)
        except ExecError as error:
            self._error = HydraError(Problem(title="The node has said what it may not", detail=str(error)))
        except HydraError as error:
            self._error = error
        finally:
            self._end()

    def _accept(self, port: int, server: socket.socket) -> None:
        while True:
            self._room.acquire()
            try:
                connection, _ = server.accept()
            except OSError:
                self._room.release()
                return
            self._streams.open(port, connection)

    def _closed(self, port: int, why: str) -> None:
        self._room.release()
        if why:
            self._refused(port, why)
