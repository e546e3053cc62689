"""How many jobs per second one web process takes in, one by one and in bulk, over real HTTP and a durable store."""

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from controlplane.embedded import stack
from controlplane.embedded.home import Home

REPO = Path(__file__).resolve().parent.parent
BULK = 1000
CLIENTS = 4
READY_S = 30


def spec(i: int) -> dict[str, object]:
    """A small job with two groups, as a tenant's program would send many of."""
    return {
        "name": f"bench-{i}",
        "queue": "root.default",
        "tags": ["bench"],
        "groups": [
            {"name": "map", "count": 8, "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}},
            {"name": "reduce", "command": ["true"], "after": ["map"], "retries": 2},
        ],
    }


def main(argv: list[str]) -> dict[str, float]:
    """``argv``: ``--seconds N`` per part (10), ``--url`` and ``--token`` of a server that runs already."""
    parser = argparse.ArgumentParser(prog="bench submit-rate")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--url")
    parser.add_argument("--token")
    options = parser.parse_args(argv)
    if options.url:
        return measure(options.url, options.token, options.seconds)
    with tempfile.TemporaryDirectory(prefix="hydra-submit-rate-") as folder:
        return on_own_stores(Path(folder), options.seconds)


def on_own_stores(folder: Path, seconds: float) -> dict[str, float]:
    """Embedded stores and one web process in ``folder``, measured and stopped."""
    home = Home(folder / "home")
    home.create()
    environ = os.environ | home.environment(home.secrets(create=True), home.ports(create=True))
    environ |= {
        "HYDRA_HOME": str(home.root),
        "HYDRA_RATE_USER": "1000000/s",
        "HYDRA_MAX_LIVE_JOBS_PER_USER": "10000000",
    }
    stack.start(home, [], 0, detach=False, show=lambda _: None, stores=True)
    web = None
    try:
        subprocess.run([sys.executable, "-c", PREPARE], env=environ, cwd=REPO, check=True)
        web = subprocess.Popen([sys.executable, "manage.py", "web"], env=environ, cwd=REPO)
        url = f"http://127.0.0.1:{home.ports()['http']}"
        wait_ready(url)
        answer = Connection(url, "").post("/api/v1/auth/login", {"username": "bench", "password": PASSWORD})
        return measure(url, answer["token"], seconds)
    finally:
        if web:
            web.send_signal(signal.SIGTERM)
            web.wait(10)
        stack.stop(home, lambda _: None)


PASSWORD = "only-for-this-measurement"
PREPARE = f"""
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
import django
django.setup()
from django.core.management import call_command
from controlplane.accounts.models import Role
from controlplane.policy import documents
from controlplane.statestore.actions import accounts, subclusters
from controlplane.statestore.actions.audit import SYSTEM
call_command("migrate", verbosity=0)
documents.publish(SYSTEM, documents.DEFAULT, "for the measurement")
for name in ("west", "east"):
    subclusters.create(SYSTEM, name)
accounts.create(SYSTEM, "bench", {PASSWORD!r}, Role.TENANT)
"""


class Connection:
    """A kept-alive connection that posts JSON."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._http = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Token {token}"} if token else {})

    def post(self, path: str, body: object) -> dict[str, object]:
        self._http.request("POST", path, json.dumps(body), self._headers)
        response = self._http.getresponse()
        data = response.read()
        if response.status not in (200, 201):
            raise RuntimeError(f"{path}: {response.status} {data[:500]!r}")
        answer: dict[str, object] = json.loads(data)
        return answer


def wait_ready(url: str) -> None:
    """Until the web process answers; ``RuntimeError`` when it does not in time."""
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        try:
            Connection(url, "").post("/api/v1/auth/login", {})
        except RuntimeError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"web did not answer within {READY_S} s")


def measure(url: str, token: str, seconds: float) -> dict[str, float]:
    single, latencies = load(url, token, seconds, CLIENTS, "/api/v1/jobs", spec)
    alone, alone_latencies = load(url, token, seconds / 2, 1, "/api/v1/jobs", spec)
    bulk, _ = load(url, token, seconds, 2, "/api/v1/jobs/bulk", lambda i: {"jobs": [spec(k) for k in range(BULK)]})
    latencies.sort()
    return {
        "bulk_jobs_per_s": round(bulk * BULK),
        "single_jobs_per_s": round(single),
        "single_p99_ms": round(latencies[int(len(latencies) * 0.99)] * 1000, 1),
        "one_client_jobs_per_s": round(alone),
        "one_client_p50_ms": round(median(alone_latencies) * 1000, 2),
    }


def load(
    url: str, token: str, seconds: float, clients: int, path: str, body: Callable[[int], object]
) -> tuple[float, list[float]]:
    """Requests per second that ``clients`` get answered, each sending its next when the last was answered."""
    latencies: list[float] = []
    errors: list[Exception] = []
    until = time.monotonic() + seconds

    def run() -> None:
        connection = Connection(url, token)
        i = 0
        while time.monotonic() < until:
            sent = body(i)
            began = time.monotonic()
            try:
                connection.post(path, sent)
            except Exception as error:
                errors.append(error)
                return
            latencies.append(time.monotonic() - began)
            i += 1

    threads = [threading.Thread(target=run) for _ in range(clients)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return len(latencies) / (time.monotonic() - began), latencies
