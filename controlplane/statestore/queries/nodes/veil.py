"""What a tenant is shown of nodes: only its own containers are counted.

Machines, their capacities and their health are everybody's. What runs on them
is not: a tenant who knows its own part could subtract it from the sum.
"""

from collections.abc import Set
from typing import Any, NamedTuple

from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything
from controlplane.statestore.queries.looks import together
from controlplane.statestore.queries.sql import rows_as_dicts
from controlplane.statestore.resourcecolumns import per_axis_held
from wire.resources import AXES, NOTHING, Amounts, amounts
from wire.states import JobState

Json = dict[str, Any]
_ON_NODES = f"""
SELECT j.owner_id, c.node_id, {per_axis_held("sum({1})::bigint AS {0}", "c.")}, count(*) AS containers
  FROM statestore_job j JOIN statestore_container c ON c.job_id = j.id
 WHERE j.owner_id = ANY(%(owners)s) AND j.state < %(ended)s
   AND (%(nodes)s::bigint[] IS NULL OR c.node_id = ANY(%(nodes)s))
 GROUP BY 1, 2
"""


class OnNode(NamedTuple):
    """What an account's own containers hold on a node, and how many they are."""

    amounts: Amounts = NOTHING
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
        held = amounts(int(row[axis] or 0) for axis in AXES)
        found[row["owner_id"]][row["node_id"]] = OnNode(held, int(row["containers"]))
    return found


def _node(node: Json, own: Json) -> Json:
    mine = {axis: int(own.get(axis) or 0) for axis in AXES}
    return node | {"allocated": mine, "used": None, "containers": int(own.get("containers") or 0)}
