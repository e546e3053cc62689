"""Traces that are handed in: each is read by a process of its own that gives way to all that serves.

The process knows no secret and has bounds of its own (``simulator.workloads.handedin``); this side bounds how long it
waits, and how many are read at a time: one.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from rest_framework.request import Request

from contract.problems import FieldError
from controlplane.statestore.actions.simulationtraces import HandedIn
from controlplane.statestore.errors import Invalid, TooMany

log = structlog.get_logger(__name__)
NICE = "10"
WAIT_S = 100.0  # for its 60 s of processor; a request is answered within two minutes
BODY_MAX = 16 << 20
STORED_MAX = 16 << 20
OPTIONS_MAX, NAME_MAX = 4000, 200
PREFIX = "hydra-trace-"
NEW_S = 60.0  # a folder that is younger may be about to be locked
_PIECE = 1 << 20
_turn = threading.BoundedSemaphore(1)
Json = dict[str, Any]


def jobs(request: Request, kind: str, name: str, options: str) -> HandedIn:
    """The body as a trace of this kind. ``Invalid`` says where it is wrong, ``TooMany`` that another is being read."""
    with _folder() as (folder, lock):
        told = _read(folder, lock, request, "jobs", kind, options)
        machines = _machines(folder) if told["machines"] else None
        history = (folder / "history.gz").read_bytes()
    if len(history) > STORED_MAX:
        raise wrong("trace", f"is {len(history) >> 20} MiB as a history, and {STORED_MAX >> 20} are kept", "cut it")
    columns = {column: told[column] for column in ("jobs", "containers", "users", "span_s", "queues", "skipped")}
    return HandedIn(name, kind, history, machines, columns)


def nodes(request: Request, kind: str, options: str) -> list[Json]:
    """The body as the nodes of such a trace. Raises as ``jobs`` does."""
    with _folder() as (folder, lock):
        _read(folder, lock, request, "nodes", kind, options)
        return _machines(folder)


def checked_options(text: str | None) -> str:
    """Options of a reader, a JSON object; ``Invalid`` where they are none."""
    try:
        found = json.loads(text or "{}") if len(text or "") <= OPTIONS_MAX else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise wrong("options", f"is no JSON object of at most {OPTIONS_MAX} characters", 'write {"queue": "root.a"}')
    return json.dumps(found)


def checked_name(text: str | None) -> str:
    """What a trace is called; ``Invalid`` where it cannot be shown."""
    found = text or "trace"
    if len(found) > NAME_MAX or not found.isprintable():
        raise wrong("name", "is no name", f"use at most {NAME_MAX} characters that can be shown")
    return found


def wrong(field: str, message: str, remedy: str) -> Invalid:
    return Invalid("the trace cannot be taken", [FieldError(field, message, remedy)])


@contextmanager
def _folder() -> Iterator[tuple[Path, int]]:
    """One, and its lock, which is held until this process and the one that reads in it are done with it."""
    if not _turn.acquire(blocking=False):
        raise TooMany("a trace is being read already; try again when it is done", retry_after_s=5)
    try:
        with tempfile.TemporaryDirectory(prefix=PREFIX) as name, _locked(name) as lock:
            yield Path(name), lock
    finally:
        _turn.release()


@contextmanager
def _locked(name: str) -> Iterator[int]:
    """The lock on a folder, shared by who inherits the descriptor. ``OSError`` where others have it."""
    lock = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    finally:
        os.close(lock)


def remove_left() -> int:
    """Remove folders of processes that were killed while they had one; how many. Another's in use stays."""
    removed = 0
    for found in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            known = found.lstat()
            if known.st_uid != os.geteuid() or time.time() - known.st_mtime < NEW_S:
                continue
            with _locked(str(found)):
                shutil.rmtree(found)
                removed += 1
        except OSError:
            continue  # it is in use, or gone
    return removed


def _read(folder: Path, lock: int, request: Request, what: str, kind: str, options: str) -> Json:
    with (folder / "trace").open("wb") as file:
        while piece := request._request.read(_PIECE):
            file.write(piece)
    command = ["nice", "-n", NICE, sys.executable, "-P", "-m", "simulator.workloads.handedin", what, kind, options]
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(settings.BASE_DIR),
        "OPENBLAS_NUM_THREADS": "1",
    }
    try:
        ended = subprocess.run(
            command, cwd=folder, env=env, timeout=WAIT_S, capture_output=True, stdin=subprocess.DEVNULL, check=False,
            pass_fds=[lock],
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise wrong(
            "trace", f"is not read within {WAIT_S:.0f} s", "cut it, or try again when less is going on"
        ) from None
    if ended.returncode < 0:
        raise wrong("trace", "takes too long to read, or too much memory", "cut it, or make a history of it first")
    if ended.returncode:
        log.error("a trace could not be read", kind=kind, said=ended.stderr.decode(errors="replace")[-2000:])
        raise wrong("trace", f"cannot be read as {kind}", "check what kind of file it is")
    told: Json = json.loads((folder / "told.json").read_text())
    if "wrong" in told:
        raise wrong(told["field"], told["wrong"], told["remedy"])
    return told


def _machines(folder: Path) -> list[Json]:
    found: list[Json] = json.loads((folder / "machines.json").read_text())
    return found
