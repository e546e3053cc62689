"""Starting child processes that cannot outlive their parent, and ending whole trees. Linux, standard library only."""

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUSER = 0x10000000
NOBODY = 65534
_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process instead of init's, so that none can slip away."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int, sig: int) -> None:
    """Ask for ``sig`` when the thread that started this process ends."""
    _libc.prctl(PR_SET_PDEATHSIG, sig, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the request was made
        os.kill(os.getpid(), sig)


def become_nobody() -> None:
    """In a user namespace of its own, root appears as an ordinary user: Postgres refuses to run as root.

    Outside the namespace the process is still the one that owns its folders, so nothing has to be chowned.
    """
    uid, gid = os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWUSER):
        raise OSError(ctypes.get_errno(), "user namespaces are not allowed here")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {gid} 1")


def before_exec(death_signal: int, as_nobody: bool = False, parent: int = 0) -> Callable[[], None]:
    """What a child does between fork and exec: own session, tied to its parent (this one), default signals."""
    parent = parent or os.getpid()

    def prepare() -> None:
        if os.getsid(0) != os.getpid():
            os.setsid()  # by which Linux divides processors, where it makes groups of sessions
        if as_nobody:
            become_nobody()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        die_with_parent(parent, death_signal)

    return prepare


def family() -> dict[int, list[int]]:
    """Process id -> its live children, for every process there is."""
    found: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue  # it ended meanwhile
            state, parent = stat.rpartition(")")[2].split()[:2]
            if state != "Z":
                found.setdefault(int(parent), []).append(int(entry))
    return found


def children(root: int) -> list[int]:
    return family().get(root, [])


def descendants(root: int) -> list[int]:
    """Every live process below ``root``, children after their parents."""
    below = family()
    found, todo = [], [root]
    while todo:
        nearest = below.get(todo.pop(), [])
        found += nearest
        todo += nearest
    return found


def send(pids: Iterable[int], sig: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, sig)
        except (ProcessLookupError, PermissionError):
            pass


def reap() -> list[tuple[int, int]]:
    """Collect ended children: (process id, wait status)."""
    ended: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended.append((pid, status))


def kill_tree(root: int, spared: int, patience_s: float) -> None:
    """End everything below ``root``, parents first, so that nobody is left to report how a child ended.

    ``spared`` and what is below it (a Postgres that is shutting down) may take ``patience_s``.
    """
    deadline = time.monotonic() + patience_s
    while left := descendants(root):
        if time.monotonic() < deadline:
            kept = {spared, *descendants(spared)} if spared else set()
            left = [pid for pid in left if pid not in kept]
        send(left, signal.SIGKILL)
        reap()
        time.sleep(0.02)
    reap()
