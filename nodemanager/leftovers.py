"""What a user's tasks leave outside of their folders, where everybody may write, and would stay for ever.

The memory of ``/dev/shm`` and of System V IPC is no container's once its own have ended, and is offered to others.
"""

import ctypes
import os
from collections.abc import Iterator

from nodemanager.log import note
from nodemanager.paths import remove_tree

FOLDERS = ("/dev/shm", "/tmp", "/var/tmp")  # noqa: S108 - what others have left there is removed, nothing is put there
IPC = "/proc/sysvipc"
_KINDS = {"shm": "shmid", "sem": "semid", "msg": "msqid"}
_IPC_RMID = 0


def clear(uid: int, before: float) -> None:
    """Remove what belongs to the user, if nothing of his runs on this machine; not what has changed since ``before``
    (s since 1970), as something of his may begin."""
    if _runs(uid):
        return
    for folder in FOLDERS:
        for path, is_folder in _own(folder, uid, before):
            try:
                remove_tree(path) if is_folder else os.unlink(path)
            except OSError as error:
                note("warning", "what a task has left could not be removed", path=path, why=str(error))
    for kind, name in _KINDS.items():
        for number in _segments(kind, name, uid, before):
            _remove(kind, number)


def _runs(uid: int) -> bool:
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat(f"/proc/{name}").st_uid == uid:
                return True
        except OSError:
            continue  # it has ended
    return False


def _own(folder: str, uid: int, before: float) -> Iterator[tuple[str, bool]]:
    try:
        with os.scandir(folder) as found:
            for entry in found:
                info = entry.stat(follow_symlinks=False)
                if info.st_uid == uid and info.st_ctime < before:
                    yield entry.path, entry.is_dir(follow_symlinks=False)
    except OSError:
        return  # there is none, or it changes while it is looked at: the next end of a task looks again


def _segments(kind: str, name: str, uid: int, before: float) -> list[int]:
    try:
        with open(f"{IPC}/{kind}") as file:
            head, *lines = [line.split() for line in file]
    except OSError:
        return []  # this kernel has none
    rows = [dict(zip(head, map(int, line), strict=True)) for line in lines]
    return [row[name] for row in rows if row["uid"] == uid and row["ctime"] < before]


def _remove(kind: str, number: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = (number, 0, _IPC_RMID, 0) if kind == "sem" else (number, _IPC_RMID, 0)
    if getattr(libc, f"{kind}ctl")(*words) != 0:
        why = os.strerror(ctypes.get_errno())
        note("warning", "what a task has left could not be removed", ipc=f"{kind} {number}", why=why)
