"""What a tenant is shown of sub-clusters: its own part of what runs and waits there, instead of sums."""

from collections import defaultdict
from typing import Any

from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything
from controlplane.statestore.queries.ownuse import OwnUse, own_use
from wire.resources import AXES

Json = dict[str, Any]


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
        **dict.fromkeys(("load", "left", "would_preempt")),
        **dict.fromkeys(("rounds", "placed", "ended"), 0),
        **dict.fromkeys(("rounds_per_s", "placed_per_s", "ended_per_s", "round_ms"), None),
    }
