"""Python processes with an environment and streams of their own, forked from one that has loaded the libraries.

To load them takes a processor two seconds each time. What reads settings or the environment where it is imported is
loaded by each process for itself.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest import mock

from tests.machine import FACTOR

_LIBRARIES = (
    "celery", "channels_redis.pubsub", "cryptography.x509", "django.core.handlers.asgi",
    "django.core.management", "django.db.backends.postgresql.base", "django.db.models.sql.compiler", "django.test",
    "django.views.debug", "httptools", "httpx", "jsonschema", "numpy", "prometheus_client", "pydantic",
    "redis.asyncio", "requests", "structlog", "tests.forked", "tests.readyshell", "typer.rich_utils", "uvicorn.config",
    "uvicorn.main", "uvloop", "yaml",
)  # fmt: skip
_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(list(_LIBRARIES))


def start(
    words: Sequence[str], env: Mapping[str, str], cwd: Path, streams: Sequence[Path] = (), leads: bool = False
) -> BaseProcess:
    """As ``python words`` begins in exactly this environment: ``-m module`` or a file, and arguments.

    streams: files for the standard input, output and error, in this order; those of this run where there are none.
    leads: a session of its own, whose controlling terminal is the standard input where that is one.
    """
    process = _forks.Process(target=_become, args=(list(words), dict(env), cwd, list(streams), leads))
    process.start()
    return process


class Loaded:
    """As ``start``, from a process that has loaded these modules as well, in this environment."""

    def __init__(self, modules: Sequence[str], env: Mapping[str, str]) -> None:
        self.env = dict(env)
        self._server = forkserver.ForkServer()
        self._server.set_forkserver_preload([*_LIBRARIES, *modules])

    def start(self, words: Sequence[str], cwd: Path, **late: str) -> BaseProcess:
        """late: what no module reads where it is imported."""
        with (
            mock.patch.dict(os.environ, self.env, clear=True),
            mock.patch.object(forkserver, "connect_to_new_process", self._server.connect_to_new_process),
        ):
            return start(words, self.env | late, cwd)


def run(
    words: Sequence[str], env: Mapping[str, str], cwd: Path, stdin: str = "", timeout_s: float = 120
) -> "subprocess.CompletedProcess[str]":
    """As ``subprocess.run`` with both outputs captured. Raises ``TimeoutExpired``.

    timeout_s: on a quick machine.
    """
    timeout_s *= FACTOR
    with tempfile.TemporaryDirectory(prefix="forked-") as folder:
        streams = [Path(folder) / name for name in ("in", "out", "err")]
        streams[0].write_text(stdin)
        process = start(words, env, cwd, streams)
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(list(words), timeout_s)
        out, err = (path.read_text() for path in streams[1:])
        return subprocess.CompletedProcess(list(words), process.exitcode, out, err)


def _become(words: list[str], env: dict[str, str], cwd: Path, streams: list[Path], leads: bool) -> None:
    if leads:
        os.setsid()
    for number, (path, flags) in enumerate(zip(streams, (os.O_RDONLY, *[os.O_WRONLY | os.O_CREAT] * 2), strict=False)):
        os.dup2(os.open(path, flags, 0o600), number)
    if streams:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - for as long as the process lives
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
