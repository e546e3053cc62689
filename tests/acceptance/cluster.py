"""A stack under test, with what its rows, its Redis and its processes say."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import httpx
import psycopg
import redis

from client import Client
from contract.jobs import Job
from controlplane.embedded.home import Home
from tests import forked, hydractl
from tests.acceptance.relay import Relay
from tests.homes import ready_made
from tests.machine import FACTOR
from tests.patience import EASY, RanOut, stretched, wait_until
from tests.processes import Pid, alive
from tests.stack import Stack, own_port
from tests.stores import ROOT
from wire import keys
from wire.ids import parse_container
from wire.states import NodeState
from wire.summary import Summary, decode

SUB_CLUSTER = 1
SMALL = {"memory_mib": 64, "vcores_milli": 100}
# What every task of these tests does first: say which process it is. One short line, appended at once.
SAY = 'echo "$HYDRA_CONTAINER_ID $HYDRA_TASK_INDEX $HYDRA_ATTEMPT $$ $HYDRA_NODE" >> "$EVIDENCE/starts"; '
DECOMMISSION = (
    "from controlplane.statestore.actions import nodes; from controlplane.statestore.actions.audit import SYSTEM; "
    "from controlplane.statestore.models import Node"
)


@dataclass(frozen=True)
class Start:
    """A process that a task has started, as it says itself."""

    container: str
    index: int
    attempt: int
    pid: Pid
    node: str

    @property
    def number(self) -> int:
        return parse_container(self.container)

    @property
    def alive(self) -> bool:
        return alive(self.pid)


def start_node(
    folder: Path, url: str, join_token: str, name: str, prefix: tuple[str, ...] = (), **config: Any
) -> "subprocess.Popen[bytes]":
    """A node manager that knows the control plane's address and a join token, and nothing else; its log is ``log``."""
    known = {"name": name, "control_plane": url, "join_token": join_token, "dir": str(folder / "node")}
    settings = known | {"memory_mib": 1024, "vcores_milli": 2000} | config
    (folder / "node.json").write_text(json.dumps(settings))
    command = [*prefix, sys.executable, "-m", "nodemanager", "--config", str(folder / "node.json"), "--stop-containers"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    with open(folder / "log", "w") as log:
        return subprocess.Popen(command, env=environ, cwd=folder, stderr=log, stdout=log)


@contextlib.contextmanager
def running_node(
    url: str, join_token: str, name: str, prefix: tuple[str, ...] = (), **config: Any
) -> "Iterator[subprocess.Popen[bytes]]":
    """A node manager in a folder of its own, both gone afterwards; its log is printed where the test fails."""
    folder = Path(tempfile.mkdtemp(prefix="hydra-node-"))
    process = start_node(folder, url, join_token, name, prefix, **config)
    try:
        yield process
    except BaseException:
        print((folder / "log").read_text())
        raise
    finally:
        process.terminate()
        process.wait(stretched(20))
        shutil.rmtree(folder, ignore_errors=True)


class Cluster:
    """One sub-cluster, ``east``, with real nodes that reach it over relays. Use it in ``with``."""

    def __init__(self, home: Path, nodes: int = 3, environ: dict[str, str] | None = None, relayed: bool = True) -> None:
        self.stack = Stack(ready_made(home), sub_clusters=1, nodes=nodes)
        self.evidence = Path(tempfile.mkdtemp(prefix="hydra-evidence-"))
        self.evidence.chmod(0o1777)  # tasks run as their tenant's users, of which there are two
        (starts := self.evidence / "starts").touch()
        starts.chmod(0o666)
        self._starts: list[Start] = []  # as far as they were read
        self._gates: dict[str, int] = {}  # those that are open
        self.acknowledged: set[int] = set()  # jobs whose submit was answered
        self.ended: dict[tuple[Any, ...], Any] = {}  # what had ended when the invariants were last checked
        self.relays: list[Relay] = []
        self.stack.environ |= {"HYDRA_CHECK_INVARIANTS": "1", "HYDRA_RATE_LOGIN": "1000/min"}
        self.stack.environ["HYDRA_WEBHOOK_HOSTS"] = "127.0.0.1"  # where tests listen
        self.mail_port = own_port()
        self.stack.environ["HYDRA_MAIL_URL"] = f"smtp://127.0.0.1:{self.mail_port}"
        self.stack.home.join_token("east")  # known before the start, so that it is good for further nodes
        if relayed:
            self._relay()
        self.stack.environ |= environ or {}
        self._others: list[subprocess.Popen[str]] = []
        self._kept: psycopg.Connection | None = None

    def _relay(self) -> None:
        """Ports are chosen before the first start, so that the settings can name the relays'."""
        home: Home = self.stack.home
        self.relays = [Relay(home.ports(create=True)["valkey"]), Relay(self.stack.port)]
        self.stack.environ["HYDRA_NODE_REDIS_URL"] = f"redis://127.0.0.1:{self.relays[0].port}/0"
        self.stack.environ["HYDRA_PUBLIC_URL"] = f"http://127.0.0.1:{self.relays[1].port}"

    def __enter__(self) -> "Cluster":
        try:
            self.stack.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._others:
            self.end(process)
        if self._kept is not None:
            self._kept.close()
        try:
            self.stack.stop()
        finally:
            for relay in self.relays:
                relay.close()
            self._leave_no_evidence()

    # --- processes beside the stack's own

    def run(self, *words: str, environ: dict[str, str] | None = None) -> "subprocess.Popen[str]":
        """A further manage.py process with the stack's settings; ended with the cluster."""
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), *words],
            env=self.stack.environ | (environ or {}),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._others.append(process)
        return process

    def fork(self, *words: str, environ: dict[str, str] | None = None) -> BaseProcess:
        """As ``run``, from what has loaded the libraries; whoever asks for it ends it.

        Its output goes nowhere: what it starts beside itself would keep a pipe open.
        """
        settings = self.stack.environ | (environ or {})
        return forked.start([str(ROOT / "manage.py"), *words], settings, ROOT, [Path(os.devnull)] * 3)

    def end(self, process: "subprocess.Popen[str]") -> str:
        """Ask a further process to end; what it has printed."""
        process.terminate()
        try:
            return process.communicate(timeout=stretched(20))[0]
        except subprocess.TimeoutExpired:
            process.kill()
            return process.communicate()[0]
        except ValueError:  # asked before
            return ""

    @contextlib.contextmanager
    def node(self, name: str, prefix: tuple[str, ...] = (), **config: Any) -> Iterator[str]:
        """A further node manager with a configuration of its own, gone for good afterwards; its name."""
        url = self.stack.environ.get("HYDRA_PUBLIC_URL", self.stack.url)
        try:
            with running_node(url, self.stack.home.join_token("east"), name, prefix, **config):
                wait_until(lambda: self._is_up(name), 20, f"{name} is up")
                yield name
        finally:
            self.decommission(name)

    def _is_up(self, name: str) -> bool:
        return bool(self.sql("SELECT 1 FROM statestore_node WHERE name = %s AND state = 1", name))

    def decommission(self, name: str) -> None:
        """Take a node out for good; nothing when it never joined."""
        if not self.sql("SELECT 1 FROM statestore_node WHERE name = %s", name):
            return
        code = DECOMMISSION + f"; nodes.decommission(SYSTEM, Node.objects.get(name={name!r}))"
        self.stack.manage("shell", "-c", code)
        wait_until(lambda: self.node_state(name) == NodeState.DECOMMISSIONED, 10, f"{name} is decommissioned")

    # --- the API

    @cached_property
    def tenant(self) -> Client:
        return self.stack.client("tenant")

    @cached_property
    def operator(self) -> Client:
        return self.stack.client("operator")

    def hydractl(self, account: str, *words: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """As ``tenant`` or ``operator``, from a shell in the folder of evidence. What fails fails the test."""
        env = {"HYDRA_URL": self.stack.url, "HYDRA_TOKEN": self.stack.token(account), "HOME": str(self.evidence)}
        done = hydractl.run(words, env | {"PATH": os.environ["PATH"]}, stdin, self.evidence)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def spec(self, job_name: str, script: str, /, **group: Any) -> dict[str, Any]:
        """A job of one group whose tasks say that they started and then run ``script``."""
        env = {"EVIDENCE": str(self.evidence)}
        base = {"name": "main", "shell": True, "command": SAY + script, "resources": SMALL, "env": env, "grace_s": 1}
        return {"name": job_name or "job", "groups": [base | group]}

    def submit(self, spec: dict[str, Any], **options: Any) -> Job:
        job = self.tenant.submit(spec, **options)
        self.acknowledged.add(job.id)
        return job

    def task_job(self, job_name: str, script: str, /, **group: Any) -> Job:
        return self.submit(self.spec(job_name, script, **group))

    def wait(self, job: Job | int, timeout_s: float = 60) -> Job:
        number = job if isinstance(job, int) else job.id
        return self.tenant.wait(number, timeout_s=timeout_s * EASY * FACTOR)

    def settled(self, job: Job, timeout_s: float = 60, state: str = "SUCCEEDED") -> Job:
        ended = self.wait(job, timeout_s)
        assert ended.state == state, f"{ended.state}: {ended.message}"
        return ended

    # --- what tasks say

    def starts(self, *wanted: Job) -> list[Start]:
        """Every process tasks have started, or those of some jobs; in order."""
        path = self.evidence / "starts"
        lines = path.read_text().splitlines() if path.exists() else []
        for line in lines[len(self._starts) :]:  # kept, since a process is known by when it was first seen
            container, index, attempt, number, node = line.split()
            self._starts.append(Start(container, int(index), int(attempt), Pid(int(number)), node))
        found = list(self._starts)
        if not wanted:
            return found
        containers = {c.id for job in wanted for c in self.tenant.containers(job.id)}
        return [start for start in found if start.container in containers]

    def started(self, job: Job, count: int, timeout_s: float = 30) -> list[Start]:
        return wait_until(
            lambda: s if len(s := self.starts(job)) >= count else [], timeout_s, f"{count} tasks of {job.name} started"
        )

    def gate(self, name: str) -> str:
        """A shell line that waits until ``open_gate`` is called with the same name; closed from now on.

        It ends with the cluster too: tasks whose node was killed for good have nobody who would stop them. Who waits
        costs nothing: a pipe is opened once somebody else has it open for writing.
        """
        if (opened := self._gates.pop(name, None)) is not None:
            os.close(opened)
        (self.evidence / name).unlink(missing_ok=True)
        if not (pipe := self.evidence / f"{name}.gate").exists():
            os.mkfifo(pipe)
            pipe.chmod(0o666)
        return f'[ -e "$EVIDENCE/{name}" ] || : < "$EVIDENCE/{name}.gate"; [ -d "$EVIDENCE" ] || exit 9; '

    def open_gate(self, name: str) -> None:
        (self.evidence / name).touch()
        if name not in self._gates and (pipe := self.evidence / f"{name}.gate").exists():
            self._gates[name] = os.open(pipe, os.O_RDWR)  # kept: who comes now passes as well

    def _leave_no_evidence(self) -> None:
        """Who still waits at a gate finds the folder gone, and ends."""
        gone = self.evidence.rename(self.evidence.with_suffix(".gone"))
        for opened in (*self._gates.values(), *(os.open(pipe, os.O_RDWR) for pipe in gone.glob("*.gate"))):
            os.close(opened)
        shutil.rmtree(gone, ignore_errors=True)

    # --- rows and keys

    def sql(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows. A session is kept, since to begin one takes ten times as long; a Postgres may go and come back."""
        try:
            return self._session().execute(query, values).fetchall()
        except psycopg.OperationalError:
            return self._session().execute(query, values).fetchall()

    def _session(self) -> psycopg.Connection:
        if self._kept is None or self._kept.closed:
            self._kept = self.connect()
        return self._kept

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.stack.database_url(), autocommit=True)

    @cached_property
    def redis(self) -> "redis.Redis[bytes]":
        """As the control plane's own user, past the relays."""
        return redis.Redis.from_url(self.stack.redis_url(), socket_timeout=10)

    @cached_property
    def broker(self) -> "redis.Redis[bytes]":
        return redis.Redis.from_url(self.stack.broker_url(), socket_timeout=10)

    def summary(self) -> Summary | None:
        """The RM's last word to the screens."""
        raw = self.redis.get(keys.summary(SUB_CLUSTER))
        return decode(raw) if raw else None

    def status(self, name: str) -> "bytes | None":
        """The node's last report."""
        return self.redis.get(keys.status(SUB_CLUSTER, self.node_id(name)))

    def leader(self) -> tuple[int, str]:
        """(epoch, holder) of a live lease; (0, "") when nobody leads."""
        rows = self.sql("SELECT epoch, holder FROM statestore_lease WHERE expires_at > clock_timestamp()")
        return rows[0] if rows else (0, "")

    def led(self, above: int = 0, timeout_s: float = 15) -> tuple[int, str]:
        """Wait for a leader with an epoch above ``above``."""
        return wait_until(
            lambda: found if (found := self.leader())[0] > above else None, timeout_s, f"a leader above epoch {above}"
        )

    def node_id(self, name: str) -> int:
        return int(self.sql("SELECT id FROM statestore_node WHERE name = %s", name)[0][0])

    def node_state(self, name: str) -> int:
        return int(self.sql("SELECT state FROM statestore_node WHERE name = %s", name)[0][0])

    def live(self, job: Job) -> list[tuple[Any, ...]]:
        """(id, node name, task, attempt, state) of the job's live containers."""
        return self.sql(
            "SELECT c.id, n.name, c.task_index, c.attempt, c.state FROM statestore_container c"
            " JOIN statestore_node n ON n.id = c.node_id WHERE c.job_id = %s ORDER BY c.task_index",
            job.id,
        )

    def worker_logs(self) -> str:
        return "".join(p.read_text(errors="replace") for p in sorted(self.stack.home.logs.glob("worker-*.log")))

    def lease_master(self) -> bytes:
        """The master from which lease keys are derived, as the control plane does."""
        import hashlib
        import hmac

        secret = self.stack.home.secrets()["secret_key"].encode()
        return hmac.digest(secret, b"container leases", hashlib.sha256)

    # --- faults

    @staticmethod
    def signal(pid: int, sig: int = signal.SIGKILL) -> None:
        """Signal one process of a task, as somebody outside might."""
        os.kill(pid, sig)

    @contextlib.contextmanager
    def cut_off(self, name: str) -> Iterator[int]:
        """Nothing passes between this node and the control plane; its number."""
        node = self.node_id(name)
        for relay in self.relays:
            relay.cut.add(node)
        try:
            yield node
        finally:
            for relay in self.relays:
                relay.cut.discard(node)

    @contextlib.contextmanager
    def frozen(self, name: str) -> Iterator[int]:
        """A process of the stack, stopped by signal; its process id."""
        pid = self.stack.kill(name, signal.SIGSTOP)
        try:
            yield pid
        finally:
            os.kill(pid, signal.SIGCONT)

    def calm(self) -> None:
        """Everything runs, somebody leads, every real node is up and obeys the current leader."""
        for process in self.stack.state()["processes"]:
            if process["state"] != "done":
                wait_until(lambda name=process["name"]: self.stack.ready(name), 40, f"{process['name']} runs")
        self.led()
        try:
            wait_until(lambda: {state for _, state in self._nodes()} == {NodeState.UP}, 40, "every node is up")
        except RanOut as error:
            raise RanOut(f"{error}; nodes and their states: {self._nodes()}") from error

    def _nodes(self) -> list[tuple[Any, ...]]:
        return self.sql("SELECT name, state FROM statestore_node WHERE name LIKE 'east-%%' OR name LIKE 'hollow-%%'")


@contextlib.contextmanager
def browser(cluster: Cluster, name: str, password: str) -> Iterator[httpx.Client]:
    """Signed in with a session cookie, as browsers are."""
    with httpx.Client(base_url=cluster.stack.url, follow_redirects=True, timeout=20, trust_env=False) as client:
        token = client.get("/api/v1/auth/csrf").json()["csrf_token"]
        body = {"username": name, "password": password}
        assert client.post("/api/v1/auth/session", json=body, headers={"X-CSRFToken": token}).status_code == 200
        yield client
