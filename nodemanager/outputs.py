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
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            url = (
                f"{nodeapi.PREFIX}/containers/{container}/outputs/{quote(name, safe='')}"
                f"?path={quote(path, safe='')}&sha256={digest}"
            )
            try:
                persist(partial(_upload, http, url, file), stopping)
            except HttpError as error:
                raise OutputError(f"output {name}: {error}") from None


def _upload(http: Http, url: str, file: BinaryIO) -> None:
    file.seek(0)
    http.upload(url, file)
