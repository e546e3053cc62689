"""Why groups wait, as far as their rows alone tell it; the rest is what their resource manager wrote."""

from typing import Any

from django.db.models import F
from django.db.models.functions import Least

from controlplane import clock
from controlplane.statestore.models import Ask
from wire.counts import counted
from wire.states import GroupState, JobState


def complete(job: dict[str, Any]) -> dict[str, Any]:
    """The same job JSON, with reasons for groups that wait for other groups of it."""
    if job["state"] not in (JobState.ADMITTED.name, JobState.RUNNING.name):
        return job
    by_name = {group["name"]: group for group in job["groups"]}
    for group in job["groups"]:
        if group["state"] == GroupState.WAITING.name and group["after"]:
            before = [by_name[name] for name in group["after"] if name in by_name]
            open_ = [other for other in before if other["state"] != GroupState.SUCCEEDED.name]
            if open_:
                group["reason"] = _after(group, open_)
    return job


def _after(group: dict[str, Any], before: list[dict[str, Any]]) -> dict[str, Any]:
    """It starts when these groups have succeeded."""
    left = [(g["name"], g["count"] - g["succeeded"]) for g in before]
    parts = [f"{name} ({counted(count, 'task')} left)" for name, count in left]
    text = f"It starts after {' and '.join(parts)}."
    return {
        "code": "dependencies",
        "text": text,
        "waiting": group["pending"],
        "asked": group["resources"],
        "limits": [
            {"limit": "dependencies", "text": text, "asked": {}, "available": {}, "after": [n for n, _ in left]}
        ],
        "position": None,
        "estimate": None,
        "change": None,
        "at": clock.now().isoformat(timespec="seconds"),
    }


def explanation(job: dict[str, Any]) -> dict[str, Any]:
    """Per group the answer to why it waits, here and elsewhere, as of when it was found. One query."""
    away = _elsewhere(job["id"])
    return {
        "job": job["id"],
        "state": job["state"],
        "waiting": job["waiting"],
        "groups": [
            {
                "no": group["no"],
                "name": group["name"],
                "state": group["state"],
                "pending": group["pending"],
                "as_of": (group["reason"] or {}).get("at"),
                "reason": group["reason"] if group["pending"] else None,
                "elsewhere": away.get(group["no"], []) if group["pending"] else [],
            }
            for group in job["groups"]
        ],
    }


def _elsewhere(job_id: int) -> dict[int, list[dict[str, Any]]]:
    """By group: what of it waits in other sub-clusters."""
    waiting = Least("target", "wish") - F("taken")
    rows = Ask.objects.filter(job_id=job_id).annotate(waiting=waiting).filter(waiting__gt=0)
    found: dict[int, list[dict[str, Any]]] = {}
    for no, name, n, since, reason in rows.order_by("group_no", "sub_cluster__name").values_list(
        "group_no", "sub_cluster__name", "waiting", "since", "reason"
    ):
        found.setdefault(no, []).append({"sub_cluster": name, "waiting": n, "since": since, "reason": reason})
    return found
