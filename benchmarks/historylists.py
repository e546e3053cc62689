"""What the benchmark of histories asks: every route of the API's description, under every filter that it names.

A route, a parameter or a place in an address of which nothing is said here is an error, so that none is forgotten.
"""

import datetime as dt
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from benchmarks.historyjobs import of_job, of_jobs
from benchmarks.historyrows import Loaded
from controlplane.statestore.queries.paging import Cursor

Json = dict[str, Any]
ROOT = "/api/v1"
ACCOUNTS = ("tenant", "operator")
# Operations that list nothing that is kept.
WITHOUT = {
    "artifacts_get": "a file's bytes",
    "auth_csrf": "a word",
    "containers_logs": "a file's bytes, in pieces of a size that is asked for",
    "containers_logs_merged": "the same, of both streams",
    "jobs_logs": "some megabytes of what one job has written, as many as are asked for",
    "masters_events": "waits for news; benchmark masters",
    "masters_output": "a file's bytes",
    "metrics": "for Prometheus",
    "simulations_history": "a file, written by a process of its own",
    "simulations_report": "a page that was made before",
    "usage_hours_csv": "a file of up to 100,000 lines",
    "usage_tags_csv": "the same",
}
PAGING = ("cursor", "page_size")
# Parameters that choose what is computed, not what is found in the store.
ANY = {"deadline_s", "points", "resource", "partition", "window_s", "names"}


@dataclass(frozen=True)
class Listing:
    """One address as one account asks for it. ``name``: what it is called in a report."""

    name: str
    account: str
    path: str


def asked() -> dict[str, dict[str, list[str]]]:
    """By operation and parameter, values that many, few and no rows have; those of an enumeration are all asked."""
    long_ago, lately = ((dt.datetime.now(dt.UTC) - dt.timedelta(days=days)).isoformat() for days in (390, 90))
    queues, west = ["root.team0000.prod", "root.team1600.dev", "root.team0000", "root", "root.none"], ["west"]
    return {
        "accounts_list": {"name": ["user-1", "zzz"]},
        "audit_list": {
            "action": ["job.", "job.kill", "policy.", "policy.override.", "node.drain", "zzz"],
            "actor": ["user-200", "user-001", "operator", "system", "zzz"],
            "target": ["job/", "job/1", "job/7777", "policy/", "rollout/7", "zzz"],
        },
        "nodes_list": {"contains": ["4711", "node", "zzz"], "name": ["node-4711"], "sub_cluster": west},
        "policy_convergence": {"version": ["1"]},
        "policy_get": {"version": ["1"]},
        "queues_list": {"contains": ["team0000", "prod", "zzz"]},
        "queues_matrix": {"under": ["root", "root.team0003"], "skip": ["1500"]},
        "queues_use": {"sub_cluster": west},
        "schedules_list": {
            "name": ["schedule-77", "schedule-", "zzz"], "owner": ["user-200", "tenant", "zzz"], "queue": queues,
        },
        "series": {"metric": ["decisions_per_s,dominant_share", "allocation_latency_p99_s"],
                   "scope": ["cluster", "sub-cluster:west", "queue:root.team0003", "queue:root.team1600"],
                   "from": [long_ago], "to": []},
        "series_instant": {"at": [long_ago]},
        "simulations_list": {"version": ["1"]},
        "usage_accounts": {"begin": [lately], "end": [], "queue": queues},
        "usage_hours": {"begin": [long_ago], "end": [], "queue": queues, "owner": ["user-200"], "tag": ["", "zzz"]},
        "usage_tags": {"begin": [long_ago], "end": [], "queue": queues, "owner": ["user-200"]},
    }  # fmt: skip


# By operation, the key of a row in the middle of its list; ``None`` where only one page is ever there.
MIDDLE: dict[str, tuple[int, ...] | None] = {
    "accounts_list": (100,), "artifacts_list": (20_000, 20_000), "audit_list": (50_000,),
    "jobs_endpoints": None, "nodes_containers": None,
    "nodes_list": (2_500,), "policy_overrides": (1_000,), "policy_proposals": (1_000,), "policy_rollouts": (1_000,),
    "policy_versions": (1_000,), "queues_list": (2_500,), "receivers_notifications": (5_000,),
    "schedules_list": (20_000,), "schedules_runs": (10_000,), "simulations_list": (250,),
}  # fmt: skip
BY_HAND = {"jobs_list", "jobs_tasks", "jobs_containers", "jobs_outputs", "jobs_events"}  # see ``historyjobs``


