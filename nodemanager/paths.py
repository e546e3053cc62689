"""Files below a folder that somebody else may have filled with traps.

Every step is taken from an open folder without following links, so no link
and no ``..`` leads out.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from functools import partial
from itertools import islice

_ANY_MODE = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
AT_ONCE = 10_000  # names that are held in memory
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class PathError(ValueError):
    """The path may not be used; the text says why."""


def parts(path: str) -> list[str]:
    """The components of a relative path; ``PathError`` for anything that is not plainly inside."""
    if not path or "\0" in path or path.startswith("/") or len(path.encode(errors="replace")) > 1024:
        raise PathError(f"{path[:80]!r} is not a relative path")
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names):
        raise PathError(f"{path[:80]!r} has an empty, '.' or '..' part")
    return names


def open_parent(folder: str, path: str, create: bool, uid: int = -1) -> tuple[int, str]:
    """An open folder and the last name of ``path`` in it; missing folders are made for ``uid`` when ``create``."""
    *above, name = parts(path)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in above:
            if create:
                _make(fd, part, uid)
            below = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = below
    except OSError as error:
        os.close(fd)
        raise PathError(f"{path[:80]!r}: {error.strerror}") from None
    return fd, name


def _make(fd: int, part: str, uid: int) -> None:
    try:
        os.mkdir(part, 0o755, dir_fd=fd)
    except FileExistsError:
        return
    if uid >= 0:
        os.chown(part, uid, uid, dir_fd=fd, follow_symlinks=False)


def open_regular(folder: str, path: str) -> int:
    """A plain file below ``folder``, open for reading; ``PathError`` for links, pipes and whatever else.

    It must belong to whom the folder belongs to, and have no other name: where the kernel lets anybody make hard links
    (``fs.protected_hardlinks`` 0), one may lead to a file that its maker cannot read.
    """
    parent, name = open_parent(folder, path, create=False)
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except OSError as error:
        raise PathError(f"{path[:80]!r}: {error.strerror}") from None
    finally:
        os.close(parent)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise PathError(f"{path[:80]!r} is not a regular file")
    if info.st_uid != os.stat(folder).st_uid or info.st_nlink != 1:
        os.close(fd)
        raise PathError(f"{path[:80]!r} has another owner or another name; write a file of its own")
    return fd


def remove_tree(folder: str) -> None:
    """Delete a folder that a tenant filled, links not followed. Raises OSError when something stays.

    What lies deeper is moved up before it is looked at, so that depth costs neither stack nor descriptors.
    """
    try:
        if not _taken(folder):
            return
    except FileNotFoundError:
        return
    root = os.open(folder, _FOLDER)
    try:
        names = iter(partial(secrets.token_hex, 16), None)
        while entries := _entries(root):
            for name, is_folder in entries:
                if is_folder:
                    _dissolve(root, name, names)
                else:
                    os.unlink(name, dir_fd=root)
    finally:
        os.close(root)
    os.rmdir(folder)


def _dissolve(root: int, name: str, names: Iterator[str]) -> None:
    """Delete a folder in ``root`` whose own folders go on in there under new names."""
    if not _taken(name, root):
        return
    fd = os.open(name, _FOLDER, dir_fd=root)
    try:
        while entries := _entries(fd):
            for inner, is_folder in entries:
                if not is_folder:
                    os.unlink(inner, dir_fd=fd)
                elif _taken(inner, fd):
                    os.rename(inner, next(names), src_dir_fd=fd, dst_dir_fd=root)
    finally:
        os.close(fd)
    os.rmdir(name, dir_fd=root)


def _taken(name: str, parent: int | None = None) -> bool:
    """Make a folder the agent's alone: it may be locked, also against being moved, and nobody puts more into what is
    emptied, not even who has it open. One that has become something else since it was seen, such as a link to a folder
    of others, is deleted."""
    try:
        fd = os.open(name, _ANY_MODE, dir_fd=parent)
    except NotADirectoryError:
        os.unlink(name, dir_fd=parent)
        return False
    try:
        itself = f"/proc/self/fd/{fd}"
        if os.geteuid() == 0:
            os.chown(itself, 0, 0)
        os.chmod(itself, 0o700)
    finally:
        os.close(fd)
    return True


def _entries(fd: int) -> list[tuple[str, bool]]:
    """Some of what is there, as a tenant may have made millions of names: name, and whether it is a folder."""
    with os.scandir(fd) as found:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(found, AT_ONCE)]
