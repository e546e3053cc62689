"""Processes that tests watch, known by their number and by when they were started."""

import contextlib

import psutil

_ENDED = {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}


class Pid(int):
    """The number of a process, and whose it was when it was read: another may be given the same number later."""

    _process: psutil.Process | None

    def __new__(cls, number: int) -> "Pid":
        pid = super().__new__(cls, number)
        pid._process = None
        with contextlib.suppress(psutil.NoSuchProcess):
            pid._process = psutil.Process(number)
        return pid


def alive(pid: Pid) -> bool:
    """Whether that process exists and is no zombie."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return pid._process is not None and pid._process.is_running() and pid._process.status() not in _ENDED
    return False