def listings(description: Json, loaded: Loaded) -> list[Listing]:
    """Every address that is measured. description: the API's own, as OpenAPI."""
    found = [("jobs", name, path) for name, path in of_jobs(loaded)]
    found += [("job", name, path) for name, path in of_job(loaded.large)]
    for path, methods in sorted(description["paths"].items()):
        operation = methods.get("get")
        if operation and operation["operationId"] not in WITHOUT.keys() | BY_HAND:
            found += [(path, name, address) for name, address in _of(path, operation, loaded)]
    return [Listing(name, account, address) for _, name, address in found for account in ACCOUNTS]


def unknown(description: Json) -> list[str]:
    """What of the description is not measured, and what is said here of something that is not there."""
    operations = {m["get"]["operationId"]: m["get"] for m in description["paths"].values() if "get" in m}
    named = asked()
    missing = []
    for name, operation in operations.items():
        if name in WITHOUT.keys() | BY_HAND:
            continue
        for parameter in _filters(operation):
            if parameter["name"] not in named.get(name, {}) and not parameter["schema"].get("enum"):
                missing.append(f"{name}: {parameter['name']}")
        if name not in MIDDLE and any(p["name"] == "cursor" for p in operation.get("parameters", ())):
            missing.append(f"{name}: cursor")
    known = WITHOUT.keys() | BY_HAND | MIDDLE.keys() | named.keys()
    return missing + [f"{name}: no such operation" for name in sorted(known - operations.keys())]


def _filters(operation: Json) -> list[Json]:
    parameters: list[Json] = operation.get("parameters", [])
    return [p for p in parameters if p["in"] == "query" and p["name"] not in (*PAGING, *ANY)]


def _of(path: str, operation: Json, loaded: Loaded) -> Iterator[tuple[str, str]]:
    """The addresses of one operation: without a filter, with each, with each two together and with all."""
    name, places = operation["operationId"], _places(loaded)
    address = path.removeprefix(ROOT).format(**{key: quote(str(of), safe="") for key, of in places.items()})
    values = {p["name"]: p["schema"].get("enum") or asked()[name].get(p["name"], []) for p in _filters(operation)}
    single = [{key: value} for key, of in values.items() for value in of]
    pairs = [a | b for a, b in itertools.combinations(single, 2) if a.keys() != b.keys()]
    whole = {key: of[0] for key, of in values.items() if of}
    must = {p["name"] for p in _filters(operation) if p.get("required")} | ({"metric"} if name == "series" else set())
    for query in [{}, *single, *pairs, *([whole] if len(whole) > 2 else [])]:
        if must <= query.keys():
            said = "&".join(f"{key}={value}" for key, value in query.items())
            for place, cursor in _cursors(operation, all_of_them=len(query) < 2):
                yield f"{name} {said}{place}", f"{address}?{urlencode(query | cursor)}"


def _cursors(operation: Json, all_of_them: bool) -> Iterator[tuple[str, dict[str, str]]]:
    yield "", {}
    middle = MIDDLE.get(operation["operationId"])
    if middle is not None:
        yield ", middle", {"cursor": Cursor(middle).encode()}
    if middle is not None and all_of_them:
        yield ", back", {"cursor": Cursor(middle, back=True).encode()}
        yield ", 1000 a page", {"page_size": "1000"}


def _places(loaded: Loaded) -> dict[str, object]:
    """What stands for a name or a number in an address."""
    return {
        "job_id": loaded.large, "node_id": loaded.node, "path": "root.team0003", "name": "west", "username": "tenant",
        "proposal_id": loaded.proposal, "rollout_id": loaded.rollout, "schedule_id": loaded.schedule,
        "simulation_id": loaded.simulation,
    }  # fmt: skip
