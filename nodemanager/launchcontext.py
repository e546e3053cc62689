"""From a lease and its template to the launch context that the supervisor starts a container by."""

import os
from dataclasses import dataclass, field

from nodemanager import lifecycle
from nodemanager.config import Config, advertised_host
from nodemanager.isolation import Isolation, marker_gid, uid_of
from nodemanager.launch import LaunchContext
from nodemanager.lifecycle import Container
from wire import arrays
from wire.desired import Lease
from wire.ids import format_container
from wire.resources import DIVISIBLE, gpu_ids
from wire.template import Template, port_variable

NOFILE = 65_536
RESERVED = "HYDRA_"  # beginning of names that jobs cannot set


@dataclass(frozen=True, slots=True)
class Location:
    """The names of the place a task runs in, for its environment."""

    node: str
    rack: str
    sub_cluster: str
    path: str
    host: str


@dataclass(frozen=True, slots=True)
class Confidential:
    """What the task alone may have. token: an application master's, for the API. env: its secrets by variable.

    sought: lines of all of these, and of those that it has as files, that are not kept of what it prints.
    """

    token: str = field(default="", repr=False)
    env: dict[str, str] = field(default_factory=dict, repr=False)
    sought: list[str] = field(default_factory=list, repr=False)


def environment(
    lease: Lease, template: Template, folder: str, location: Location, ports: dict[str, int]
) -> dict[str, str]:
    """The task's environment, built from nothing; the group's own names cannot replace ours."""
    work, gpus = os.path.join(folder, "work"), ",".join(map(str, gpu_ids(lease.gpus)))
    fixed = {
        "PATH": location.path,
        "HOME": work,
        "USER": template.user,  # the number that it runs as need not have a name, for which programs would look
        "LOGNAME": template.user,
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
        "HYDRA_NODE": location.node,
        "HYDRA_RACK": location.rack,
        "HYDRA_SUB_CLUSTER": location.sub_cluster,
        "HYDRA_GPUS": gpus,
        "HYDRA_WORK_DIR": work,
        "HYDRA_HOST": location.host,
    }
    own |= {f"HYDRA_{axis.upper()}": str(getattr(lease, axis)) for axis in DIVISIBLE}
    own |= {port_variable(name): str(number) for name, number in ports.items()}
    values = arrays.values(template.array, lease.task_index)
    own |= {arrays.variable(name): value for name, value in values.items()}
    requested = {k: v for k, v in template.env.items() if not k.startswith(RESERVED)}
    if values:
        requested = {k: arrays.put_in(v, values) for k, v in requested.items()}
    return fixed | requested | own


def launch_context(
    container: Container,
    config: Config,
    isolation: Isolation,
    folder: str,
    sub_cluster: str,
    confidential: Confidential | None = None,
) -> LaunchContext:
    """The launch context of one container whose template is known and whose ports are found.

    An application master has its token and the API's address in its environment.
    """
    confidential = confidential or Confidential()
    lease, template = container.lease, container.template
    assert lease is not None
    assert template is not None
    values = arrays.values(template.array, lease.task_index)
    command = [arrays.put_in(word, values) for word in template.command] if values else list(template.command)
    argv = ["/bin/sh", "-c", *command] if template.shell else command
    uid = uid_of(config, isolation, lease.tenant, template)
    location = Location(config.name, config.rack, sub_cluster, config.path, advertised_host(config))
    env = environment(lease, template, folder, location, container.ports)
    env |= {name: value for name, value in confidential.env.items() if not name.startswith(RESERVED)}
    if template.master:
        env |= {
            "HYDRA_API_URL": config.control_plane,
            "HYDRA_AM_TOKEN": confidential.token,
            "HYDRA_API_CA": config.ca_file,
        }
    return LaunchContext(
        id=lease.container_id,
        argv=argv,
        env=env,
        folder=folder,
        uid=uid,
        marker_gid=marker_gid(folder) if uid >= 0 else -1,
        memory_bytes=lease.memory_mib << 20,
        cpu_milli=lease.vcores_milli,
        log_max_bytes=template.log_max_bytes,
        rlimits={"CORE": 0, "NPROC": isolation.nproc, "NOFILE": NOFILE},
        meta=lifecycle.meta(container),
    )
