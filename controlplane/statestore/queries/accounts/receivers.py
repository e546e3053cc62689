"""An account's receivers, and what each of them was told."""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, get_args

from contract.notifications import Event
from controlplane.accounts.models import User
from controlplane.statestore.models import Job, Notification, Receiver
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page

Json = dict[str, Any]
WAITING_MAX = 1000  # counted
EVENTS = get_args(Event)


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


def of_job(job_id: int, owner_id: int) -> list[Json]:
    """``contract.notifications.JobReceiver`` of each that the job names, or that is told of every one, if it was there
    before the job ended. Three queries.

    Of one that was deleted since, that it was.
    """
    named, ended = Job.objects.values_list("spec__notify", "finished_at").get(pk=job_id)
    wanted = _by_name(named or ())
    known = {row.name: row for row in Receiver.objects.filter(owner_id=owner_id)}
    for row in known.values():
        if row.every_job and not (ended and ended < row.created_at):
            wanted[row.name] = wanted.get(row.name, set()) | set(row.every_job)
    told: dict[int, list[Json]] = {}
    for each in Notification.objects.filter(job_id=job_id).order_by("id").values("receiver_id", "state", "error"):
        told.setdefault(each["receiver_id"], []).append(each)
    return [_of_job(name, events, known.get(name), told) for name, events in sorted(wanted.items())]


def _by_name(named: Iterable[Json]) -> dict[str, set[str]]:
    """By the receiver's name, the events of which the job has it told."""
    found: dict[str, set[str]] = {}
    for said in named:
        found.setdefault(said["receiver"], set()).update(said["events"])
    return found


def _of_job(name: str, events: set[str], row: Receiver | None, told: dict[int, list[Json]]) -> Json:
    of_it = told.get(row.pk, []) if row else []
    count = Counter(each["state"] for each in of_it)
    waiting = count[Notification.State.WAITING]
    errors = [each["error"] for each in of_it if each["error"]]
    return {
        "receiver": name,
        "events": [event for event in EVENTS if event in events],
        "waiting": waiting,
        "sent": count[Notification.State.SENT],
        "given_up": count[Notification.State.GIVEN_UP],
        "error": (errors or [""])[-1] if row else "it was deleted, and is told nothing",
        "next_at": row.free_at if row and row.failures and waiting else None,
    }
