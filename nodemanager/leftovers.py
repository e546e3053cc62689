"""What a tenant's tasks leave outside of their folders, where everybody may write, and would stay for ever.

The memory of ``/dev/shm`` and of System V IPC is no container's once its own have ended, and is offered to others.
"""

import ctypes
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from nodemanager.log import note
from nodemanager.paths import remove_tree

Users = frozenset[int]  # of one tenant
FOLDERS = ("/dev/shm", "/tmp", "/var/tmp")  # noqa: S108 - what others have left there is removed, nothing is put there
IPC = "/proc/sysvipc"
SWEEP_S = 5.0  # between two looks at all of it,
LOOKING_PART = 20  # or so many times what one took: any user may leave so many names that it takes long
AT_ONCE = 200  # names between two looks at whether something of the tenant's runs again
_KINDS = {"shm": "shmid", "sem": "semid", "msg": "msqid"}
_IPC_RMID = 0


class Leftovers:
    """Removes it after the last of a tenant's containers here, if nothing of the tenant's runs, on a thread of its own.

    containers: the folder of the containers' folders. users_of: all users of the tenant that has this one.
    """

    def __init__(self, containers: Path, users_of: Callable[[int], Users], stopping: threading.Event) -> None:
        self._containers, self._users_of, self._stopping = containers, users_of, stopping
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._due, self._now = set[Users](), set[Users]()  # to be looked at, being looked at

    def start(self) -> None:
        """Begin to wait for what is due, until ``stopping`` is set or the process ends."""
        threading.Thread(target=self._run, name="leftovers", daemon=True).start()

    def begins(self, uid: int) -> None:
        """A container of this user's has its folder: nothing of its tenant's is removed from now on."""
        with self._lock:
            users = self._users_of(uid)
            self._due.discard(users)
            self._now.discard(users)

    def ended(self, uid: int) -> None:
        """A container of this user's has lost its folder."""
        users = self._users_of(uid)
        with self._lock:
            if self._has_container(users):
                return
            self._due.add(users)
        self._wake.set()

    def sweep(self) -> None:
        """Remove what is due. What something runs of is due again when that has ended."""
        with self._lock:
            self._now, self._due = self._due, set()
            wanted = self._free()
        if not wanted:
            return
        for folder in FOLDERS:
            found = _own(folder, wanted)
            while entries := list(islice(found, AT_ONCE)):
                for path in self._take(entries):
                    _attempt(path, remove_tree)
        for kind, name in _KINDS.items():
            for uid, number in _segments(kind, name):
                with self._lock:
                    if uid in wanted and uid in self._free():
                        _remove(kind, number)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._stopping.is_set():
                return
            began = time.monotonic()
            self.sweep()
            self._stopping.wait(max(SWEEP_S, LOOKING_PART * (time.monotonic() - began)))

    def _has_container(self, users: Users) -> bool:
        return any(_owner(str(folder / "work")) in users for folder in self._containers.iterdir())

    def _free(self) -> set[int]:
        """Users whose things may go now, and as long as the lock is held."""
        running = _running()
        return {uid for users in self._now if not users & running for uid in users}

    def _take(self, entries: Iterable[tuple[str, int, bool]]) -> list[str]:
        """Delete files, and make folders the agent's, so that who begins now finds all or nothing of each."""
        taken = []
        with self._lock:
            free = self._free()
            for path, uid, is_folder in entries:
                if uid in free and _attempt(path, _disown if is_folder else os.unlink) and is_folder:
                    taken.append(path)
        return taken


def _disown(path: str) -> None:
    os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)


def _attempt(path: str, act: Callable[[str], None]) -> bool:
    try:
        act(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        note("warning", "what a task has left could not be removed", path=path, why=str(error))
        return False
    return True


def _owner(path: str) -> int | None:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None  # it has gone


def _running() -> set[int]:
    """Users of all processes of this machine."""
    found = {_owner(f"/proc/{name}") for name in os.listdir("/proc") if name.isdigit()}
    return {uid for uid in found if uid is not None}


def _own(folder: str, users: set[int]) -> Iterator[tuple[str, int, bool]]:
    """(path, user, whether a folder) of what is these users' there. What is in another's folder there has been left to
    that other, such as in one that an operator lets everybody write to."""
    try:
        with os.scandir(folder) as found:
            for entry in found:
                try:
                    info = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if info.st_uid in users:
                    yield entry.path, info.st_uid, stat.S_ISDIR(info.st_mode)
    except OSError:
        return  # there is none


def _segments(kind: str, name: str) -> list[tuple[int, int]]:
    """(user, number) of all there are. The user is who made it, as only that can be given to nobody else."""
    try:
        with open(f"{IPC}/{kind}") as file:
            head, *lines = [line.split() for line in file]
    except OSError:
        return []  # this kernel has none
    rows = [dict(zip(head, map(int, line), strict=True)) for line in lines]
    return [(row["cuid"], row[name]) for row in rows]


def _remove(kind: str, number: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    words = (number, 0, _IPC_RMID, 0) if kind == "sem" else (number, _IPC_RMID, 0)
    if getattr(libc, f"{kind}ctl")(*words) != 0:
        why = os.strerror(ctypes.get_errno())
        note("warning", "what a task has left could not be removed", ipc=f"{kind} {number}", why=why)
