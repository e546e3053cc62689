"""Which limits this node can enforce, found out by trying, and how they become a start order."""

import hashlib
import os
import platform
from dataclasses import dataclass

from nodemanager import lifecycle
from nodemanager.config import Config
from nodemanager.healthscript import Script
from nodemanager.launch import Order
from nodemanager.lifecycle import Container
from wire.desired import Lease
from wire.ids import format_container
from wire.resources import gpu_ids
from wire.template import Template, port_variable

MARKER_BASE = 1 << 30  # groups above it mark one container's processes
MARKERS = 1 << 30
NPROC = 4096  # processes per tenant
NOFILE = 65_536


@dataclass(frozen=True, slots=True)
class Limits:
    """``separates_users``: tasks run as their tenant's own user. ``enforces``: names told at registration."""

    separates_users: bool
    enforces: list[str]
    nproc: int


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


def find(config: Config, controllers: list[str]) -> Limits:
    """Try out what this machine allows the agent. ``controllers``: of the control groups that can be made."""
    separates = os.geteuid() == 0 and _can_become(config.uid_base, MARKER_BASE)
    names = ["no_new_privs", "rlimits", "timeout", "process_tree"]
    names.append("memory_cgroup" if "memory" in controllers else "memory_measured")
    names += [f"{name}_cgroup" for name in ("cpu", "pids") if name in controllers]
    names.append("user_per_tenant" if separates else "one_tenant_at_a_time")
    return Limits(separates, sorted(names), NPROC if separates else _own_processes() + NPROC)


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


def uid_of(config: Config, limits: Limits, tenant: int) -> int:
    """The user that a tenant's tasks run as; -1 where all run as the agent's own."""
    return config.uid_base + tenant % config.uid_range if limits.separates_users else -1


def marker(folder: str) -> int:
    """A group number for one container's processes: it survives double forks and cannot be left."""
    return MARKER_BASE + int.from_bytes(hashlib.sha256(folder.encode()).digest()[:4]) % MARKERS


@dataclass(frozen=True, slots=True)
class Where:
    """The names of the place a task runs in, for its environment."""

    node: str
    rack: str
    sub_cluster: str
    path: str
    host: str


def environment(lease: Lease, template: Template, folder: str, where: Where, ports: dict[str, int]) -> dict[str, str]:
    """The task's environment, built from nothing; the group's own names cannot replace ours."""
    work, gpus = os.path.join(folder, "work"), ",".join(map(str, gpu_ids(lease.gpus)))
    fixed = {
        "PATH": where.path,
        "HOME": work,
        "TMPDIR": os.path.join(folder, "tmp"),
        "LANG": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": gpus,
    }
    own = {
        "HYDRA_JOB_ID": str(lease.job_id),
        "HYDRA_JOB_NAME": template.job_name,
        "HYDRA_GROUP": template.group,
        "HYDRA_TASK_INDEX": str(lease.task_index),
        "HYDRA_TASK_COUNT": str(template.count),
        "HYDRA_ATTEMPT": str(lease.attempt),
        "HYDRA_CONTAINER_ID": format_container(lease.container_id),
        "HYDRA_QUEUE": template.queue,
        "HYDRA_USER": template.user,
        "HYDRA_NODE": where.node,
        "HYDRA_RACK": where.rack,
        "HYDRA_SUB_CLUSTER": where.sub_cluster,
        "HYDRA_MEMORY_MIB": str(lease.memory_mib),
        "HYDRA_VCORES_MILLI": str(lease.vcores_milli),
        "HYDRA_GPUS": gpus,
        "HYDRA_WORK_DIR": work,
        "HYDRA_HOST": where.host,
    }
    own |= {port_variable(name): str(number) for name, number in ports.items()}
    asked = {k: v for k, v in template.env.items() if not k.startswith("HYDRA_")}
    return fixed | asked | own


def order(
    container: Container, config: Config, limits: Limits, folder: str, sub_cluster: str, token: str = ""
) -> Order:
    """The start order of one container whose template is known and whose ports are found.

    token: of an application master; it and the API's address are in its environment.
    """
    lease, template = container.lease, container.template
    assert lease is not None
    assert template is not None
    argv = ["/bin/sh", "-c", *template.command] if template.shell else list(template.command)
    uid = uid_of(config, limits, lease.tenant)
    where = Where(config.name, config.rack, sub_cluster, config.path, advertised(config))
    env = environment(lease, template, folder, where, container.ports)
    if template.master:
        env |= {"HYDRA_API_URL": config.control_plane, "HYDRA_AM_TOKEN": token, "HYDRA_API_CA": config.ca_file}
    return Order(
        id=lease.container_id,
        argv=argv,
        env=env,
        folder=folder,
        uid=uid,
        marker_gid=marker(folder) if uid >= 0 else -1,
        memory_bytes=lease.memory_mib << 20,
        cpu_milli=lease.vcores_milli,
        log_max_bytes=template.log_max_bytes,
        rlimits={"CORE": 0, "NPROC": limits.nproc, "NOFILE": NOFILE},
        meta=lifecycle.meta(container),
    )


def health_script(config: Config, limits: Limits) -> Script:
    """How the operator's health script runs."""
    as_task = config.health_as_task_user and limits.separates_users
    env = {"PATH": config.path, "LANG": "C.UTF-8", "HYDRA_NODE": config.name, "HYDRA_WORK_DIR": str(config.dir)}
    timing = config.health_interval_s, config.health_timeout_s
    return Script(config.health_script, *timing, config.uid_base if as_task else -1, env)


def advertised(config: Config) -> str:
    """Where others reach this machine: as the operator says, else its own name."""
    return config.advertise_host or platform.node()[:253]
