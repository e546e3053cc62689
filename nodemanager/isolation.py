"""What keeps this node's containers apart, found out by trying: users of their own, marker groups, enforced limits."""

import hashlib
import os
from dataclasses import dataclass

from nodemanager.config import Config, ConfigError
from wire.nodeapi import ONE_TENANT
from wire.template import Template

MARKER_BASE = 1 << 30  # groups above it mark one container's processes
MARKERS = 1 << 30
NPROC = 4096  # processes per tenant


@dataclass(frozen=True, slots=True)
class Isolation:
    """``separates_users``: tasks run as their tenant's own user. ``enforces``: names told at registration."""

    separates_users: bool
    enforces: list[str]
    nproc: int

    @property
    def one_tenant(self) -> bool:
        """Whether another tenant's tasks are refused while one's run."""
        return ONE_TENANT in self.enforces


def _can_become(uid: int, marker: int) -> bool:
    """Try in a child: a user namespace may lack the numbers although we are root in it."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([marker])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os._exit(0)
        except BaseException:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def detect(config: Config, controllers: list[str]) -> Isolation:
    """Try out what this machine allows the agent. ``controllers``: of the control groups that can be made.

    ``ConfigError`` where only some of the numbers of users are to be had: some tenants' tasks would never start.
    """
    first, last = config.uid_base, config.uid_base + config.uid_range - 1
    separates = os.geteuid() == 0 and _can_become(first, MARKER_BASE)
    if separates and not _can_become(last, MARKER_BASE):
        raise ConfigError(
            f"uid_range: this machine has no user {last}, only {first}; give less than {config.uid_range}"
        )
    names = ["no_new_privs", "rlimits", "timeout", "process_tree"]
    names.append("memory_cgroup" if "memory" in controllers else "memory_measured")
    names += [f"{name}_cgroup" for name in ("cpu", "pids") if name in controllers]
    names += ["cpu_quota"] if config.cpu_quota and "cpu" in controllers else []
    shares = "tenants_share_a_user" if config.several_tenants else ONE_TENANT
    names.append("user_per_tenant" if separates else shares)
    return Isolation(separates, sorted(names), NPROC if separates else _own_processes() + NPROC)


def _own_processes() -> int:
    """RLIMIT_NPROC counts every process of a user; as our own user there are others already."""
    me, count = os.geteuid(), 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                count += os.stat(f"/proc/{name}").st_uid == me
            except OSError:
                pass
    return count


def uid_of(config: Config, isolation: Isolation, tenant: int, template: Template) -> int:
    """The user that a tenant's task runs as; -1 where all run as the agent's own.

    Tasks with secrets and application masters have another one than the tenant's other tasks: others than the tenant
    may run commands in those, and would read its secrets in ``/proc``.
    """
    if not isolation.separates_users:
        return -1
    half = config.uid_range // 2
    apart = half if template.secrets or template.master else 0
    return config.uid_base + apart + tenant % half


def users_of(config: Config, uid: int) -> frozenset[int]:
    """Both users of the tenant that has this one."""
    half = config.uid_range // 2
    first = config.uid_base + (uid - config.uid_base) % half
    return frozenset((first, first + half))


def marker_gid(folder: str) -> int:
    """A group number for one container's processes: it survives double forks and cannot be left."""
    return MARKER_BASE + int.from_bytes(hashlib.sha256(folder.encode()).digest()[:4]) % MARKERS
