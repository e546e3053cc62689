"""Compiling the scheduling kernels beside the work, once it pays: rounds run interpreted until they are there."""

import fcntl
import hashlib
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import structlog
from django.conf import settings

import scheduler
from controlplane import heap

log = structlog.get_logger(__name__)
_begun = threading.Lock()
_done = threading.Event()
_switching = threading.Lock()
COMPILE_MAX_S = 900.0
MANY_JOBS = 5000  # with which an interpreted plan takes about as long as to load what is compiled
HOW = ("NUMBA_OPT", "NUMBA_LOOP_VECTORIZE", "NUMBA_SLP_VECTORIZE")  # settings that say how well
_COMPLETE = "complete"  # in a cache's folder, once everything is in it


class _Spent:
    """What interpreted plans have cost this process."""

    seconds = 0.0


_spent = _Spent()


def compile_in_background() -> None:
    """Begin, once per process."""
    if _begun.acquire(blocking=False):
        threading.Thread(target=_compile, name="kernels", daemon=True).start()


def interpreted(seconds: float) -> None:
    """An interpreted plan has cost so many seconds of the processor. Begins to compile once they have cost enough."""
    _spent.seconds += seconds  # leaders that share a process may lose a little of each other's
    if _spent.seconds >= settings.HYDRA["compile_after_s"]:
        compile_in_background()


def compile_now() -> None:
    """Compile, or load what is compiled, and switch. Raises ``OSError`` or ``subprocess.SubprocessError``."""
    folder = cache_folder()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    fill(folder)
    from scheduler.core.compiled import compile_all
    from scheduler.warm import warm

    with _switching:
        compile_all(warm)
        _done.set()


def load() -> None:
    """Switch if everything is compiled already, which takes two seconds; processes forked later need not."""
    if not compiled() and (cache_folder() / _COMPLETE).exists():
        compile_now()


def load_for(jobs: int) -> None:
    """As ``load``, where a plan over so many jobs would cost more; where it fails, rounds go on interpreted."""
    if jobs < MANY_JOBS or compiled():
        return
    try:
        load()
    except (OSError, subprocess.SubprocessError, ImportError) as error:
        log.warning("compiled kernels could not be loaded", error=str(error))


def compiled() -> bool:
    """Whether this process runs the compiled forms."""
    return _done.is_set()


def cache_folder() -> Path:
    """For kernels of these sources, compiled in this way: in the environment's folder, else in the state folder."""
    source = Path(scheduler.__file__).parent
    digest = hashlib.sha256(str(source.resolve()).encode())
    digest.update(repr([os.environ.get(name) for name in HOW]).encode())
    for path in sorted(source.rglob("*.py")):
        digest.update(path.read_bytes())
    for base in (Path(sys.prefix) / "var", Path(settings.MEDIA_ROOT).parent):
        folder = base / "kernels" / digest.hexdigest()[:16]
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise OSError("neither the environment's folder nor the state folder can be written to")


def fill(folder: Path, nice: int = 5) -> None:
    """Compile into the cache, unless somebody has done so; one process at a time, ``nice`` to the others.

    Raises ``OSError`` or ``subprocess.SubprocessError``.
    """
    done = folder / _COMPLETE
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists():
            return
        # In a process of its own: a compiler in this one would take turns with the rounds. It holds the lock as well,
        # so that the next one waits for it, and finds most of it done, if this process is killed meanwhile.
        root = Path(scheduler.__file__).parents[1]
        command = ["nice", "-n", str(nice), sys.executable, "-m", "scheduler.warm"]
        environ = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
        subprocess.run(command, cwd=root, env=environ, check=True, timeout=COMPILE_MAX_S, pass_fds=[lock.fileno()])
        done.touch()


def _compile() -> None:
    began = time.monotonic()
    try:
        compile_now()
    except (OSError, subprocess.SubprocessError, ImportError) as error:
        log.error("kernels could not be compiled; rounds go on interpreted", error=str(error))
        return
    heap.settle()
    log.info("kernels compiled", seconds=round(time.monotonic() - began, 1))
