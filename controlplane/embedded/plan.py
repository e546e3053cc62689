"""Which programs a stack consists of. Standard library only."""

import json
import os
import signal
import sys
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from . import stores
from .home import Home, HomeError, port_is_free
from .program import Program

REPO = Path(__file__).resolve().parents[2]
STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NODE_MEMORY_MIB = (512, 8192)  # least and most that one of several nodes on this host offers
WORKERS = ("worker-a", "worker-b")
ROLES = ("web", *WORKERS, "beat", "prepare")
NODE_VCORES_MILLI = 2000  # at least; nodes of one host share its cores


class StopOrder(IntEnum):
    """Highest first: leaders before nodes, so that nothing is placed again; nodes before web, which they tell."""

    STORES = 0
    WEB = 1
    NODES = 2
    DUTIES = 3


@dataclass(frozen=True)
class StackShape:
    """What was asked for: names of sub-clusters, nodes in each, and whether only the stores are wanted."""

    sub_clusters: tuple[str, ...]
    nodes: int
    only_stores: bool = False


def programs(home: Home, shape: StackShape, environ: dict[str, str]) -> list[Program]:
    """In the order they start where nothing else decides."""
    env = base_environment(home, environ)
    found = store_programs(home, env)
    if shape.only_stores:
        return found
    stores_up = tuple(p.name for p in found)
    found.append(template_program(home, env))
    found += role_programs(home, shape, env, stores_up)
    found += node_programs(home, shape, env)
    return found


def manage(*words: str) -> list[str]:
    return [sys.executable, str(REPO / "manage.py"), *words]


