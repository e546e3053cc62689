"""Requests answered in processes of their own: nobody else waits for the interpreter meanwhile.

To read, check and store megabytes of JSON holds an interpreter for tens of milliseconds at a time, in which a web
process answers nobody, whatever its threads do; and many requests of one account hold it time and again. A template,
forked before the web process has threads, makes workers when there is something to do; a worker that has had nothing to
do ends, and with it what it has taken of memory.
"""

import os
import pickle
import signal
import socket
import struct
import threading
import time
import traceback
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from typing import IO, Any, NamedTuple, NoReturn

from controlplane.embedded.spawn import die_with_parent

WORKERS = 2
IDLE_S = 10.0
NICE = 10  # what a worker gives way by that answers somebody who keeps others waiting
SMALL_BYTES = 64 << 10  # of a body, that is handed over with the request's head
LONGEST_S = 120.0
_LENGTH = struct.Struct("!Q")
_SCOPE = ("type", "http_version", "method", "path", "raw_path", "query_string", "root_path", "headers", "client",
          "server", "scheme")  # fmt: skip

Scope = MutableMapping[str, Any]


class Answer(NamedTuple):
    """What a worker says. account: whose the request was, where that is known. cost: seconds of the processor."""

    status: int
    headers: list[tuple[str, str]]
    cookies: Any
    content: bytes
    account: int | None
    cost: float


Work = Callable[[Scope, IO[bytes]], Answer]


class Gone(Exception):
    """The worker ended, or took too long: what was asked for may or may not have happened."""


class Absent(Exception):
    """No worker can be had; nothing has begun."""


@dataclass(slots=True)
class _Worker:
    pid: int
    line: socket.socket
    nice: int


@dataclass
class Aside:
    """The workers of this process, one for each thread that calls it meanwhile. template: where they are asked for."""

    template: socket.socket
    pid: int
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _idle: list[_Worker] = field(default_factory=list)

    def answer(self, scope: Scope, body: IO[bytes], nice: int = 0) -> Answer:
        """What a worker of this niceness answers. ``Absent`` where there is none; ``Gone`` when it ended instead."""
        small = body.read(SMALL_BYTES)
        files = [] if len(small) < SMALL_BYTES else [body.fileno()]  # which puts it into a file, if it is in none
        body.flush()
        asked = pickle.dumps(({name: scope[name] for name in _SCOPE if name in scope}, b"" if files else small))
        while True:
            worker, fresh = self._worker(nice)
            try:
                _send(worker.line, asked, *files)
            except OSError as error:  # it has ended meanwhile, and has not begun
                worker.line.close()
                if fresh:
                    raise Absent(f"a process ends as soon as it begins: {error}") from None
                continue
            return self._answered(worker)

    def end(self) -> None:
        """End the template and all workers, whatever they are at."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _worker(self, nice: int) -> tuple[_Worker, bool]:
        """One that has nothing to do, the last that had; and whether it was made for this."""
        with self._lock:
            if idle := [worker for worker in self._idle if worker.nice == nice]:
                self._idle.remove(idle[-1])
                return idle[-1], False
            ours, its = socket.socketpair()
            with its:
                try:
                    self.template.settimeout(LONGEST_S)
                    socket.send_fds(self.template, [str(nice).encode()], [its.fileno()])
                    said = self.template.recv(64)
                except OSError as error:
                    said = str(error).encode()
        if not said.isdigit():
            ours.close()
            raise Absent(f"no process can be made: {said.decode() or 'the template has ended'}")
        return _Worker(int(said), ours, nice), True

    def _answered(self, worker: _Worker) -> Answer:
        worker.line.settimeout(LONGEST_S)
        try:
            said, _ = _receive(worker.line)
        except TimeoutError:
            os.kill(worker.pid, signal.SIGKILL)
            said = b""
        except OSError:
            said = b""
        if not said:
            worker.line.close()
            raise Gone("the process that answered this has ended")
        with self._lock:
            self._idle.append(worker)
        found: Answer = pickle.loads(said)  # noqa: S301 - from a copy of this process
        return found


def begin(work: Work) -> Aside:
    """Fork the template; call it while this process has one thread and no connection. work: what a worker does."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    parent, pid = os.getpid(), os.fork()
    if pid:
        its.close()
        return Aside(ours, pid)
    try:
        ours.close()
        die_with_parent(parent, signal.SIGKILL)
        for number in (signal.SIGINT, signal.SIGTERM):  # it ends with its parent
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for workers
        _make_workers(its, work)
    finally:
        os._exit(1)


def _make_workers(line: socket.socket, work: Work) -> NoReturn:
    template = os.getpid()
    while True:
        said, fds, _, _ = socket.recv_fds(line, 64, 1)
        if not said:
            os._exit(0)
        pid = os.fork()
        if not pid:
            die_with_parent(template, signal.SIGKILL)
            line.close()
            os.nice(int(said))
            _serve(socket.socket(fileno=fds[0]), work)
        os.close(fds[0])
        line.send(str(pid).encode())


def _serve(line: socket.socket, work: Work) -> NoReturn:
    """Answer until nothing has come for a while."""
    try:
        while True:
            line.settimeout(IDLE_S)
            try:
                asked, fds = _receive(line)
            except TimeoutError:
                line.shutdown(socket.SHUT_RD)  # from now on nothing can be sent; what was is read
                asked, fds = _receive(line)
            if not asked:
                os._exit(0)
            line.settimeout(LONGEST_S)
            scope, small = pickle.loads(asked)  # noqa: S301 - from the process this is a copy of
            with open(fds[0], "rb") if fds else BytesIO(small) as body:
                body.seek(0)
                began = time.process_time()
                answer = work(scope, body)
            _send(line, pickle.dumps(answer._replace(cost=time.process_time() - began)))
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def _send(line: socket.socket, said: bytes, *fds: int) -> None:
    line.settimeout(LONGEST_S)
    socket.send_fds(line, [_LENGTH.pack(len(said))], list(fds))
    line.sendall(said)


def _receive(line: socket.socket) -> tuple[bytes, list[int]]:
    """One message and its descriptors; nothing at the end."""
    head, fds, _, _ = socket.recv_fds(line, _LENGTH.size, 1)
    if len(head) < _LENGTH.size:
        return b"", fds
    (left,) = _LENGTH.unpack(head)
    pieces = []
    while left:
        piece = line.recv(min(left, 1 << 20))
        if not piece:
            return b"", fds
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces), fds
