"""``HYDRA_HOME``: its folders, secrets and ports, and the environment made from them. Standard library only."""

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

DEFAULT_HTTP_PORT = 8470
ROOT_PATH_MAX = 60  # the kernel allows 107 bytes for a socket's path; below this folder they get up to 40 longer
STARTS_STACK = {"up", "demo"}  # commands that may create the folder


class HomeError(Exception):
    """The state folder or its environment cannot be used; the text says why and what to do."""


@dataclass(frozen=True)
class Home:
    root: Path

    @classmethod
    def from_environment(cls) -> "Home":
        default = Path(__file__).resolve().parents[2] / ".hydra"
        return cls(Path(os.environ.get("HYDRA_HOME") or default).absolute())

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def held(self) -> Path:
        """A file here named like a process keeps that process stopped."""
        return self.run / "held"

    @property
    def nodes(self) -> Path:
        return self.root / "nodes"

    @property
    def lock(self) -> Path:
        return self.run / "supervisor.lock"

    @property
    def state(self) -> Path:
        return self.run / "state.json"

    @property
    def shape(self) -> Path:
        """What the next ``up`` starts where nothing else is asked for."""
        return self.root / "shape.json"

    @property
    def sockets(self) -> Path:
        """Folder of Unix sockets: ``run``, or a short one where the path would be too long for a socket."""
        if len(os.fsencode(self.root)) < ROOT_PATH_MAX:
            return self.run
        base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
        mark = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]
        return Path(base) / f"hydra-{os.getuid()}-{mark}"

    @property
    def short_nodes(self) -> Path:
        """``nodes``, or a link to it where node managers could not make their sockets below it."""
        return self.nodes if self.sockets == self.run else self.sockets / "nodes"

    def link_nodes(self) -> None:
        if self.short_nodes != self.nodes and not self.short_nodes.is_symlink():
            self.short_nodes.symlink_to(self.nodes)

    def remove_short(self) -> None:
        """What was made outside this folder for its path's length, once nobody listens there any more."""
        if self.sockets != self.run:
            shutil.rmtree(self.sockets, ignore_errors=True)

    def create(self) -> None:
        """Make the folders. Raises ``HomeError`` when that is impossible."""
        folders = [self.root, self.logs, self.run, self.held, self.nodes, self.root / "artifacts", self.sockets]
        for folder in folders:
            try:
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise HomeError(f"cannot make {folder}: {error.strerror}. Set HYDRA_HOME to a folder you own") from None
        if self.sockets.stat().st_uid != os.geteuid():
            raise HomeError(f"{self.sockets} belongs to somebody else. Remove it or set XDG_RUNTIME_DIR")
        self.sockets.chmod(0o700)

    def secrets(self, create: bool = False) -> dict[str, str]:
        """What was generated for this folder; ``{}`` when nothing was and ``create`` is off."""
        path = self.root / "secrets.json"
        known = read_json(path)
        if not create:
            return known
        if not known and (self.root / "pg" / "PG_VERSION").exists():
            raise HomeError(
                f"{path} is missing, but it holds the password of the database in {self.root / 'pg'}. "
                f"Put it back, or remove {self.root} to start afresh (that deletes all jobs)"
            )
        missing = [name for name in SECRETS if name not in known]
        if missing:
            known |= {name: secrets.token_urlsafe(24) for name in missing}
            write_json(path, known, 0o600)
        return known

    def join_token(self, sub_cluster: str) -> str:
        """The token with which this host's nodes join; made on first use."""
        known = self.secrets(create=True)
        name = f"join_token_{sub_cluster}"
        if name not in known:
            known[name] = secrets.token_urlsafe(24)
            write_json(self.root / "secrets.json", known, 0o600)
        return known[name]

    def ports(self, create: bool = False) -> dict[str, int]:
        """TCP ports of the two embedded Valkeys, chosen once and kept; never the web process's."""
        path = self.root / "ports.json"
        known = read_json(path)
        missing = [name for name in ("valkey", "broker") if name not in known]
        if create and missing:
            free = [port for port in free_ports(len(missing) + 1) if port != http_port()]
            known |= dict(zip(missing, free, strict=False))
            write_json(path, known, 0o600)
        return known

    def choose_ports_again(self) -> None:
        (self.root / "ports.json").unlink(missing_ok=True)

    def prepare(self, command: str) -> None:
        """Fill ``os.environ`` with whatever the caller did not set itself."""
        if command in STARTS_STACK and not {"-h", "--help"} & set(sys.argv):
            self.create()
            with creating(self):
                self.secrets(create=True)
                self.ports(create=True)
                if not self.running() and not all(port_is_free("127.0.0.1", p) for p in self.ports().values()):
                    self.choose_ports_again()
                    self.ports(create=True)
        if command == "demo" and not os.environ.get("HYDRA_HTTP_PORT"):
            os.environ["HYDRA_HTTP_PORT"] = str(self.demo_port())
        known = self.secrets()
        if not known:
            return
        own_redis = "REDIS_URL" not in os.environ or self.uses_own_redis(os.environ)
        for name, value in self.environment(known, self.ports()).items():
            if own_redis or name not in REDIS_SETTINGS:
                os.environ.setdefault(name, value)

    def uses_own_postgres(self, environ: Mapping[str, str]) -> bool:
        """Whether the settings name the database this folder holds."""
        return environ.get("DATABASE_URL") == self.environment(self.secrets(), self.ports())["DATABASE_URL"]

    def uses_own_redis(self, environ: Mapping[str, str]) -> bool:
        return environ.get("REDIS_URL") == self.environment(self.secrets(), self.ports()).get("REDIS_URL")

    def demo_port(self) -> int:
        """The running stack's port, else the usual one, else the next that is free."""
        running = read_json(self.state).get("http_port") if self.running() else None
        if running:
            return int(running)
        candidates = range(DEFAULT_HTTP_PORT, DEFAULT_HTTP_PORT + 100)
        return next((port for port in candidates if port_is_free(http_host(), port)), DEFAULT_HTTP_PORT)

    def running(self) -> int:
        """Process id of the supervisor that holds this folder, 0 when none does (whatever the file says)."""
        try:
            with open(self.lock) as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    return int(lock.read().strip() or 0)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            pass
        return 0

    def environment(self, known: dict[str, str], ports: dict[str, int]) -> dict[str, str]:
        """Every setting that follows from this folder."""
        scheme = "https" if os.environ.get("HYDRA_TLS_CERT") else "http"
        values = {
            "HYDRA_HOME": str(self.root),
            "HYDRA_SECRET_KEY": known["secret_key"],
            "HYDRA_ARTIFACTS_DIR": str(self.root / "artifacts"),
            "HYDRA_PUBLIC_URL": f"{scheme}://127.0.0.1:{http_port()}",
            "DATABASE_URL": f"postgres://hydra:{known['postgres']}@/hydra?host={quote(str(self.sockets))}",
        }
        if ports:
            values["REDIS_URL"] = f"redis://hydra:{known['valkey']}@127.0.0.1:{ports['valkey']}/0"
            values["HYDRA_NODE_REDIS_URL"] = f"redis://127.0.0.1:{ports['valkey']}/0"
            values["HYDRA_BROKER_URL"] = f"redis://hydra:{known['broker']}@127.0.0.1:{ports['broker']}/0"
        return values