def base_environment(home: Home, environ: dict[str, str]) -> dict[str, str]:
    return environ | {
        "NOTIFY_SOCKET": str(home.sockets / "notify.sock"),
        "PYTHONUNBUFFERED": "1",
        "MALLOC_ARENA_MAX": "2",  # every thread its own arena costs tens of MiB
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def store_programs(home: Home, env: dict[str, str]) -> list[Program]:
    found = []
    if home.uses_own_postgres(env):
        found.append(postgres_program(home, env))
    if home.uses_own_redis(env):
        ports, secrets = home.ports(), home.secrets()
        for name in ("valkey", "broker"):
            found.append(valkey_program(home, env, name, ports[name], secrets[name]))
    return found


def postgres_program(home: Home, env: dict[str, str]) -> Program:
    return Program(
        "postgres",
        stores.postgres_command(home),
        {"PATH": env.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
        ready=lambda pid: stores.postgres_ready(home, pid),
        essential=True,
        as_nobody=os.geteuid() == 0,
        stop_rank=StopOrder.STORES,
        stop_signal=signal.SIGINT,  # Postgres' fast shutdown
        death_signal=signal.SIGINT,
        grace_s=15,
        before=lambda: stores.before_postgres(home),
    )


def valkey_program(home: Home, env: dict[str, str], name: str, port: int, password: str) -> Program:
    return Program(
        name,
        stores.valkey_command(home, name, port),
        {"PATH": env.get("PATH", ""), "LC_ALL": "C", "GLIBC_TUNABLES": stores.VALKEY_ALLOCATION},
        ready=lambda _: stores.valkey_ready(port, password),
        essential=True,
        stop_rank=StopOrder.STORES,
        death_signal=signal.SIGKILL,  # it keeps nothing
        before=lambda: stores.prepare_valkey(home, name, password),
    )


def template_program(home: Home, env: dict[str, str]) -> Program:
    argv = [*manage("template"), str(template_socket(home)), *ROLES]
    return Program("template", argv, env, essential=True, stop_rank=StopOrder.DUTIES)


def template_socket(home: Home) -> Path:
    return home.sockets / "template.sock"


def role_programs(home: Home, shape: StackShape, env: dict[str, str], needs: tuple[str, ...]) -> list[Program]:
    """The template's copies. Nothing else starts before the StateStore is prepared."""

    def role(name: str, words: list[str], stop_rank: StopOrder, **more: Any) -> Program:
        address = template_socket(home)
        return Program(name, manage(*words), env, (*needs, "template"), stop_rank=stop_rank, template=address, **more)

    found = []
    if not stores.is_prepared(home, list(shape.sub_clusters), env):
        prepare = ["prepare", "--sub-clusters", ",".join(shape.sub_clusters)]
        found.append(role("prepare", prepare, StopOrder.DUTIES, oneshot=True, silent=True))
        needs = ("prepare",)
    found.append(role("web", ["web"], StopOrder.WEB))
    for name in WORKERS:
        found.append(role(name, ["worker", "--name", name, "--all"], StopOrder.DUTIES, grace_s=4))
    found.append(role("beat", ["beat"], StopOrder.DUTIES))
    return found


def node_programs(home: Home, shape: StackShape, env: dict[str, str]) -> list[Program]:
    """A node manager knows its config file and nothing else: no store's address, no secret of ours."""
    if not (REPO / "nodemanager" / "__main__.py").exists():
        return []
    bare = {name: env[name] for name in ("PATH", "LANG", "HOME", "MALLOC_ARENA_MAX", "PYTHONUNBUFFERED") if name in env}
    found = []
    for name, sub_cluster in node_names(shape).items():
        write_node_config(home, shape, env, sub_cluster, name)
        argv = [sys.executable, "-m", "nodemanager", "--config", str(home.nodes / name / "node.json")]
        argv.append("--stop-containers")  # its tasks end with it, reported as stopped: their jobs start them again
        environ = bare | {"PYTHONPATH": str(REPO)}
        found.append(Program(name, argv, environ, ("web",), silent=True, stop_rank=StopOrder.NODES, grace_s=8))
    return found


def node_names(shape: StackShape) -> dict[str, str]:
    """The sub-cluster of each."""
    return {f"{place}-{number}": place for place in shape.sub_clusters for number in range(1, shape.nodes + 1)}


def write_node_config(home: Home, shape: StackShape, env: dict[str, str], sub_cluster: str, name: str) -> None:
    folder = home.nodes / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    home.link_nodes()
    total = len(shape.sub_clusters) * shape.nodes
    host_mib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    config = {
        "name": name,
        "control_plane": env["HYDRA_PUBLIC_URL"],
        "join_token": home.join_token(sub_cluster),
        "dir": str(home.short_nodes / name),
        "rack": f"rack-{name.rpartition('-')[2]}",
        "memory_mib": min(max(host_mib * 3 // 4 // total, NODE_MEMORY_MIB[0]), NODE_MEMORY_MIB[1]),
        "vcores_milli": max(NODE_VCORES_MILLI, (os.cpu_count() or 1) * 1000 // total),
        "gpus": 0,
        "advertise_host": "127.0.0.1",  # web runs on this host too
        "ca_file": env.get("HYDRA_TLS_CERT", ""),
        "labels": {"sub_cluster": sub_cluster},
        "path": f"{STANDARD_PATH}:{Path(sys.base_prefix) / 'bin'}",  # a host may have no other python3 than this one
    }
    with open(os.open(folder / "node.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        json.dump(config, out, indent=1)


def check_ports(home: Home, shape: StackShape, environ: dict[str, str], host: str, port: int) -> None:
    """Say which setting to change before anything is started on a port that somebody else has."""
    if not shape.only_stores and not port_is_free(host, port):
        raise HomeError(f"port {port} on {host} is taken: set HYDRA_HTTP_PORT to a free one, or stop what uses it")
    if home.uses_own_redis(environ):
        for name, number in home.ports().items():
            if not port_is_free("127.0.0.1", number):
                raise HomeError(
                    f"port {number}, kept for {name}, is taken: remove {home.root / 'ports.json'} and retry"
                )
