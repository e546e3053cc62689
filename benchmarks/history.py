"""How long every list of the API takes with a million jobs in the store: each filter, many together, deep pages."""

import argparse
import datetime as dt
import http.client
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from benchmarks.historyrows import Loaded, load
from benchmarks.stack import BenchStack, percentile, stack
from benchmarks.submit_rate import hold_all_but_web
from client import Client
from controlplane.statestore.queries.paging import Cursor

JOBS = 1_000_000
REPEATS = 20
DAY = dt.timedelta(days=1)
IDLE_S = 2.0


@dataclass(frozen=True)
class Listing:
    """One address as one account asks for it. ``name``: what it is called in a report."""

    name: str
    account: str
    path: str


def main(argv: list[str]) -> dict[str, object]:
    """``argv``: ``--jobs N`` (1,000,000), ``--repeats N`` of each list (20), ``--slowest N`` that are printed (15)."""
    parser = argparse.ArgumentParser(prog="bench history")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--slowest", type=int, default=15)
    options = parser.parse_args(argv)
    with stack("--sub-clusters", "2", "--nodes", "1", HYDRA_RATE_USER="1000000/s") as running:
        hold_all_but_web(running)
        began = time.monotonic()
        loaded = load(running.database_url(), options.jobs)
        load_s = time.monotonic() - began
        return measure(running, loaded, options.repeats, options.slowest) | {
            "jobs": options.jobs, "load_s": round(load_s, 1),
        }  # fmt: skip


