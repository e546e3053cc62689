"""What an account has of secrets: for itself their names, for its own tasks their values."""

import json
from collections.abc import Collection
from typing import Any

from django.db import connection

from controlplane.statestore import sealing
from controlplane.statestore.models import Secret
from wire.nodeapi import Secrets
from wire.states import JobState

NAMED = 3  # of the jobs and schedules that name a secret, so many of each are told
_NAMES_IT = "jsonb_path_exists({}, '$.groups[*].secrets[*].name ? (@ == $name)', %(found)s::jsonb)"
# What a service may go back to by itself counts, and what it was asked to run and its home has not begun yet. The index
# of an account's jobs has their states.
_JOBS = f"""
SELECT j.id FROM statestore_job j
 WHERE j.owner_id = %(owner)s AND j.state < {JobState.SUCCEEDED:d} AND ({_NAMES_IT.format("j.spec")}
    OR (j.services->'rollout'->>'back' = 'false' AND {_NAMES_IT.format("j.revisions->-2->'spec'")})
    OR j.id IN (SELECT i.job_id FROM statestore_intent i
                 WHERE i.kind = 'update' AND {_NAMES_IT.format("i.payload->'spec'")}))
 ORDER BY j.id LIMIT %(limit)s
"""
_SCHEDULES = f"""
SELECT name FROM statestore_schedule
 WHERE owner_id = %(owner)s AND ({_NAMES_IT.format("template")}
    OR jsonb_path_exists(template, '$.master.secrets[*].name ? (@ == $name)', %(found)s::jsonb))
 ORDER BY id LIMIT %(limit)s
"""


def of_account(owner_id: int) -> list[dict[str, Any]]:
    """``contract.secrets.Secret`` of each, by name."""
    return list(Secret.objects.filter(owner_id=owner_id).order_by("name").values("name", "created_at", "changed_at"))


def known(owner_id: int, names: Collection[str]) -> set[str]:
    """Those of these names that the account has. One query."""
    return set(Secret.objects.filter(owner_id=owner_id, name__in=names).values_list("name", flat=True))


def named_by(owner_id: int, name: str) -> list[str]:
    """Which of the account's jobs that have not ended, and which of its schedules, name it: a few. Two queries."""
    asked = {"owner": owner_id, "found": json.dumps({"name": name}), "limit": NAMED + 1}
    with connection.cursor() as cursor:
        cursor.execute(_JOBS, asked)
        jobs = [f"job {number}" for (number,) in cursor.fetchall()]
        cursor.execute(_SCHEDULES, asked)
        schedules = [f"schedule {named}" for (named,) in cursor.fetchall()]
    return [*_few(jobs, "jobs"), *_few(schedules, "schedules")]


def _few(found: list[str], what: str) -> list[str]:
    return found if len(found) <= NAMED else [*found[:NAMED], f"other {what}"]


def values(owner_id: int, names: Collection[str]) -> Secrets:
    """Their values as they are now, and of which there is none. One query."""
    found = Secrets({}, dict.fromkeys(names, "was deleted since the job was submitted"))
    for name, sealed in Secret.objects.filter(owner_id=owner_id, name__in=names).values_list("name", "sealed"):
        try:
            found.secrets[name] = sealing.unseal(owner_id, name, sealed)
            del found.wrong[name]
        except sealing.Unreadable:
            found.wrong[name] = "cannot be read any more, as its key is gone: put it again"
    return found
