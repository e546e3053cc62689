"""The embedded Postgres and the two Valkeys: their folders, command lines and signs of life. Standard library only."""

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from . import binaries, spawn
from .home import Home, HomeError

POSTGRES_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "shared_buffers": "64MB",
    "max_connections": "100",
    "synchronous_commit": "on",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "1GB",
    "io_method": "sync",
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
    "max_logical_replication_workers": "0",
    "autovacuum_max_workers": "2",
    "huge_pages": "off",
    "log_min_messages": "warning",
    "log_line_prefix": "%m [%p] ",
    "log_timezone": "UTC",
    "timezone": "UTC",
}
VALKEY_MAX_MEMORY_MIB = 512
PREPARED_S = 10 * 86_400  # how long nothing new needs no new look
# The binary allocates with glibc, which spent two fifths of Valkey's time giving the buffers of large commands back
# and cutting them out again. With these a round's commands take a quarter less; other C libraries ignore them.
VALKEY_ALLOCATION = ":".join(
    ("glibc.malloc.tcache_count=4000", "glibc.malloc.mmap_threshold=33554432", "glibc.malloc.trim_threshold=67108864")
)


def initialise_postgres(home: Home, password: str) -> None:
    """Make ``pg/`` once. A half-made one lies under another name and is removed first."""
    folder, fresh = home.root / "pg", home.root / "pg.new"
    shutil.rmtree(fresh, ignore_errors=True)
    if (folder / "PG_VERSION").exists():
        return
    if folder.exists() and any(folder.iterdir()):
        raise HomeError(
            f"{folder} is not a database (PG_VERSION is missing). Put it back, or remove it to start afresh"
        )
    password_file = home.run / "initdb.password"
    with open(os.open(password_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(password)
    initdb = str(binaries.postgres("initdb"))
    command = [initdb, "-D", str(fresh), "-U", "hydra", "--auth=scram-sha-256", f"--pwfile={password_file}"]
    command += ["--encoding=UTF8", "--locale=C", "--data-checksums"]
    try:
        run_initdb(command, fresh)
        fresh.rename(folder)
    finally:
        password_file.unlink(missing_ok=True)


def run_initdb(command: list[str], fresh: Path) -> None:
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=spawn.before_exec(9, as_nobody=os.geteuid() == 0),
        )
    except subprocess.SubprocessError:
        raise HomeError(
            "Postgres does not run as root, and user namespaces are not allowed here. "
            "Run as an ordinary user, or set DATABASE_URL to a Postgres of your own"
        ) from None
    if done.returncode:
        shutil.rmtree(fresh, ignore_errors=True)
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        problem = next((line for line in lines if "No space left" in line or "error" in line.lower()), lines[-1:])
        raise HomeError(f"the database could not be made in {fresh.parent}: {problem}")


def preparation(sub_clusters: list[str]) -> str:
    """Hash of all that ``manage.py prepare`` would bring into the database."""
    package = Path(__file__).resolve().parents[1]
    files = [*package.glob("*/migrations/*.py"), *package.glob("*/schema.sql"), package / "embedded" / "bootstrap.py"]
    mark = hashlib.sha256(",".join(sub_clusters).encode())
    for file in sorted(files):
        mark.update(file.read_bytes())
    return mark.hexdigest()


def prepared_path(home: Home) -> Path:
    return home.root / "pg" / "hydra.prepared"  # goes with the database it speaks of


def is_prepared(home: Home, sub_clusters: list[str], environ: Mapping[str, str]) -> bool:
    """Whether our own database holds all of that already, and not for long; of another's we know nothing.

    What is older is prepared again, so that the join tokens of a host that is in use do not end.
    """
    path = prepared_path(home)
    try:
        if not home.uses_own_postgres(environ) or time.time() - path.stat().st_mtime > PREPARED_S:
            return False
        return path.read_text() == preparation(sub_clusters)
    except OSError:
        return False


def before_postgres(home: Home) -> None:
    """Remove the lock file of a Postgres that has gone, whose number another process may have by now.

    Only the holder of the supervisor's lock calls this. One that still runs keeps its file, and ours waits for it.
    """
    path = home.root / "pg" / "postmaster.pid"
    try:
        pid = path.read_text().splitlines()[0].strip()
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        command = b""
    except (OSError, IndexError):
        return
    if os.fsencode(home.root / "pg") not in command:
        path.unlink(missing_ok=True)


def postmaster(home: Home) -> int:
    """Process id of the Postgres that runs in this folder, 0 without one."""
    try:
        pid = int((home.root / "pg" / "postmaster.pid").read_text().split()[0])
        return pid if os.fsencode(home.root / "pg") in Path(f"/proc/{pid}/cmdline").read_bytes() else 0
    except (OSError, ValueError, IndexError):
        return 0


def postgres_command(home: Home) -> list[str]:
    settings = POSTGRES_SETTINGS | {"unix_socket_directories": str(home.sockets)}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return [str(binaries.postgres("postgres")), "-D", str(home.root / "pg"), *options]


def postgres_ready(home: Home, pid: int) -> bool:
    """``postmaster.pid`` says ``ready`` on its eighth line once connections are taken."""
    try:
        lines = (home.root / "pg" / "postmaster.pid").read_text().splitlines()
    except OSError:
        return False
    return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"


def valkey_folder(home: Home, name: str) -> Path:
    return home.root / name


def prepare_valkey(home: Home, name: str, password: str) -> None:
    """The folder and the ACL file: our two users first, node users of an earlier run kept."""
    folder = valkey_folder(home, name)
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "users.acl"
    ours = [
        "user default off resetpass resetkeys resetchannels -@all",
        f"user hydra on #{hashlib.sha256(password.encode()).hexdigest()} ~* &* +@all",
    ]
    kept = []
    with contextlib.suppress(OSError, UnicodeDecodeError):
        kept = [line for line in path.read_text().splitlines() if line.startswith("user node-") and " #" in line]
    temporary = path.with_suffix(".new")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write("\n".join(ours + kept) + "\n")
    temporary.replace(path)


def valkey_command(home: Home, name: str, port: int) -> list[str]:
    """No persistence: everything in there is a hint that its writers give again."""
    folder = valkey_folder(home, name)
    settings = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(folder),
        "aclfile": str(folder / "users.acl"),
        "save": "",
        "appendonly": "no",
        "maxmemory": f"{VALKEY_MAX_MEMORY_MIB}mb",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
        "hz": "5",
        "tcp-keepalive": "60",
    }
    return [str(binaries.valkey()), *(part for key, value in settings.items() for part in (f"--{key}", value))]


def valkey_ready(port: int, password: str) -> bool:
    request = b"".join(
        b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)
        for words in ([b"AUTH", b"hydra", password.encode()], [b"PING"])
    )
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.5) as connection:
            connection.sendall(request)
            answer = b""
            while answer.count(b"\r\n") < 2:
                piece = connection.recv(256)
                if not piece:
                    return False
                answer += piece
    except OSError:
        return False
    return answer == b"+OK\r\n+PONG\r\n"