def measure(running: BenchStack, loaded: Loaded, repeats: int, slowest: int) -> dict[str, object]:
    readers = {name: Reader(running, name) for name in ("tenant", "operator")}
    took: dict[str, list[float]] = {}
    found = listings(loaded)
    for listing in found:
        took[f"{listing.name} ({listing.account})"] = [
            readers[listing.account].get(listing.path) for _ in range(repeats)
        ]
    p95 = {name: percentile(times, 0.95) for name, times in took.items()}
    by = sorted(p95, key=lambda name: -p95[name])
    for name in by[:slowest]:
        print(f"{p95[name]:8.1f} ms  {name}", file=sys.stderr)
    every = [t for times in took.values() for t in times]
    return {
        "list_p95_ms": round(p95[by[0]], 1),
        "slowest_list": by[0],
        "lists": len(found),
        "lists_over_200_ms": sum(t > 200 for t in p95.values()),
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

    def get(self, path: str) -> float:
        """Milliseconds until the whole answer was there."""
        if time.monotonic() - self._used > IDLE_S:
            self._http.close()  # the server has, or is about to
        self._used = time.monotonic()
        began = time.perf_counter()
        self._http.request("GET", f"/api/v1{path}", headers=self._headers)
        response = self._http.getresponse()
        data = response.read()
        took = (time.perf_counter() - began) * 1000
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {data[:300]!r}")
        json.loads(data)
        return took


def listings(loaded: Loaded) -> list[Listing]:
    """Every list of the API, as a tenant and as an operator where each may see it."""
    found = [Listing(name, account, path) for account in ("tenant", "operator") for name, path in _jobs(loaded)]
    found += [
        Listing(name, account, path) for account in ("tenant", "operator") for name, path in _of_job(loaded.large)
    ]
    both = {
        "queues": "/queues", "sub-clusters": "/sub-clusters", "overview": "/overview", "saved-views": "/saved-views",
        "nodes": "/nodes", "nodes, deep": f"/nodes?{_at((4900,))}", "nodes, 1000": "/nodes?page_size=1000",
        "nodes of a sub-cluster": "/nodes?sub_cluster=west", "nodes by name": "/nodes?name=node-4711",
        "maintenance": "/maintenance",
    }  # fmt: skip
    found += [Listing(name, account, path) for account in ("tenant", "operator") for name, path in both.items()]
    middle = (loaded.first + loaded.last) // 2
    operators = {
        "audit": "/audit", "audit, deep": f"/audit?{_at((middle,))}", "audit, back": f"/audit?{_at((middle,), True)}",
        "policy versions": "/policy/versions", "policy versions, deep": f"/policy/versions?{_at((20,))}",
        "policy proposals": "/policy/proposals?all=yes", "policy overrides": "/policy/overrides?all=yes",
        "policy rollouts": "/policy/rollouts", "convergence": "/policy/convergence",
        "queue rights": "/queues/root.default/rights", "compare": "/sub-clusters/compare",
    }  # fmt: skip
    return found + [Listing(name, "operator", path) for name, path in operators.items()]


def _at(key: tuple[int, ...], back: bool = False) -> str:
    return f"cursor={Cursor(key, back).encode()}"


def _jobs(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """The job list under each filter and many together: from the start, the middle, near its end, and backwards."""
    middle, last = (loaded.first + loaded.last) // 2, loaded.first + 200
    for filters in _filters():
        said = "&".join(f"{name}={value}" for name, value in filters.items()) or "no filter"
        query = urlencode(filters)
        places = {"first": "", "middle": _at((middle,)), "last": _at((last,)), "back": _at((middle,), True)}
        for place, cursor in places.items():
            yield f"jobs {said}, {place}", "/jobs?" + "&".join(part for part in (query, cursor) if part)
    yield "jobs, 1000 a page", "/jobs?page_size=1000"


def _filters() -> Iterator[dict[str, str]]:
    today = dt.datetime.now(dt.UTC)
    old, older = (today - 60 * DAY).isoformat(), (today - 61 * DAY).isoformat()
    one = {
        "state": ["FAILED", "KILLED", "SUCCEEDED", "RUNNING", "SUBMITTED", "live", "ended"],
        "queue": ["root.team00.prod", "root.team03.dev", "root.team39.dev", "root.none"],
        "owner": ["tenant", "user-200", "user-001", "nobody"],
        "tag": ["nightly", "run-100", "model-3", "none"],
        "name": ["etl", "etl-77-", "train-500-9", "zzz"],
        "kind": ["batch", "service", "application"],
        "order": ["oldest"],
        "since": [older],
        "until": [old],
    }
    yield {}
    for name, values in one.items():
        for value in values:
            yield {name: value}
    rare = {"state": "KILLED", "queue": "root.team39.dev", "owner": "user-001", "tag": "model-299", "name": "sync-9"}
    usual = {"state": "SUCCEEDED", "queue": "root.team00.prod", "owner": "user-200", "tag": "nightly", "name": "etl"}
    for first, seldom in rare.items():
        for second, often in usual.items():
            if first != second:
                yield {first: seldom, second: often}
    yield usual
    yield rare
    yield usual | {"kind": "application"}
    yield usual | {"state": "KILLED", "order": "oldest"}
    yield {"since": older, "until": old}
    yield {"since": older, "until": old, "state": "KILLED", "queue": "root.team39.dev"}
    yield {"since": older, "until": old, "tag": "nightly", "name": "sync", "order": "oldest"}
    yield {"state": "RUNNING", "queue": "root.team39.dev"}
    yield {"state": "live", "kind": "application"}
    yield {"queue": "root.team39.dev", "owner": "user-001"}
    yield {"queue": "root.team00.prod", "kind": "application", "state": "KILLED"}
    yield {"name": "sync", "tag": "run-19999", "state": "SUCCEEDED"}


def _of_job(job: int) -> Iterator[tuple[str, str]]:
    """The lists of one job of many tasks."""
    tasks = f"/jobs/{job}/tasks"
    yield "tasks", tasks
    yield "tasks, deep", f"{tasks}?{_at((0, 190_000))}"
    yield "tasks, 1000", f"{tasks}?page_size=1000"
    for state in ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"):
        yield f"tasks {state}", f"{tasks}?state={state}"
        yield f"tasks {state}, deep", f"{tasks}?state={state}&{_at((0, 190_000))}"
        yield f"tasks {state}, back", f"{tasks}?state={state}&{_at((0, 190_000), True)}"
    large = 1 << 62
    for name in ("containers", "outputs"):
        yield name, f"/jobs/{job}/{name}"
        yield f"{name}, deep", f"/jobs/{job}/{name}?{_at((0, 190_000, large))}"
        yield f"{name}, back", f"/jobs/{job}/{name}?{_at((0, 190_000, large), True)}"
    yield "containers of a task", f"/jobs/{job}/containers?task={quote('map/150000', safe='')}"
    yield "events", f"/jobs/{job}/events"
    yield "events, deep", f"/jobs/{job}/events?{_at((1_010_000,))}"
    yield "endpoints", f"/jobs/{job}/endpoints"
    yield "explain", f"/jobs/{job}/explain"
    yield "job", f"/jobs/{job}"
