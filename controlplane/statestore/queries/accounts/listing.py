"""Accounts as operators and their owners see them."""

from typing import Any

from django.db.models import Count, Max, Q
from knox.models import AuthToken

from controlplane import clock
from controlplane.accounts.models import QueueAccess, User
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page

Json = dict[str, Any]
_FIELDS = ("id", "username", "role", "is_active", "date_joined", "last_login", "email")
GRANTS_MAX = 100  # of one account


def list_page(at: Cursor, size: int, name: str | None = None, role: str | None = None) -> Page:
    """One page of accounts by number, those whose name contains ``name``. Three queries."""
    found = User.objects.values(*_FIELDS)
    if name:
        found = found.filter(username__icontains=name)
    if role:
        found = found.filter(role=role)
    rows = _accounts(by_number(found, at, size))
    return page(rows, [(row["id"],) for row in rows], size, at)


def one(username: str) -> Json | None:
    """That account, or ``None``. Three queries."""
    if "\0" in username:
        return None
    found = _accounts(list(User.objects.filter(username=username).values(*_FIELDS)))
    return found[0] if found else None


def _accounts(rows: list[Json]) -> list[Json]:
    ids = [row["id"] for row in rows]
    grants: dict[int, list[Json]] = {pk: [] for pk in ids}
    for user, path, level in (
        QueueAccess.objects.filter(user__in=ids).order_by("user", "queue").values_list("user", "queue", "level")
    ):
        if len(grants[user]) < GRANTS_MAX:
            grants[user].append({"path": path, "level": level})
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
            "queues": grants[row["id"]],
            "email": row["email"],
        }
        for row in rows
    ]
