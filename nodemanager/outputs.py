"""What a finished task leaves behind, sent to the control plane before its success is reported."""

import hashlib
import os
import threading
from functools import partial
from typing import BinaryIO
from urllib.parse import quote

from nodemanager.http import Http, HttpError
from nodemanager.paths import PathError, open_regular
from nodemanager.persistence import persist
from wire import nodeapi

UNASKED_BYTES = 16 << 20  # of larger ones it is asked first whether they may be that large


class OutputError(Exception):
    """A named output is missing or could not be stored; the text names it."""


def collect(
    http: Http, container: str, work: str, outputs: list[tuple[str, str, bool]], stopping: threading.Event
) -> None:
    """Upload each (name, path, optional); an absent optional one is no error.

    Raises ``OutputError`` or ``Unreachable``.
    """
    for name, path, optional in outputs:
        try:
            fd = open_regular(work, path)
        except PathError as error:
            if optional:
                continue
            raise OutputError(f"output {name}: {error}") from None
        with os.fdopen(fd, "rb") as file:
            _check_size(http, name, os.fstat(fd).st_size, stopping)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            url = (
                f"{nodeapi.PREFIX}/containers/{container}/outputs/{quote(name, safe='')}"
                f"?path={quote(path, safe='')}&sha256={digest}"
            )
            try:
                persist(partial(_upload, http, url, file), stopping)
            except HttpError as error:
                raise OutputError(f"output {name}: {error}") from None


def _check_size(http: Http, name: str, size: int, stopping: threading.Event) -> None:
    """Refuse now what the control plane would refuse in the end: reading it may take hours, however little is in it."""
    if size <= UNASKED_BYTES:
        return
    try:
        answer = persist(lambda: http.request("GET", f"{nodeapi.PREFIX}/session"), stopping)
    except HttpError as error:
        raise OutputError(f"output {name}: {error}") from None
    most = answer.get("output_max_bytes") if isinstance(answer, dict) else 0
    if isinstance(most, int) and 0 < most < size:
        raise OutputError(f"output {name}: it has {size:,} bytes, and at most {most:,} are kept; leave less behind")


def _upload(http: Http, url: str, file: BinaryIO) -> None:
    file.seek(0)
    http.upload(url, file)
