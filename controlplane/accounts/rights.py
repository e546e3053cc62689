"""Who may see and do what, as ``rules`` predicates, and the same as database filters for lists.

Operators may do everything and viewers see everything. A tenant sees and
changes its own jobs; in queues it was granted (and all below them) it sees
every job, and with level ``admin`` it may change them too. Grants are rows of
``QueueAccess`` and the access lists of the policy in force, taken together.
"""

import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import rules
from django.db import connection
from django.db.models import Q

from controlplane.statestore.models import QueueGrant

from .models import QueueAccess, Role, User

if TYPE_CHECKING:

    class JobLike(Protocol):
        owner_id: int
        queue: str


_ACCOUNTS = """
SELECT u.id, u.username, u.role, (SELECT jsonb_agg(jsonb_build_array(g.queue, g.level)) FROM (
        SELECT a.queue, a.level FROM accounts_queueaccess a WHERE a.user_id = u.id
         UNION
        SELECT q.queue, q.level FROM statestore_queuegrant q JOIN statestore_policyversion v ON v.id = q.version_id
         WHERE v.active AND q.principal IN (u.username, 'role:' || u.role)) g)
  FROM accounts_user u WHERE u.id = ANY(%s) AND u.is_active
"""


def accounts(numbers: Collection[int]) -> dict[int, User]:
    """Those accounts that may sign in, with nothing but what rights are made of; for reads only. One query."""
    found = {}
    with connection.cursor() as cursor:
        cursor.execute(_ACCOUNTS, [list(numbers)])
        for number, username, role, levels in cursor.fetchall():
            user = found[number] = User(pk=number, username=username, role=role, is_active=True)
            user._queue_levels = highest(json.loads(levels) if levels else [])
    return found


def access(user: User) -> dict[str, str]:
    """Queue path -> level, as granted to the account or by the policy in force.

    Read once per user object, that is once per request, in one query.
    """
    cached: dict[str, str] | None = getattr(user, "_queue_levels", None)
    if cached is None:
        own = QueueAccess.objects.filter(user_id=user.pk).values_list("queue", "level")
        named = QueueGrant.objects.filter(version__active=True, principal__in=principals(user.username, user.role))
        cached = user._queue_levels = highest(own.union(named.values_list("queue", "level")))
    return cached


def principals(username: str, role: str) -> tuple[str, str]:
    """As whom the policy names an account."""
    return username, f"role:{role}"


def highest(granted: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Of several levels for a queue the highest."""
    found: dict[str, str] = {}
    for queue, level in granted:
        if found.get(queue) != QueueAccess.Level.ADMIN:
            found[queue] = level
    return found


def covers(granted: str, queue: str) -> bool:
    """Whether a grant on one path reaches a queue: the path itself or anything below it."""
    return queue == granted or queue.startswith(granted + ".")


def level_in(user: User, queue: str) -> str | None:
    """The highest level a tenant was granted that reaches ``queue``; ``None`` without any."""
    levels = {level for path, level in access(user).items() if covers(path, queue)}
    if QueueAccess.Level.ADMIN in levels:
        return QueueAccess.Level.ADMIN
    return QueueAccess.Level.SUBMIT if levels else None


@rules.predicate
def is_operator(user: User) -> bool:
    return bool(user.is_active and getattr(user, "role", None) == Role.OPERATOR)


@rules.predicate
def is_viewer(user: User) -> bool:
    return bool(user.is_active and getattr(user, "role", None) == Role.VIEWER)


@rules.predicate
def is_tenant(user: User) -> bool:
    return bool(user.is_active and getattr(user, "role", None) == Role.TENANT)


@rules.predicate
def owns(user: User, job: "JobLike | None") -> bool:
    return job is not None and job.owner_id == user.pk


@rules.predicate
def shares_queue(user: User, job: "JobLike | None") -> bool:
    return job is not None and level_in(user, job.queue) is not None


@rules.predicate
def administers_queue(user: User, job: "JobLike | None") -> bool:
    return job is not None and level_in(user, job.queue) == QueueAccess.Level.ADMIN


rules.add_perm("jobs.view", is_operator | is_viewer | (is_tenant & (owns | shares_queue)))
rules.add_perm("jobs.change", is_operator | (is_tenant & (owns | administers_queue)))
rules.add_perm("jobs.submit", is_operator | is_tenant)
rules.add_perm("cluster.view_all", is_operator | is_viewer)
rules.add_perm("cluster.operate", is_operator)


def sees_everything(user: User) -> bool:
    return bool(rules.has_perm("cluster.view_all", user))


def visible_jobs(user: User) -> list[dict[str, Any]]:
    """Filters on jobs whose union is what ``user`` sees; each one is served by an index.

    An empty filter means everything.
    """
    if sees_everything(user):
        return [{}]
    if not is_tenant(user):
        return []
    return (
        [{"owner_id": user.pk}]
        + [{"queue": path} for path in sorted(access(user))]
        + [{"queue__startswith": path + "."} for path in sorted(access(user))]
    )


def visible_jobs_q(user: User, prefix: str = "") -> Q:
    """The same as one condition, for look-ups of a single row. ``prefix``: path to the job, with ``__``."""
    condition = Q(pk__in=[])
    for part in visible_jobs(user):
        if not part:
            return Q()
        condition |= Q(**{prefix + key: value for key, value in part.items()})
    return condition
