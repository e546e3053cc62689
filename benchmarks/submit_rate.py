"""How many jobs per second one web process takes in, one by one and in bulk, over real HTTP and a durable store."""

import argparse
import http.client
import json
import threading
import time
from collections.abc import Callable
from statistics import median
from urllib.parse import urlsplit

from benchmarks.stack import BenchStack, stack
from controlplane.embedded.home import read_json

BULK = 1000
CLIENTS = 4
UNLIMITED = {"HYDRA_RATE_USER": "1000000/s", "HYDRA_MAX_LIVE_JOBS_PER_USER": "10000000"}
READY_S = 30
STORES = ("postgres", "valkey", "broker")


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
    parser.add_argument("--token", default="")
    options = parser.parse_args(argv)
    if options.url:
        return measure(options.url, options.token, options.seconds)
    with stack(**UNLIMITED) as running:
        hold_all_but_web(running)
        login = {"username": "tenant", "password": running.home.secrets()["tenant_password"]}
        token = Connection(running.url, "").post("/api/v1/auth/login", login)["token"]
        return measure(running.url, str(token), options.seconds)


def hold_all_but_web(running: BenchStack) -> None:
    """Stop workers, beat and nodes: what is measured is the taking in, and the machine is small."""
    names = [p["name"] for p in read_json(running.home.state)["processes"]]
    others = [name for name in names if name != "web" and not name.startswith(STORES)]
    for name in others:
        (running.home.held / name).touch()
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        states = {p["name"]: p["state"] for p in read_json(running.home.state)["processes"]}
        if all(states[name] == "held" for name in others):
            return
        time.sleep(0.1)
    raise RuntimeError(f"not stopped within {READY_S} s: {states}")


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
