"""This program's own terminal, handed to a command elsewhere: keys as they are pressed, sizes as they change."""

from __future__ import annotations

import os
import selectors
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager

from client.execs import Running

READ_BYTES = 32 << 10


def size() -> tuple[int, int]:
    """Rows and columns, whatever LINES and COLUMNS say: they do not follow the terminal. The usual ones elsewhere."""
    try:
        found = os.get_terminal_size(sys.stdin.fileno())
    except OSError:
        found = os.terminal_size((0, 0))
    return found.lines or 24, found.columns or 80


@contextmanager
def raw() -> Iterator[None]:
    """Every key goes to the command, Ctrl-C too; the terminal is as before afterwards."""
    before = termios.tcgetattr(sys.stdin.fileno())
    try:
        tty.setraw(sys.stdin.fileno(), termios.TCSADRAIN)  # what is typed already is for the command, too
        yield
    finally:
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, before)


class Input:
    """Brings stdin to a command from a thread, and the terminal's sizes. ``resizes``: whether there are any."""

    def __init__(self, running: Running, resizes: bool) -> None:
        self.running, self.resizes = running, resizes
        self._woken, self._wake = os.pipe()
        self._thread = threading.Thread(target=self._bring, name="stdin", daemon=True)

    def start(self) -> None:
        """Call it in the main thread, which gets the signals."""
        if self.resizes:
            signal.signal(signal.SIGWINCH, lambda *_: os.write(self._wake, b"x"))
            os.write(self._wake, b"x")  # it may have another size than when the command was asked for
        self._thread.start()

    def _bring(self) -> None:
        stdin = sys.stdin.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            try:
                selector.register(stdin, selectors.EVENT_READ)
            except PermissionError:  # a file, which always has something to read
                self._all(stdin)
                return
            while True:
                ready = {key.fd for key, _ in selector.select()}
                if self._woken in ready:
                    os.read(self._woken, 4096)
                    self.running.resize(*size())
                if stdin in ready:
                    data = os.read(stdin, READ_BYTES)
                    if not data:
                        self.running.end_input()
                        return
                    if not self.running.say(data):
                        return

    def _all(self, stdin: int) -> None:
        while data := os.read(stdin, READ_BYTES):
            if not self.running.say(data):
                return
        self.running.end_input()
