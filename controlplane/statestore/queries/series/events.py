"""What was decided and what befell the cluster in a time range, to be marked beside its history."""

import datetime as dt
from typing import Any

from django.db.models import Q

from controlplane.statestore.models import AuditEntry, PolicyOverride, PolicyVersion, Rollout

Json = dict[str, Any]
MOST = 100  # of a kind, the newest
_LIVES = {
    "sub-cluster.create": "registered",
    "sub-cluster.running": "running",
    "sub-cluster.draining": "draining",
    "sub-cluster.lost": "lost",
    "sub-cluster.decommissioned": "decommissioned",
}


def events(start: dt.datetime, end: dt.datetime, told: bool) -> list[Json]:
    """In order of time. ``told``: with the words that operators wrote, and with overrides. At most four queries."""
    found = [*_versions(start, end), *_sub_clusters(start, end)]
    if told:
        found += [*_rollouts(start, end), *_overrides(start, end)]
    else:
        found = [event | {"text": event["public"]} for event in found]
    for event in found:
        event.pop("public", None)
    return sorted(found, key=lambda event: (event["at"], event["kind"], event["id"]))


def _versions(start: dt.datetime, end: dt.datetime) -> list[Json]:
    rows = PolicyVersion.objects.filter(activated_at__gte=start, activated_at__lt=end).order_by("-activated_at")
    return [
        {
            "at": at, "kind": "policy", "id": pk, "text": f"Policy {pk} in force: {message}"[:200],
            "public": f"Policy {pk} in force",
        }
        for pk, at, message in rows.values_list("pk", "activated_at", "message")[:MOST]
    ]  # fmt: skip


def _rollouts(start: dt.datetime, end: dt.datetime) -> list[Json]:
    rows = Rollout.objects.filter(
        Q(created_at__gte=start, created_at__lt=end) | Q(ended_at__gte=start, ended_at__lt=end)
    )
    found = []
    for pk, version, state, began, ended in rows.order_by("-id").values_list(
        "pk", "version_id", "state", "created_at", "ended_at"
    )[:MOST]:
        if start <= began < end:
            found.append({"at": began, "kind": "rollout", "id": pk, "text": f"Rollout {pk} of policy {version} began"})
        if ended and start <= ended < end:
            text = f"Rollout {pk} of policy {version} ended: {state}"
            found.append({"at": ended, "kind": "rollout", "id": pk, "text": text})
    return found


def _overrides(start: dt.datetime, end: dt.datetime) -> list[Json]:
    rows = PolicyOverride.objects.filter(
        Q(starts_at__gte=start, starts_at__lt=end) | Q(ends_at__gte=start, ends_at__lt=end), cancelled_at=None
    )
    found = []
    for pk, queue, field, began, ended in rows.order_by("-id").values_list(
        "pk", "queue", "field", "starts_at", "ends_at"
    )[:MOST]:
        for at, word in ((began, "begins"), (ended, "ends")):
            if start <= at < end:
                text = f"Override {pk} of {queue}.{field} {word}"
                found.append({"at": at, "kind": "override", "id": pk, "text": text})
    return found


def _sub_clusters(start: dt.datetime, end: dt.datetime) -> list[Json]:
    rows = AuditEntry.objects.filter(action__startswith="sub-cluster.", at__gte=start, at__lt=end).order_by("-at")
    found = []
    for pk, at, action, target in rows.values_list("pk", "at", "action", "target")[:MOST]:
        if action in _LIVES:
            text = f"Sub-cluster {target.partition('/')[2]} is {_LIVES[action]}"
            found.append({"at": at, "kind": "sub-cluster", "id": pk, "text": text, "public": text})
    return found
