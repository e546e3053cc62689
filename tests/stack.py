"""A whole stack as a user starts it, for tests that break it."""

import atexit
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

from client import Client
from controlplane.embedded import stack
from controlplane.embedded.home import Home, port_is_free, read_json
from tests import forked
from tests.patience import RanOut, wait_until
from tests.stores import ROOT, bare_environment

_PORTS = range(12_000, 16_000)  # below those that the system hands out to whoever asks for any
_reserved: list[socket.socket] = []


# Leaders and nodes that a busy machine keeps from speaking are not replaced at once: for tests of other things.
UNHURRIED = {"HYDRA_LEASE_S": "15", "HYDRA_NODE_LOST_S": "30"}


def own_port() -> int:
    """One that nobody listens on, and that no other test on this machine is given as long as this process lives."""
    for port in _PORTS:
        taken = socket.socket(socket.AF_UNIX)
        try:
            taken.bind(f"\0hydra-test-port-{port}")  # a name that the kernel gives to one, and frees with its process
        except OSError:
            taken.close()
            continue
        _reserved.append(taken)
        if port_is_free("127.0.0.1", port):
            return port
    raise RanOut("no port is free")


class Stack:
    """``up --detach`` in a folder of its own. Processes are named as in ``manage.py status``."""

    def __init__(
        self, home: Path, sub_clusters: int = 2, nodes: int = 2, environ: dict[str, str] | None = None
    ) -> None:
        self.home = Home(home.absolute())
        self.sub_clusters, self.nodes = sub_clusters, nodes
        self.port = own_port()
        self.environ = bare_environment() | {"HYDRA_HOME": str(self.home.root), "HYDRA_HTTP_PORT": str(self.port)}
        self.environ |= {"HYDRA_TIED_TO": str(os.getpid())} | (environ or {})  # killed tests leave no stack behind
        self.url = f"http://127.0.0.1:{self.port}"
        self._clients: list[Client] = []
        self._tokens: dict[str, str] = {}
        if self.home.sockets != self.home.run:  # outside the test's folder, because that one's path is long
            atexit.register(shutil.rmtree, self.home.sockets, ignore_errors=True)

    def __enter__(self) -> "Stack":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def manage(self, *words: str, check: bool = True, timeout_s: float = 120) -> "subprocess.CompletedProcess[str]":
        """Run a manage.py command against this stack."""
        done = forked.run([str(ROOT / "manage.py"), *words], self.environ, ROOT, timeout_s=timeout_s)
        assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self) -> None:
        """Raises ``RanOut`` when it does not come up."""
        words = ("up", "--detach", "--sub-clusters", str(self.sub_clusters), "--nodes", str(self.nodes))
        done = self.manage(*words, check=False, timeout_s=240)
        if done.returncode:
            raise RanOut(f"the stack did not start: {done.returncode}\n{done.stdout}\n{done.stderr}")

    def stop(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()
        for process in self.state().get("processes", []):
            if process["pid"]:
                self.send(process["pid"], signal.SIGCONT)  # a stopped one could not be asked to end
        stack.stop(self.home, lambda _: None)

    def state(self) -> dict[str, Any]:
        return read_json(self.home.state)

    def process(self, name: str) -> dict[str, Any]:
        return next(p for p in self.state()["processes"] if p["name"] == name)

    def pid(self, name: str) -> int:
        return int(self.process(name)["pid"])

    def ready(self, name: str) -> bool:
        return bool(self.process(name)["state"] == "ready")

    def kill(self, name: str, sig: int = signal.SIGKILL) -> int:
        """Signal a process (it is started again when that ends it); returns the process id it had."""
        pid = self.pid(name)
        assert pid, f"{name} does not run"
        self.send(pid, sig)
        return pid

    def kill_and_wait(self, name: str, timeout_s: float = 30) -> None:
        """Kill -9 and wait for its successor to be ready."""
        before = self.kill(name)
        wait_until(lambda: self.pid(name) not in {0, before} and self.ready(name), timeout_s, f"{name} runs again")

    def hold(self, name: str) -> None:
        """Stop a process and keep it stopped."""
        (self.home.held / name).touch()
        wait_until(lambda: self.process(name)["state"] == "held", 20, f"{name} stopped")

    def release(self, name: str, wait: bool = True) -> None:
        (self.home.held / name).unlink(missing_ok=True)
        if wait:
            wait_until(lambda: self.ready(name), 30, f"{name} runs again")

    def log(self, name: str) -> str:
        return (self.home.logs / f"{name}.log").read_text(errors="replace")

    def database_url(self) -> str:
        return self.home.environment(self.home.secrets(), self.home.ports())["DATABASE_URL"]

    def redis_url(self) -> str:
        return self.home.environment(self.home.secrets(), self.home.ports())["REDIS_URL"]

    def broker_url(self) -> str:
        return self.home.environment(self.home.secrets(), self.home.ports())["HYDRA_BROKER_URL"]

    def client(self, account: str = "tenant") -> Client:
        """The SDK, logged in as ``tenant`` or ``operator``; closed with the stack."""
        client = Client(self.url, self.token(account))
        self._clients.append(client)
        return client

    def token(self, account: str = "tenant") -> str:
        """Of the API; one for each account, since checking a password takes a third of a second, on purpose."""
        if account not in self._tokens:
            with Client(self.url) as anonymous:
                self._tokens[account] = anonymous.login(account, self.home.secrets()[f"{account}_password"]).token
        return self._tokens[account]

    @staticmethod
    def send(pid: int, sig: int) -> None:
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            pass
