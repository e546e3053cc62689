"""A real web process over the test database, for what only a server shows."""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from urllib.parse import urlsplit

import httpx
import psutil
from django.db import connection

from tests import forked
from tests.patience import stretched, wait_until
from tests.stack import own_port
from tests.stores import ROOT

RATES = {
    "HYDRA_RATE_USER": "100000/s",
    "HYDRA_RATE_ANONYMOUS": "100000/s",
    "HYDRA_RATE_LOGIN": "100000/s",
    "HYDRA_RATE_PROXY": "100000/s",
}


@contextmanager
def web(**environ: str) -> Iterator[str]:
    """Its address; the process is gone afterwards."""
    port = own_port()
    arguments = ["--port", str(port), "--loop", "uvloop", "--http", "httptools", "--lifespan", "off"]
    words = ["-m", "uvicorn", "controlplane.asgi:application", "--log-level", "warning", *arguments]
    with _started(words, port, environ) as (url, _):
        yield url


@contextmanager
def whole_web(**environ: str) -> Iterator[tuple[str, psutil.Process]]:
    """As ``manage.py web`` starts it, with what answers beside it: its address and it."""
    with _started(["-m", "django", "web"], own_port(), environ) as found:
        yield found


@contextmanager
def _started(words: list[str], port: int, environ: dict[str, str]) -> Iterator[tuple[str, psutil.Process]]:
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + connection.settings_dict["NAME"]).geturl()
    known = os.environ | RATES | {"DATABASE_URL": database}
    known.pop("PYTEST_CURRENT_TEST", None)  # else each test would load the libraries once more
    late = {"HYDRA_HTTP_PORT": str(port)}
    if environ:  # settings are read where they are loaded
        process = forked.start(words, known | late | environ, ROOT)
    else:
        process = _loaded(tuple(sorted(known.items()))).start(words, ROOT, **late)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(url, process)
        yield url, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.join(stretched(10))
        if process.exitcode is None:
            process.kill()
            process.join()


@functools.cache
def _loaded(environ: tuple[tuple[str, str], ...]) -> forked.Loaded:
    return forked.Loaded(("controlplane.asgi", "controlplane.router.urls"), dict(environ))


def _wait(url: str, process: BaseProcess) -> None:
    def answers() -> bool:
        assert process.exitcode is None, "the web process ended"
        try:
            return httpx.get(f"{url}/healthz", timeout=2).status_code == 200
        except httpx.HTTPError:
            return False

    wait_until(answers, 30, "the web process answers", 0.1)
