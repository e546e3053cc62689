"""Accounts as operators and their owners see them."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet, Window
from django.db.models.functions import RowNumber
from knox.models import AuthToken

from controlplane import clock
from controlplane.accounts.models import QueueAccess, User
from controlplane.accounts.rights import highest, principals
from controlplane.statestore.models import QueueGrant
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page

Json = dict[str, Any]
_FIELDS = ("id", "username", "role", "is_active", "date_joined", "last_login", "email")
QUEUES_LISTED = 10  # of each account of a page
QUEUES_MAX = 100  # of one account


def list_page(at: Cursor, size: int, name: str | None = None, role: str | None = None) -> Page:
    """One page of accounts by number, those whose name contains ``name``. Four queries."""
    found = User.objects.values(*_FIELDS)
    if name:
        found = found.filter(username__icontains=name)
    if role:
        found = found.filter(role=role)
    rows = _accounts(by_number(found, at, size), QUEUES_LISTED)
    return page(rows, [(row["id"],) for row in rows], size, at)


def one(username: str) -> Json | None:
    """That account, or ``None``. Four queries."""
    if "\0" in username:
        return None
    found = _accounts(list(User.objects.filter(username=username).values(*_FIELDS)), QUEUES_MAX)
    return found[0] if found else None


class _Rights:
    """The first rights of each account or principal, by queue, and how many there are."""

    def __init__(self, found: "QuerySet[Any]", of: str, most: int) -> None:
        self.first: dict[Any, list[tuple[str, str]]] = defaultdict(list)
        self.total: dict[Any, int] = defaultdict(int)
        each = found.annotate(
            at=Window(RowNumber(), partition_by=F(of), order_by="queue"), n=Window(Count("pk"), partition_by=F(of))
        )
        for whose, path, level, n in each.filter(at__lte=most).order_by("at").values_list(of, "queue", "level", "n"):
            self.first[whose].append((path, level))
            self.total[whose] = n


def _queues(rows: list[Json], most: int) -> dict[int, Json]:
    """What each account was granted and what the policy in force gives it. Two queries."""
    named = {row["id"]: principals(row["username"], row["role"]) for row in rows}
    own = _Rights(QueueAccess.objects.filter(user__in=named), "user", most)
    active = QueueGrant.objects.filter(version__active=True, principal__in=set().union(*named.values()))
    policy = _Rights(active, "principal", most)
    found = {}
    for pk, names in named.items():
        given = highest(right for name in names for right in policy.first[name])
        shown = [*_said(own.first[pk], "grant"), *_said(sorted(given.items()), "policy")]
        unread = own.total[pk] - len(own.first[pk]) + sum(policy.total[n] - len(policy.first[n]) for n in names)
        found[pk] = {"queues": shown[:most], "queues_left_out": max(0, len(shown) - most) + unread}
    return found


def _said(granted: Iterable[tuple[str, str]], source: str) -> list[Json]:
    return [{"path": path, "level": level, "source": source} for path, level in granted]


def _accounts(rows: list[Json], most: int) -> list[Json]:
    ids, queues = [row["id"] for row in rows], _queues(rows, most)
    live = Q(expiry=None) | Q(expiry__gt=clock.now())
    counted = AuthToken.objects.filter(live, user__in=ids).values("user").annotate(n=Count("pk"))
    tokens = {row["user"]: row for row in counted.annotate(used=Max("note__last_used_at"))}
    return [
        {
            "id": row["id"],
            "username": row["username"],
            "role": row["role"],
            "active": row["is_active"],
            "created_at": row["date_joined"],
            "last_login_at": row["last_login"],
            "tokens": tokens.get(row["id"], {}).get("n", 0),
            "token_used_at": tokens.get(row["id"], {}).get("used"),
            **queues[row["id"]],
            "email": row["email"],
        }
        for row in rows
    ]
