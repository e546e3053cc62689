"""An account's receivers, and what each of them was told."""

from collections.abc import Collection
from typing import Any

from controlplane.accounts.models import User
from controlplane.statestore.models import Notification, Receiver
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page

Json = dict[str, Any]
WAITING_MAX = 1000  # counted


def of_account(owner: User) -> list[Json]:
    """``contract.notifications.Receiver`` of each, by name."""
    return [as_json(row, owner) for row in Receiver.objects.filter(owner=owner).order_by("name")]


def as_json(row: Receiver, owner: User) -> Json:
    """One of them."""
    waiting = Notification.objects.filter(receiver=row, state=Notification.State.WAITING)[:WAITING_MAX]
    return {
        "name": row.name,
        "kind": row.kind,
        "address": owner.email if row.kind == Receiver.Kind.MAIL else row.address,
        "every_job": row.every_job,
        "created_at": row.created_at,
        "changed_at": row.changed_at,
        "waiting": waiting.count(),
        "failures": row.failures,
        "error": row.error,
        "next_at": row.free_at if row.failures else None,
    }


def known(owner_id: int, names: Collection[str]) -> set[str]:
    """Those of these names that the account has. One query."""
    return set(Receiver.objects.filter(owner_id=owner_id, name__in=names).values_list("name", flat=True))


def told(receiver: Receiver, at: Cursor, size: int) -> Page:
    """A page of what it was told and is to be told, newest first."""
    found = Notification.objects.filter(receiver=receiver).values(
        "id", "event", "job_id", "job__name", "at", "state", "attempts", "error", "tried_at"
    )
    rows = by_number(found, at, size, newest_first=True)
    return page([_told(row) for row in rows], [(row["id"],) for row in rows], size, at)


def _told(row: Json) -> Json:
    job, name = row.pop("job_id"), row.pop("job__name")
    return row | {"job": {"id": job, "name": name} if job else None}


def as_told(row: Notification) -> Json:
    """``contract.notifications.Notification`` of a test."""
    fields = ("id", "event", "at", "state", "attempts", "error", "tried_at")
    return {name: getattr(row, name) for name in fields} | {"job": None}
