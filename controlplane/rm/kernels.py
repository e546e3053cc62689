"""Compiling the scheduling kernels beside the work: rounds run interpreted until they are there."""

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

log = structlog.get_logger("rm")
_started = threading.Lock()
ready = threading.Event()
COMPILE_MAX_S = 600.0


def compile_in_background() -> None:
    """Begin, once per process."""
    if _started.acquire(blocking=False):
        threading.Thread(target=_compile, name="kernels", daemon=True).start()


def cache_folder() -> Path:
    """Compiled kernels of exactly these sources: in the environment's folder, else in the state folder."""
    source = Path(scheduler.__file__).parent
    digest = hashlib.sha256()
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


def _compile() -> None:
    began = time.monotonic()
    try:
        folder = cache_folder()
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
        done = folder / "complete"
        if not done.exists():
            # In a process of its own: a compiler in this one would take turns with the rounds.
            subprocess.run(
                [sys.executable, "-m", "scheduler.warm"],
                cwd=Path(scheduler.__file__).parents[1],
                check=True,
                timeout=COMPILE_MAX_S,
                preexec_fn=lambda: os.nice(5),
            )
            done.touch()
        from scheduler.warm import warm

        from scheduler.core.compiled import compile_all

        compile_all(warm)
    except (OSError, subprocess.SubprocessError, ImportError) as error:
        log.error("kernels could not be compiled; rounds go on interpreted", error=str(error))
        return
    ready.set()
    log.info("kernels compiled", seconds=round(time.monotonic() - began, 1))
