"""The recorded history as a file, written by a process of its own that gives way to all that serves.

Reading a window of it takes seconds and memory that a web process has not got to give. It is written to its end before
any of it is sent: whoever reads it slowly, or no more, keeps neither that process nor a session of the database.
"""

import datetime as dt
import subprocess
import sys
import tempfile
import threading
from typing import IO

from django.conf import settings

from controlplane.router.download import Pieces, Streamed
from controlplane.statestore.errors import Conflict, TooMany

NICE = "10"
WAIT_S = 110.0  # a request is answered within two minutes
_SHOWN = 500  # characters of why it could not be done
_turn = threading.BoundedSemaphore(1)


def history(first: dt.datetime, last: dt.datetime) -> Streamed:
    """Jobs of this window, gzipped. ``TooMany`` while another is being read here, ``Conflict`` where there is none."""
    if not _turn.acquire(blocking=False):
        raise TooMany("a history is being read already; try again when it is done", retry_after_s=10)
    try:
        file = _written(first, last)
    finally:
        _turn.release()
    size = file.seek(0, 2)
    file.seek(0)
    response = Streamed(Pieces(file, size), content_type="application/gzip")
    response["Content-Length"] = str(size)
    response["Content-Disposition"] = f'attachment; filename="history-{first:%Y%m%dT%H%M}-{last:%Y%m%dT%H%M}.jsonl.gz"'
    return response


def _written(first: dt.datetime, last: dt.datetime) -> IO[bytes]:
    """A file that has no name any more."""
    command = ["nice", "-n", NICE, sys.executable, str(settings.BASE_DIR / "manage.py"), "trace", "-"]
    command += ["--from", first.isoformat(), "--to", last.isoformat()]
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the answer closes it
    try:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE, cwd=settings.BASE_DIR,
            timeout=WAIT_S, check=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        file.close()
        raise Conflict(f"this window is not read within {WAIT_S:.0f} s; take a shorter one") from None
    except subprocess.CalledProcessError as ended:
        file.close()
        lines = ended.stderr.decode(errors="replace").strip().splitlines() or [f"it ended with {ended.returncode}"]
        raise Conflict(f"there is no history of this window: {lines[-1][:_SHOWN]}") from None
    return file
