"""What a finished task leaves behind, sent to the control plane before its success is reported."""

import hashlib
import os
import threading
from urllib.parse import quote

from nodemanager.http import Http, HttpError
from nodemanager.paths import PathError, open_regular
from wire import nodeapi

TRIES = 6


class OutputError(Exception):
    """A named output is missing or could not be stored; the text names it."""


def collect(
    http: Http, container: str, work: str, outputs: list[tuple[str, str, bool]], stopping: threading.Event
) -> None:
    """Upload each (name, path, optional). Raises ``OutputError``; an absent optional one is no error."""
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
            for attempt in range(TRIES):
                file.seek(0)
                try:
                    http.upload(url, file)
                    break
                except HttpError as error:
                    if not error.retry or attempt == TRIES - 1 or stopping.wait(0.25 * 2**attempt):
                        raise OutputError(f"output {name}: {error}") from None
