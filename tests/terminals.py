"""``hydractl`` at a terminal of its own, as a person has it: keys, what is drawn, a size."""

import contextlib
import os
import re
import termios
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests import forked
from tests.patience import RanOut, wait_until

SHOWN = 2000  # bytes, where something is missed


class Terminal:
    """Use it in ``with``: leaving it ends the program. ``seen``: all that was drawn, the echo of the keys too."""

    def __init__(
        self, words: tuple[str, ...], env: Mapping[str, str], cwd: Path, rows: int = 24, columns: int = 80
    ) -> None:
        self._ours, self._theirs = os.openpty()
        os.set_blocking(self._ours, False)
        self.resize(rows, columns)
        self._modes = termios.tcgetattr(self._theirs)
        self.seen, self._looked = b"", 0
        terminal, env = Path(os.ttyname(self._theirs)), {"TERM": "xterm", **env}
        self._process = forked.start(["-m", "client", *words], env, cwd, [terminal] * 3, leads=True)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join()
        os.close(self._ours)
        os.close(self._theirs)

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        termios.tcsetwinsize(self._ours, (rows, columns))

    def shows(self, pattern: bytes, timeout_s: float = 30) -> "re.Match[bytes]":
        """Wait until this is drawn, after what was waited for before."""

        def found() -> "re.Match[bytes] | None":
            self._look()
            return re.compile(pattern).search(self.seen, self._looked)

        try:
            match = wait_until(found, timeout_s, f"{pattern!r} is drawn")
        except RanOut as error:
            raise RanOut(f"{error}; this was, at last: {self.seen[-SHOWN:]!r}") from error
        self._looked = match.end()
        return match

    def status(self, timeout_s: float = 30) -> int | None:
        """The program's exit status, once it has ended."""
        wait_until(self._over, timeout_s, "it ends")
        self._look()
        return self._process.exitcode

    @property
    def as_before(self) -> bool:
        """Whether the terminal's modes are those in which the program found it."""
        return termios.tcgetattr(self._theirs) == self._modes

    def _over(self) -> bool:
        self._look()  # a full terminal would keep it from ending
        return self._process.exitcode is not None

    def _look(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                self.seen += os.read(self._ours, 65_536)
