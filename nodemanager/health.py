"""Whether this node's work folder can take new work."""

import errno
import os
from pathlib import Path

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
