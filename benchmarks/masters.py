"""From an application master's ask to its grant: alone, beside a thousand waiting long polls, beside a greedy one."""

import argparse
import asyncio
import contextlib
import threading
import time
from typing import Any

import httpx

from benchmarks.stack import BenchStack, cpu_s, percentile, stack
from client import Client
from controlplane.router.masterauth import signed

WARM_UP = 5
SMALL = {"memory_mib": 16, "vcores_milli": 5}
SETTLE_S = 5.0


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench masters")
    parser.add_argument("--grants", type=int, default=100)
    parser.add_argument("--masters", type=int, default=20, help="that wait, beside the one that asks")
    parser.add_argument("--polls", type=int, default=1000, help="long polls of those that wait")
    options = parser.parse_args(argv)
    rates = {"HYDRA_RATE_MASTER": "10000/s", "HYDRA_RATE_USER": "10000/s"}
    with stack("--sub-clusters", "1", "--nodes", "2", **rates) as running, running.client() as client:
        tokens = [token(running, client, number) for number in range(options.masters + 1)]
        time.sleep(SETTLE_S)
        web = running.processes()["web"]
        alone, threads = grants_ms(running, tokens[0], options.grants), _threads(web)
        with Polls(running.url, tokens[1:], options.polls):
            began, used = time.monotonic(), cpu_s(web)
            time.sleep(SETTLE_S)
            idle_percent = 100 * (cpu_s(web) - used) / (time.monotonic() - began)
            beside, threads_waiting = grants_ms(running, tokens[0], options.grants), _threads(web)
        with Greedy(running.url, tokens[1]) as greedy:
            greedily = grants_ms(running, tokens[0], options.grants)
    return {
        "grant_p50_ms": round(percentile(alone, 0.5), 1),
        "grant_p99_ms": round(percentile(alone, 0.99), 1),
        "beside_p50_ms": round(percentile(beside, 0.5), 1),
        "beside_p99_ms": round(percentile(beside, 0.99), 1),
        "greedy_p50_ms": round(percentile(greedily, 0.5), 1),
        "greedy_p99_ms": round(percentile(greedily, 0.99), 1),
        "greedy_requests": greedy.requests,
        "greedy_refused": greedy.refused,
        "polls": options.polls,
        "web_threads": threads,
        "web_threads_beside": threads_waiting,
        "web_cpu_percent_beside": round(idle_percent, 1),
        "grants": len(alone),
    }


def _threads(processes: list[Any]) -> int:
    return sum(process.num_threads() for process in processes)


def token(running: BenchStack, client: Client, number: int) -> str:
    """That of a master which sleeps while this process speaks for it."""
    master = {"command": ["sleep", "3600"], "resources": SMALL}
    job = client.submit({"name": f"master-{number}", "kind": "application", "master": master})
    while client.job(job.id).state != "RUNNING":
        time.sleep(0.02)
    return signed(next(iter(client.containers(job.id))).id, running.home.secrets()["secret_key"])


def grants_ms(running: BenchStack, own: str, count: int) -> list[float]:
    """From the moment an ask is sent to the moment its grant has been read; one after the other, each given back."""
    headers = {"Authorization": f"Bearer {own}"}
    found = []
    with httpx.Client(base_url=f"{running.url}/api/v1/am/", headers=headers, timeout=60, trust_env=False) as http:
        told = http.post("register", json={}).raise_for_status().json()
        cursor, target = told["cursor"], next((a["target"] for a in told["asks"]), 0)
        for _ in range(WARM_UP + count):
            target += 1
            began = time.perf_counter()
            ask = {"id": "probe", "target": target, "resources": SMALL}
            http.post("allocate", json={"asks": [ask], "after": cursor}).raise_for_status()
            granted = ""
            while not granted:
                answer = http.get(f"events?after={cursor}&wait_s=30").raise_for_status().json()
                cursor = answer["cursor"]
                granted = next((e["container"] for e in answer["events"] if e["kind"] == "granted"), "")
            found.append((time.perf_counter() - began) * 1000)
            http.post("allocate", json={"release": [granted]}).raise_for_status()
    return found[WARM_UP:]


class Polls:
    """Long polls of these masters, renewed as they end, on a thread of their own."""

    def __init__(self, url: str, tokens: list[str], count: int) -> None:
        self.url, self.tokens, self.count = url, tokens, count
        self.open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Polls":
        self._thread.start()
        until = time.monotonic() + 60
        while self.open < self.count and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(2 * SETTLE_S)  # until each has been through its first look
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(self._loop)])
        self._thread.join(10)

    def _run(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._all())

    async def _all(self) -> None:
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx.AsyncClient(base_url=f"{self.url}/api/v1/am/", timeout=120, limits=limits) as http:
            polls = [self._poll(http, self.tokens[i % len(self.tokens)]) for i in range(self.count)]
            await asyncio.gather(*polls, return_exceptions=True)

    async def _poll(self, http: httpx.AsyncClient, own: str) -> None:
        self.open += 1
        while True:
            await http.get("events?after=0&wait_s=60", headers={"Authorization": f"Bearer {own}"})


class Greedy:
    """A master that asks for far more than it may, changes its mind all the time and uses no grant, at 50 calls/s."""

    def __init__(self, url: str, own: str) -> None:
        self.url, self.own = url, own
        self.requests = self.refused = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Greedy":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(30)

    def _run(self) -> None:
        headers = {"Authorization": f"Bearer {self.own}"}
        with httpx.Client(base_url=f"{self.url}/api/v1/am/", headers=headers, timeout=60, trust_env=False) as http:
            while not self._over.wait(0.02):
                targets = {"never": 1_000_000, f"many-{self.requests % 150}": 9000, "churn": self.requests // 20}
                asks = [self._ask(name, target) for name, target in targets.items()]
                answer = http.post("allocate", json={"asks": [asks[self.requests % 3]]})
                self.requests += 1
                self.refused += answer.status_code >= 400

    @staticmethod
    def _ask(name: str, target: int) -> dict[str, Any]:
        """What it wants many of fits on no node; of "churn" some are granted and never used."""
        resources = SMALL if name == "churn" else SMALL | {"memory_mib": 1 << 20}
        return {"id": name, "target": target, "resources": resources}
