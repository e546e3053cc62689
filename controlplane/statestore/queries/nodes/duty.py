"""What operators want of nodes and how far it has come."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from controlplane import clock
from controlplane.statestore.models import Container, Intent, Node, SubCluster

from .maintenance import Window, windows

Json = dict[str, Any]
FIELDS = ("duty", "duty_message", "duty_deadline", "duty_at", "duty_by__username", "health_text")


def standing(rows: Sequence[Json]) -> dict[int, Json]:
    """For each node row (with ``FIELDS``) what its JSON says of its duty. At most three queries."""
    now, of_sub = clock.now(), windows(row["sub_cluster_id"] for row in rows)
    found = {row["id"]: _standing(row, of_sub[row["sub_cluster_id"]], now) for row in rows}
    leaving = [row["id"] for row in rows if _leaving(row, found[row["id"]])]
    if leaving:
        held = Container.objects.filter(node_id__in=leaving).values_list("node_id", flat=True).distinct()
        untold = Intent.objects.filter(kind=Intent.Kind.NODE, node_id__in=leaving).values_list("node_id", flat=True)
        for number in set(leaving) - set(held) - set(untold):
            found[number]["drained"] = True
    return found


def _leaving(row: Json, standing: Json) -> bool:
    emptied = row["duty"] in Node.EMPTYING or row["sub_cluster__state"] == SubCluster.State.DRAINING
    return emptied or bool(standing["maintenance"] and standing["maintenance"]["active"])


def _standing(row: Json, of_sub: list[Window], now: dt.datetime) -> Json:
    matching = [w for w in of_sub if w.matches(row)]
    mine = next((w for w in matching if w.active(now)), matching[0] if matching else None)
    return {
        "duty": row["duty"],
        "message": row["duty_message"],
        "deadline": row["duty_deadline"],
        "duty_at": row["duty_at"],
        "drained": False,
        "maintenance": mine and {
            "id": mine.row.pk,
            "starts_at": mine.row.starts_at,
            "ends_at": mine.row.ends_at,
            "message": mine.row.message,
            "active": mine.active(now),
        },
    }  # fmt: skip