REDIS_SETTINGS = {"REDIS_URL", "HYDRA_NODE_REDIS_URL", "HYDRA_BROKER_URL"}
SECRETS = ("secret_key", "postgres", "valkey", "broker", "operator_password", "tenant_password")


def http_port() -> int:
    text = os.environ.get("HYDRA_HTTP_PORT") or str(DEFAULT_HTTP_PORT)
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise HomeError(f"HYDRA_HTTP_PORT is {text!r}; use a port number from 1 to 65535")
    return int(text)


def http_host() -> str:
    return os.environ.get("HYDRA_HTTP_HOST") or "127.0.0.1"


def port_is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [s.getsockname()[1] for s in held]
    finally:
        for s in held:
            s.close()


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file, ``{}`` when there is none. A damaged file is a ``HomeError``."""
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise HomeError(f"{path} cannot be read ({error}). Put it back, or remove the folder to start afresh") from None
    if not isinstance(value, dict):
        raise HomeError(f"{path} does not hold a JSON object. Put it back, or remove the folder to start afresh")
    return value


def write_json(path: Path, value: dict[str, Any], mode: int = 0o644) -> None:
    """Replace a file in one step, so that a reader or a crash never meets half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as out:
            json.dump(value, out, indent=1)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise HomeError(f"cannot write {path}: {error.strerror}") from None


@contextmanager
def creating(home: Home) -> Iterator[None]:
    """Two commands that meet an empty folder agree on one set of secrets."""
    with open(home.run / "create.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
