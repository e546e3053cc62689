"""A stack of a benchmark's own, from a clean state, and what its processes cost."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from client import Client
from controlplane.embedded.home import Home, free_ports, read_json

REPO = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class BenchStack:
    home: Home
    environ: dict[str, str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.environ['HYDRA_HTTP_PORT']}"

    def manage(self, *words: str) -> None:
        subprocess.run([sys.executable, str(REPO / "manage.py"), *words], env=self.environ, check=True)

    def client(self, account: str = "tenant") -> Client:
        """The SDK, logged in."""
        with Client(self.url) as anonymous:
            token = anonymous.login(account, self.home.secrets()[f"{account}_password"]).token
        return Client(self.url, token)

    def database_url(self) -> str:
        return self.home.environment(self.home.secrets(), self.home.ports())["DATABASE_URL"]

    def store_environ(self) -> dict[str, str]:
        """The environment of a process of ours that knows the stack's stores."""
        stores = self.home.environment(self.home.secrets(), self.home.ports())
        django = {"DJANGO_SETTINGS_MODULE": "controlplane.settings", "PYTHONPATH": str(REPO)}
        return os.environ | self.environ | stores | django

    def processes(self) -> dict[str, list[psutil.Process]]:
        """Process name -> it and everything below it; the guard and the supervisor count as ``supervisor``."""
        state = read_json(self.home.state)
        groups = {}
        for process in state["processes"]:
            if process["pid"]:
                root = psutil.Process(process["pid"])
                groups[process["name"]] = [root, *root.children(recursive=True)]
        groups["supervisor"] = [psutil.Process(state["guard_pid"]), psutil.Process(state["pid"])]
        known = {p.pid for group in groups.values() for p in group}
        every = psutil.Process(state["guard_pid"]).children(recursive=True)
        groups["adopted"] = [p for p in every if p.pid not in known]
        return groups


@contextmanager
def stack(*arguments: str, **environ: str) -> Iterator[BenchStack]:
    """``up --detach`` with these arguments in a folder of its own; everything is stopped and removed at the end."""
    with tempfile.TemporaryDirectory(prefix="hydra-bench-") as folder:
        home = Home(Path(folder) / "home")
        running = BenchStack(home, environment(home) | environ)
        running.manage("up", "--detach", *arguments)
        try:
            yield running
        finally:
            running.manage("down")


def environment(home: Home) -> dict[str, str]:
    """This process's environment without what would lead to another stack."""
    dropped = ("HYDRA_", "DATABASE_URL", "REDIS_URL")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    return kept | {
        "HYDRA_HOME": str(home.root),
        "HYDRA_HTTP_PORT": str(free_ports(1)[0]),
        "HYDRA_VENV": sys.prefix,
        "HYDRA_COMPILE_AFTER_S": "0",
    }


def one(db: psycopg.Connection[Any], sql: str, values: Mapping[str, Any] | Sequence[Any] = ()) -> Any:
    """The only value of the only row that a statement answers with."""
    [(value,)] = db.execute(sql.encode(), values).fetchall()
    return value


def cpu_s(processes: list[psutil.Process]) -> float:
    """Processor seconds these processes have used so far; ended ones count nothing."""
    total = 0.0
    for process in processes:
        try:
            total += sum(process.cpu_times()[:2])
        except psutil.NoSuchProcess:
            continue
    return total


def pss_mib(processes: list[psutil.Process]) -> float:
    """Proportional memory of these processes."""
    return sum(p.memory_full_info().pss for p in processes if p.is_running()) / 2**20


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of all do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, round(share * len(ordered) + 0.5) - 1))]


def job(name: str, command: list[str], count: int = 1, **more: Any) -> dict[str, Any]:
    """A job of one group of small tasks."""
    group = {"name": "work", "command": command, "count": count, "resources": {"memory_mib": 32, "vcores_milli": 10}}
    return {"name": name, "groups": [group | more]}
