"""What a tenant is told of why its jobs wait: reasons without the numbers that would tell of others."""

from collections.abc import Iterable
from typing import Any

from controlplane.accounts.models import User
from controlplane.accounts.rights import level_in, sees_everything

Json = dict[str, Any]


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
    return limit | {"text": f"The queue {queue} has not as much left below its maximum.", "available": {}}
