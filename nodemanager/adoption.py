"""What an earlier supervisor left behind: its containers, taken over while they run or after they have ended."""

import ctypes
import os
import selectors
import struct
import time
from typing import Any

from nodemanager import jsonfiles, procfs
from nodemanager.capture import STREAMS
from nodemanager.cgroups import Cgroups
from nodemanager.launch import LaunchContext, libc
from nodemanager.task import Task

PIDFD_GET_INFO = 0xC040FF0B  # Linux 6.15: how a process that is not our child has ended
PIDFD_INFO_EXIT = 1 << 3


def load(folder: str, selector: selectors.BaseSelector, cgroups: Cgroups) -> list[Task]:
    """Every container that an earlier supervisor recorded below ``folder``."""
    tasks = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        spec = jsonfiles.read_json(os.path.join(folder, name, "spec.json"))
        if spec is None:
            continue
        try:
            task = Task(LaunchContext(**spec["order"]), selector, cgroups)
            _adopt(task, spec, os.path.join(folder, name))
        except (KeyError, TypeError, ValueError):
            continue
        except OSError:  # no descriptor is left, say: what cannot be watched is ended, not left to itself
            task.leader_ended(None, None, time.monotonic())
        tasks.append(task)
    return tasks


def _adopt(task: Task, spec: dict[str, Any], folder: str) -> None:
    """Its process is not our child: its end is seen through a pidfd, and its status may be unknowable."""
    pid, start_ticks = int(spec["pid"]), int(spec["ticks"])
    task.exit = jsonfiles.read_json(os.path.join(folder, "exit.json"))
    if task.exit is not None:
        return
    task.tree.adopted = True
    process, same_boot = procfs.read(pid), spec["boot"] == procfs.boot_id()
    task.started_at = time.monotonic() - (procfs.age_s(start_ticks) if same_boot else 0.0)
    if not same_boot or (process is not None and process.start_ticks != start_ticks):
        pid = 0  # the number is another's by now, and so is the session of that number
    task.tree.pid = pid
    if process is None or not pid or process.state in "ZX":
        task.leader_ended(None, None, time.monotonic())
        return
    pidfd = os.pidfd_open(pid)
    task.selector.register(pidfd, selectors.EVENT_READ, lambda _: _ended(task, pidfd))
    for stream in STREAMS:
        task.streams.reopen(stream)


def _ended(task: Task, pidfd: int) -> None:
    status = exit_status(pidfd)
    task.selector.unregister(pidfd)
    os.close(pidfd)
    task.leader_ended(status, None, time.monotonic())


def exit_status(pidfd: int) -> int | None:
    """Wait status of the ended process behind ``pidfd``; None where the kernel does not tell."""
    buffer = ctypes.create_string_buffer(struct.pack("<Q", PIDFD_INFO_EXIT), 64)
    if libc.ioctl(pidfd, ctypes.c_ulong(PIDFD_GET_INFO), buffer) != 0:
        return None
    mask: int = struct.unpack_from("<Q", buffer, 0)[0]
    status: int = struct.unpack_from("<i", buffer, 60)[0]
    return status if mask & PIDFD_INFO_EXIT else None
