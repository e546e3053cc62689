"""How long Linux lets a process keep a core while others wait for one."""

import ctypes
import os
import platform
import struct

SHORT_NS = 100_000  # the least that Linux takes

_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
_ATTRIBUTES = struct.Struct("IIQiIQQQ")  # size, policy, flags, niceness, priority, runtime, deadline, period


def ask_for_short() -> None:
    """This thread, and those that it begins, want short slices: whoever asks for little at a time is served sooner by
    it, with no more of the processor than before (Linux 6.12; elsewhere nothing happens)."""
    if call := _SCHED_SETATTR.get(platform.machine()):
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        wanted = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, 0, nice, 0, SHORT_NS, 0, 0)
        ctypes.CDLL(None).syscall(call, 0, wanted, 0)
