"""The recorded history as a file, written by a process of its own that gives way to all that serves.

Reading a window of it takes seconds and memory that a web process has not got to give.
"""

import datetime as dt
import subprocess
import sys
import threading

from django.conf import settings

from controlplane.router.download import Pieces, Streamed
from controlplane.statestore.errors import Conflict, TooMany

NICE = "10"
_SHOWN = 500  # characters of why it could not be done
_turn = threading.BoundedSemaphore(1)


def history(first: dt.datetime, last: dt.datetime) -> Streamed:
    """Jobs of this window, gzipped. ``TooMany`` while another is being read here, ``Conflict`` where there is none."""
    if not _turn.acquire(blocking=False):
        raise TooMany("a history is being read already; try again when it is done", retry_after_s=10)
    try:
        pieces = _Written(first, last)
    except BaseException:
        _turn.release()
        raise
    response = Streamed(pieces, content_type="application/gzip")
    response["Content-Disposition"] = f'attachment; filename="history-{first:%Y%m%dT%H%M}-{last:%Y%m%dT%H%M}.jsonl.gz"'
    return response


class _Written(Pieces):
    """What the process writes; it ends with the answer."""

    def __init__(self, first: dt.datetime, last: dt.datetime) -> None:
        command = ["nice", "-n", NICE, sys.executable, str(settings.BASE_DIR / "manage.py"), "trace", "-"]
        command += ["--from", first.isoformat(), "--to", last.isoformat()]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=settings.BASE_DIR
        )
        assert self.process.stdout is not None
        super().__init__(self.process.stdout, sys.maxsize)
        self._begun = super()._next()  # nothing is written before all has been read
        if not self._begun:
            raise Conflict(self._why())

    def _next(self) -> bytes:
        begun, self._begun = self._begun, b""
        found = begun or super()._next()
        if not found and self.process.wait():
            raise RuntimeError(f"the process that reads the history ended with {self.process.returncode}")
        return found

    def _why(self) -> str:
        _, said = self.process.communicate()
        lines = said.decode(errors="replace").strip().splitlines() or [f"it ended with {self.process.returncode}"]
        return f"there is no history of this window: {lines[-1][:_SHOWN]}"

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        _turn.release()
