"""Whether this node's folders can take new work."""

import errno
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from nodemanager import jsonfiles
from nodemanager.healthscript import HealthScript
from wire.states import NodeHealth

FULL = {errno.ENOSPC, errno.EDQUOT}
PROBE_BYTES = 4096


def check(folder: Path, reserve_mib: int) -> tuple[int, int]:
    """(NodeHealth flags, free MiB), by writing a small file and asking for the free space."""
    health = NodeHealth.OK
    probe = folder / "probe"
    try:
        with open(probe, "wb") as file:
            file.write(b"\0" * PROBE_BYTES)
        probe.unlink()
    except OSError as error:
        health |= NodeHealth.DISK_FULL if error.errno in FULL else NodeHealth.WORK_FOLDER_READONLY
    try:
        space = os.statvfs(folder)
    except OSError:
        return int(health | NodeHealth.WORK_FOLDER_READONLY), 0
    free = space.f_bavail * space.f_frsize >> 20
    if free < reserve_mib or (space.f_files and space.f_favail == 0):
        health |= NodeHealth.DISK_FULL
    return int(health), free


class HealthChecker:
    """Disk, supervisor and the operator's script, as one set of flags. ``on_health`` takes them with the free MiB.

    folders: the node's own, and where containers have theirs if that is elsewhere; of all the least is free.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        reserve_mib: int,
        script: HealthScript,
        supervisor_up: Callable[[], bool],
        on_health: Callable[[int, int], None],
    ) -> None:
        self.folders, self.reserve_mib = folders, reserve_mib
        self.script, self.supervisor_up, self.on_health = script, supervisor_up, on_health

    def check(self) -> None:
        """Look now: every few seconds, and when the supervisor or the script has changed."""
        flags, free = self.script.flag, []
        for folder in self.folders:
            wrong, space = check(folder, self.reserve_mib)
            flags |= wrong
            free.append(space)
        if not self.supervisor_up():
            flags |= NodeHealth.SUPERVISOR_DOWN
        self.on_health(flags, min(free))


def write_status_file(folder: Path, **values: object) -> None:
    """``run/status.json``: what an operator's ``status`` command shows, since the agent never listens."""
    try:
        jsonfiles.write_json(str(folder / "run" / "status.json"), {"pid": os.getpid(), "at": time.time(), **values})
    except OSError:
        pass  # a full disk is already reported as health
