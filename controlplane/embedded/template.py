"""A process that has loaded the control plane once, and of which the roles on this host are copies.

Loading Django and everything the roles need takes a processor a second and more; a copy is there in a hundredth of
that and shares what it does not change. Whoever asks for a copy becomes its parent: it is forked twice, and falls to
the nearest ancestor that adopts orphans. Standard library only.
"""

import ctypes
import json
import os
import select
import signal
import socket
import threading
from pathlib import Path

from . import spawn

ANSWER_S = 5.0  # a busy machine forks in less
_GO = b"go"
_MAX_BYTES = 1 << 16
_ARG_START, _ARG_END = 45, 46  # in /proc/self/stat, counted from the state


class Absent(Exception):
    """No template answers."""


def copy(address: Path, words: list[str], log: Path) -> int:
    """Ask for a copy that does what ``words`` say and writes to ``log``; its process id. Raises ``Absent``."""
    with open(log, "ab") as out, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        try:
            line.settimeout(ANSWER_S)
            line.connect(str(address))
            socket.send_fds(line, [json.dumps(words).encode()], [out.fileno()])
            number = int(line.recv(_MAX_BYTES))
            line.send(_GO)  # one that nobody knows of ends
        except (OSError, ValueError) as error:
            raise Absent(f"the template does not answer: {error}") from None
    return number


def listen(address: Path) -> socket.socket:
    """Where copies are asked for."""
    address.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(address))
    listener.listen()
    return listener


def serve(listener: socket.socket) -> list[str]:
    """Make copies until the end of this process. Returns in each copy, with its words."""
    parent = os.getppid()
    while True:
        line, _ = listener.accept()
        with line:
            asked, (log, *_), _, _ = socket.recv_fds(line, _MAX_BYTES, 1)
            if threading.active_count() > 1:  # a copy has one thread, and the locks of all
                raise RuntimeError(f"a template must not have threads: {threading.enumerate()}")
            between = os.fork()
            if between == 0:
                if os.fork():
                    os._exit(0)
                _be_adopted(os.getppid(), parent, line)
                _enter(log, parent)
                listener.close()
                return list(json.loads(asked))
        os.close(log)
        os.waitpid(between, 0)


def _be_adopted(between: int, parent: int, line: socket.socket) -> None:
    """Wait until ``parent`` has this process, tell it so, and end unless it answers."""
    if between != parent:
        _wait_for_the_end_of(between)
    try:
        line.send(str(os.getpid()).encode())
        known = line.recv(_MAX_BYTES) == _GO
    except OSError:
        known = False
    if not known:
        os._exit(1)


def _enter(log: int, parent: int) -> None:
    spawn.before_exec(signal.SIGKILL, parent=parent)()
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)


def _wait_for_the_end_of(process: int) -> None:
    """Its children have another parent then; descriptors would be closed a moment before."""
    try:
        ended = os.pidfd_open(process)
    except ProcessLookupError:
        return
    select.select([ended], [], [])
    os.close(ended)


def rename(words: list[str]) -> None:
    """Show these as the words this process was started with, cut off where there were fewer letters."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, size = int(fields[_ARG_START]), int(fields[_ARG_END]) - int(fields[_ARG_START])
    shown = b"\0".join(map(os.fsencode, words))[: size - 1]
    ctypes.memmove(start, shown.ljust(size, b"\0"), size)
