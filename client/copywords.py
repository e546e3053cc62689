"""Why a copy failed, or a file here: which path, on which side, and what to do; ``tar`` has words of its own."""

from __future__ import annotations

import errno
import re
from pathlib import Path, PurePosixPath
from shlex import quote

from client.errors import HydraError, client_error

# What GNU's and BusyBox's tar say of a path: with what they wanted of it, or without.
_TOLD = re.compile(
    r"^tar: (?:can't [^']*'(?P<quoted>.+)'|(?P<plain>.+?))(?:: (?:Cannot|Can't|Wrote) [^:]+)?: "
    r"(?P<why>No such file or directory|Not a directory|Is a directory|File exists"
    r"|Permission denied|Operation not permitted|Read-only file system|No space left on device|Disk quota exceeded"
    r"|file changed as we read it|File removed before we read it)",
    re.MULTILINE,
)
_NEITHER = {"Not a directory", "Is a directory", "File exists"}
_BARRED = {"Permission denied", "Operation not permitted", "Read-only file system"}
_NO_ROOM = {"No space left on device", "Disk quota exceeded"}
_NO_TAR = (126, 127)


def not_taken(container: str, folder: str, said: str) -> HydraError:
    """tar could not read what is to be brought here. said: by it, the path being below ``folder``."""
    path, why = _path(folder, said)
    if not why:
        return _else(container, said, "source")
    if why == "No such file or directory":
        message = f"there is no {path} in {container}"
        remedy = f"See what is there: {_there(container, 'ls', '-l', str(PurePosixPath(path).parent))}"
    elif why in _NEITHER:
        message, remedy = f"{path} in {container} is no folder", "Correct the path."
    elif why in _BARRED:
        message = f"{path} in {container} may not be read by the task's user"
        remedy = f"See whose it is: {_there(container, 'ls', '-ld', path)}"
    else:
        message, remedy = f"{path} in {container} changed while it was read", "Copy it again once it stays as it is."
    return client_error(message, field_name="source", remedy=remedy)


def not_put(container: str, folder: str, said: str) -> HydraError:
    """tar could not write what is brought there. said: by it, the path being below ``folder``."""
    path, why = _path(folder, said)
    if not why:
        return _else(container, said, "destination")
    if why == "No such file or directory":
        message = f"there is no folder {folder.rstrip('/')} in {container}"
        remedy = f"Make it first: {_there(container, 'mkdir', '-p', folder.rstrip('/'))}"
    elif why in _NEITHER:
        message = f"in {container} {path} is a folder where a file is to be, or a file where a folder is to be"
        remedy = "Give another destination; one that ends with / is a folder into which it is copied."
    elif why in _BARRED:
        message = f"{path} in {container} may not be written by the task's user"
        remedy = "Give a path in the task's folder, which does not begin with /."
    elif why in _NO_ROOM:
        message = f"there is no room for {path} in {container}"
        remedy = f"See what takes it: {_there(container, 'du', '-a', folder)}"
    else:
        return _else(container, said, "destination")
    return client_error(message, field_name="destination", remedy=remedy)


def not_started(container: str, status: int, error: HydraError) -> HydraError:
    """What to say where tar did not end by itself."""
    if status not in _NO_TAR:
        return error
    remedy = f"Put one into its image or its files; a single file comes by {_there(container, 'cat', 'FILE')} > FILE."
    return client_error(f"{container} has no tar, which copying needs", field_name="container", remedy=remedy)


def not_here(path: Path, error: OSError | ValueError, field: str = "") -> HydraError:
    """A path of this machine that could not be read or written."""
    code = getattr(error, "errno", None)
    name = getattr(error, "filename", None) or path
    remedies = {
        errno.ENOENT: ("does not exist", "Correct the path, or make the folder first."),
        errno.EISDIR: ("is a folder where a file is to be", "Give another name, or remove it."),
        errno.EEXIST: ("is a file where a folder is to be", "Give another name, or remove it."),
        errno.ENOTDIR: ("is a file where a folder is to be", "Give another name, or remove it."),
        errno.EACCES: ("is not yours to read or write", "Give another path, or change its rights."),
        errno.ENOSPC: ("has no room on its disk", "Give a path on another disk."),
    }
    why = getattr(error, "strerror", None) or error
    message, remedy = remedies.get(code or 0, (f"cannot be read or written: {why}", "Give another path."))
    return client_error(f"{name} on this machine {message}", field_name=field, remedy=remedy)


def _path(folder: str, said: str) -> tuple[str, str]:
    """The path that could not be copied, and why in tar's words; both empty where it says nothing that is known."""
    found = _TOLD.search(said)
    if found is None:
        return "", ""
    path = found["quoted"] or found["plain"]
    return (path if path == folder else str(PurePosixPath(folder) / path)), found["why"]


def _there(container: str, *command: str) -> str:
    return f"hydractl exec {container} -- {' '.join(map(quote, command))}"


def _else(container: str, said: str, field: str) -> HydraError:
    remedy = f"Look there: {_there(container, 'ls', '-la')}"
    return client_error(f"tar in {container} failed: {' '.join(said.split())}", field_name=field, remedy=remedy)
