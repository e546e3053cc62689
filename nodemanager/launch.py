"""From a launch context to a running process: what happens between fork and exec.

Runs in the supervisor, which has one thread, so the child may use Python until exec.
"""

import ctypes
import fcntl
import os
import resource
import signal
import termios
from dataclasses import dataclass, field
from typing import Any

PR_SET_DUMPABLE = 4
PR_SET_NO_NEW_PRIVS = 38
PR_SET_CHILD_SUBREAPER = 36
NOT_STARTED, NOT_FOUND = 126, 127  # exit statuses of commands that could not be started, as shells have them
libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """Everything the supervisor needs to start one container; travels as JSON.

    ``uid``: -1 keeps the supervisor's own user. ``memory_bytes`` and
    ``cpu_milli``: the container's limits. ``marker_gid``: a group only this
    container's processes are in, -1 for none; it survives double forks.
    """

    id: int
    argv: list[str]
    env: dict[str, str]
    folder: str  # the container's own folder; work/ and logs/ are in it
    uid: int = -1
    marker_gid: int = -1
    memory_bytes: int = 0
    cpu_milli: int = 0
    log_max_bytes: int = 4 << 20
    rlimits: dict[str, int] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def work(self) -> str:
        """The task's current folder, its own to fill."""
        return os.path.join(self.folder, "work")

    @property
    def logs(self) -> str:
        """Where its output is kept; closed to the task's user."""
        return os.path.join(self.folder, "logs")


def prctl(option: int, value: int) -> bool:
    """Whether the kernel has set this property of the calling process."""
    return int(libc.prctl(option, value, 0, 0, 0)) == 0


def set_rlimits(limits: dict[str, int]) -> None:
    """Lower the named limits (``NOFILE`` for RLIMIT_NOFILE); never raises one above the hard limit."""
    for name, wanted in limits.items():
        number = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(number)[1]
        value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(number, (value, value))


def raise_open_files() -> None:
    """Let this process open as many files as it may: every container costs its supervisor and its agent a few."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def drop_privileges(context: LaunchContext) -> None:
    """Drop to the tenant's user and group, for good."""
    if context.uid < 0:
        return
    os.setgroups([context.marker_gid] if context.marker_gid >= 0 else [])
    os.setresgid(context.uid, context.uid, context.uid)
    os.setresuid(context.uid, context.uid, context.uid)


def _child(context: LaunchContext, ends: tuple[int, int, int], cgroup_procs: list[str], handed: bool) -> None:
    os.setsid()
    for path in cgroup_procs:
        with open(path, "w") as procs:
            procs.write("0")
    for number, end in enumerate(ends):
        os.dup2(end, number)
    if handed:
        _take_over(context.uid)
    os.umask(0o022)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGXFSZ, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if not handed:
        os.chdir(context.work)
    set_rlimits(context.rlimits)
    drop_privileges(context)
    if handed:
        os.chdir(context.work)  # as the task's user, who may have put something else there by now
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    os.execvpe(context.argv[0], context.argv, context.env)


def _take_over(uid: int) -> None:
    """Make the ends the user's, who may open them again by their names, and a terminal the session's own."""
    for number in range(3):
        if uid >= 0:
            os.fchown(number, uid, -1)
    if os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def launch(context: LaunchContext, stdout: int, stderr: int, cgroup_procs: list[str]) -> tuple[int, int]:
    """Fork; returns (pid, fd). The fd ends empty once the command runs, else it holds an error text."""
    null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _fork(context, (null, stdout, stderr), cgroup_procs, handed=False)
    finally:
        os.close(null)


def enter(context: LaunchContext, ends: tuple[int, int, int], cgroup_procs: list[str]) -> tuple[int, int]:
    """The same of a command beside the container's own. ends: its stdin, stdout, stderr; or three times a terminal."""
    return _fork(context, ends, cgroup_procs, handed=True)


def _fork(context: LaunchContext, ends: tuple[int, int, int], joins: list[str], *, handed: bool) -> tuple[int, int]:
    report_r, report_w = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if pid == 0:
        status = NOT_STARTED
        try:
            os.close(report_r)
            _child(context, ends, joins, handed)
        except BaseException as error:
            status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_STARTED
            why = _said(error, context.argv[0]).encode(errors="replace")[:4000]
            os.write(report_w, why)
            if not handed:  # where its owner looks
                os.write(ends[2], b"hydra: the command could not be started: " + why + b"\n")
        finally:
            os._exit(status)
    os.close(report_w)
    return pid, report_r


def _said(error: BaseException, program: str) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    name = os.fsdecode(getattr(error, "filename", None) or "")
    if isinstance(error, FileNotFoundError) and "/" not in program and os.path.basename(name) == program:
        name = f"{program}, nowhere in PATH"  # it names the last place that was looked at
    return f"{text}: {name}" if name else text
