"""What the supervisor keeps on disk about each container: small files, replaced atomically.

``<folder>/spec.json`` is written before the fork and again with the process id;
``<folder>/exit.json`` holds how it ended. A process is recognised after a
restart by (boot id, pid, start time), never by pid alone.
"""

import json
import os
from typing import Any


def write_json(path: str, value: Any, durable: bool = False) -> None:
    """Replace ``path`` so that a reader sees the old or the new text, never a part. Raises OSError."""
    temporary = f"{path}.new"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "w") as file:
            json.dump(value, file, separators=(",", ":"))
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def read_json(path: str) -> dict[str, Any] | None:
    """The object in ``path``; None when it is absent, cut short or not an object."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None
