"""How long every list of the API takes with a million jobs in the store: each filter, many together, deep pages.

What each costs in processor time is told beside it: on a machine that has other work too, that is what can be compared.
"""

import argparse
import http.client
import json
import sys
import time
from urllib.parse import urlsplit

from benchmarks.historylists import listings, unknown
from benchmarks.historyothers import publish_queues
from benchmarks.historyrows import Loaded, load
from benchmarks.stack import BenchStack, cpu_s, percentile, stack
from benchmarks.submit_rate import hold_all_but_web
from client import Client

JOBS = 1_000_000
REPEATS = 20
IDLE_S = 2.0
MAY_NOT = (403, 404)


def main(argv: list[str]) -> dict[str, object]:
    """``argv``: ``--jobs N`` (1,000,000), ``--repeats N`` of each list (20), ``--slowest N`` that are printed (15),
    ``--only TEXT``: lists whose name contains it."""
    parser = argparse.ArgumentParser(prog="bench history")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--slowest", type=int, default=15)
    parser.add_argument("--only", default="")
    options = parser.parse_args(argv)
    with stack("--sub-clusters", "2", "--nodes", "1", HYDRA_RATE_USER="1000000/s") as running:
        hold_all_but_web(running)
        with running.client("operator") as operator:
            publish_queues(operator)
        began = time.monotonic()
        loaded = load(running.database_url(), options.jobs)
        load_s = time.monotonic() - began
        return measure(running, loaded, options.repeats, options.slowest, options.only) | {
            "jobs": options.jobs, "load_s": round(load_s, 1),
        }  # fmt: skip


def measure(running: BenchStack, loaded: Loaded, repeats: int, slowest: int, only: str = "") -> dict[str, object]:
    readers = {name: Reader(running, name) for name in ("tenant", "operator")}
    description = readers["operator"].ask("/schema?format=json")
    missing = unknown(description)
    if missing:
        raise SystemExit(f"benchmarks/historylists.py says nothing of: {', '.join(missing)}")
    took: dict[str, list[float]] = {}
    spent: dict[str, float] = {}  # milliseconds of processors, of web and Postgres together
    groups = running.processes()
    roots = [groups[name][0] for name in ("web", "postgres")]
    # One account after the other: while two ask, each waits for its share of ``web``, and that is what is measured.
    for listing in sorted(listings(description, loaded), key=lambda one: one.account):
        reader = readers[listing.account]
        if only in listing.name and (listing.account == "operator" or reader.may(listing.path)):
            name = f"{listing.name} ({listing.account})"
            if len(took) % 100 == 0:
                print(f"measuring: {len(took)} lists so far", file=sys.stderr)
            reader.get(listing.path)  # what is told is how long it takes once the process has begun to read such lists
            working = [p for root in roots for p in (root, *root.children(recursive=True))]
            began = cpu_s(working)
            took[name] = [reader.get(listing.path) for _ in range(repeats)]
            spent[name] = (cpu_s(working) - began) / repeats * 1000
    return _figures(took, spent, slowest)


def _figures(took: dict[str, list[float]], spent: dict[str, float], slowest: int) -> dict[str, object]:
    p95 = {name: percentile(times, 0.95) for name, times in took.items()}
    by, dearest = sorted(p95, key=lambda name: -p95[name]), sorted(spent, key=lambda name: -spent[name])
    print("    p95 ms   processor ms", file=sys.stderr)
    for name in dict.fromkeys([*by[:slowest], *dearest[:slowest]]):
        print(f"{p95[name]:10.1f} {spent[name]:14.1f}  {name}", file=sys.stderr)
    every = [t for times in took.values() for t in times]
    return {
        "list_p95_ms": round(p95[by[0]], 1),
        "slowest_list": by[0],
        "lists": len(took),
        "lists_over_100_ms": sum(t > 100 for t in p95.values()),
        "list_cpu_ms": round(spent[dearest[0]], 1),
        "dearest_list": dearest[0],
        "lists_over_100_cpu_ms": sum(t > 100 for t in spent.values()),
        "all_p50_ms": round(percentile(every, 0.5), 1),
        "all_p95_ms": round(percentile(every, 0.95), 1),
    }


class Reader:
    """A kept-alive connection of one account."""

    def __init__(self, running: BenchStack, account: str) -> None:
        password = running.home.secrets()[f"{account}_password"]
        with Client(running.url) as anonymous:
            token = anonymous.login(account, password).token
        parts = urlsplit(running.url)
        self._http = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
        self._headers = {"Authorization": f"Token {token}"}
        self._used = 0.0

    def may(self, path: str) -> bool:
        """Whether the account is answered there at all."""
        return self._answer(path)[0] not in MAY_NOT

    def ask(self, path: str) -> dict[str, object]:
        """The answer, which is to be JSON."""
        status, data = self._answer(path)
        if status != 200:
            raise RuntimeError(f"{path}: {status} {data[:300]!r}")
        found: dict[str, object] = json.loads(data)
        return found

    def get(self, path: str) -> float:
        """Milliseconds until the whole answer was there."""
        began = time.perf_counter()
        status, data = self._answer(path)
        took = (time.perf_counter() - began) * 1000
        if status != 200:
            raise RuntimeError(f"{path}: {status} {data[:300]!r}")
        return took

    def _answer(self, path: str) -> tuple[int, bytes]:
        if time.monotonic() - self._used > IDLE_S:
            self._http.close()  # the server has, or is about to
        self._used = time.monotonic()
        self._http.request("GET", f"/api/v1{path}", headers=self._headers)
        response = self._http.getresponse()
        return response.status, response.read()
