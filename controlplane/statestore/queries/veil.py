"""What a tenant is shown instead of what would tell of others: its own part of sums, reasons without their numbers.

Machines, their capacities and their health are everybody's. What runs on them
is not: a tenant who knows its own part could subtract it from the sum.
"""

from collections import defaultdict
from collections.abc import Iterable, Set
from typing import Any, NamedTuple

from controlplane.accounts.models import User
from controlplane.accounts.rights import level_in, sees_everything
from wire.resources import AXES
from wire.states import JobState

from .looks import together
from .ownuse import OwnUse, own_use
from .sql import rows_as_dicts

Json = dict[str, Any]
_ON_NODES = """
SELECT j.owner_id, c.node_id, sum(c.memory_mib)::bigint AS memory_mib, sum(c.vcores_milli)::bigint AS vcores_milli,
       sum(bit_count(c.gpus::bit(64)))::bigint AS gpus, count(*) AS containers
  FROM statestore_job j JOIN statestore_container c ON c.job_id = j.id
 WHERE j.owner_id = ANY(%(owners)s) AND j.state < %(ended)s
   AND (%(nodes)s::bigint[] IS NULL OR c.node_id = ANY(%(nodes)s))
 GROUP BY 1, 2
"""


class OnNode(NamedTuple):
    """What an account's own containers hold on a node, and how many they are."""

    memory_mib: int = 0
    vcores_milli: int = 0
    gpus: int = 0
    containers: int = 0


def nodes(user: User, found: list[Json]) -> list[Json]:
    """Node JSON with nothing but the account's own containers counted. One query, none for those who see everything."""
    if sees_everything(user) or not found:
        return found
    values = {"owners": [user.pk], "ended": int(JobState.SUCCEEDED), "nodes": [node["id"] for node in found]}
    own = {row["node_id"]: row for row in rows_as_dicts(_ON_NODES, values)}
    return [_node(node, own.get(node["id"], {})) for node in found]


def on_nodes(user: User) -> dict[int, OnNode]:
    """By node number, where the account has any. One query."""
    return _on_nodes(user.pk) or {}


@together("accounts")
def _on_nodes(owners: Set[int]) -> dict[int, dict[int, OnNode]]:
    found: dict[int, dict[int, OnNode]] = {owner: {} for owner in owners}
    for row in rows_as_dicts(_ON_NODES, {"owners": list(owners), "ended": int(JobState.SUCCEEDED), "nodes": None}):
        held = {name: int(row[name] or 0) for name in OnNode._fields}
        found[row["owner_id"]][row["node_id"]] = OnNode(**held)
    return found


def _node(node: Json, own: Json) -> Json:
    mine = {axis: int(own.get(axis) or 0) for axis in AXES}
    nothing = {"memory_mib": 0, "cpu_milli": 0}
    return node | {"allocated": mine, "used": nothing, "containers": int(own.get("containers") or 0)}


def sub_clusters(user: User, found: list[Json]) -> list[Json]:
    """Sub-clusters with the account's own part of what runs and waits there. Three queries."""
    if sees_everything(user) or not found:
        return found
    own = own_use(user.pk)
    used, wanted = _by_place(own.used), _by_place(own.wanted)
    return [_sub_cluster(sub, own, used[sub["id"]], wanted[sub["id"]]) for sub in found]


def _by_place(amounts: dict[str, dict[int, Any]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(lambda: [0] * len(AXES))
    for places in amounts.values():
        for sub, values in places.items():
            found[sub] = [a + b for a, b in zip(found[sub], values.tolist(), strict=True)]
    return found


def _sub_cluster(sub: Json, own: OwnUse, used: list[int], wanted: list[int]) -> Json:
    pending = dict(zip(AXES, wanted, strict=True)) | {"containers": own.pending_at.get(sub["id"], 0)}
    return sub | {
        "allocated": dict(zip(AXES, used, strict=True)),
        "used": {"memory_mib": 0, "cpu_milli": 0},
        "pending": pending,
        "live_containers": own.containers_at.get(sub["id"], 0),
        "load": None,
        "left": None,
        **dict.fromkeys(("rounds", "placed", "ended"), 0),
        **dict.fromkeys(("rounds_per_s", "placed_per_s", "ended_per_s", "round_ms"), None),
    }


def jobs(user: User, found: Iterable[Json]) -> list[Json]:
    """Job JSON whose reasons say nothing of how much others hold of queues that the account does not see whole."""
    found = list(found)
    if sees_everything(user):
        return found
    for job in found:
        whole = level_in(user, job["queue"]) is not None
        for group in job["groups"]:
            if group["reason"]:
                before = group["reason"].get("text", "")
                group["reason"] = reason(user, group["reason"], whole)
                if job["waiting"] and before:
                    job["waiting"] = job["waiting"].replace(before, group["reason"]["text"])
    return found


def explanation(user: User, found: Json, queue: str) -> Json:
    """The answer to why a job of this queue waits; what its own rows say has been through ``jobs`` already."""
    if not sees_everything(user):
        whole = level_in(user, queue) is not None
        for ask in (ask for group in found["groups"] for ask in group["elsewhere"]):
            ask["reason"] = ask["reason"] and reason(user, ask["reason"], whole)
    return found


def reason(user: User, told: Json, whole: bool) -> Json:
    """A reason for the account; whole: it sees all of the job's queue."""
    limits = [_limit(user, limit) for limit in told.get("limits") or []]
    shown = told | {"limits": limits, "position": told.get("position") if whole else None}
    if limits and told.get("text") == told["limits"][0].get("text"):
        shown["text"] = limits[0]["text"]
    return shown


def _limit(user: User, limit: Json) -> Json:
    queue = limit.get("queue")
    if limit.get("limit") != "queue_maximum" or queue is None or level_in(user, queue) is not None:
        return limit
    return limit | {"text": f"The queue {queue} is at its maximum.", "available": {}}
