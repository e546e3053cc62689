"""Accounts and tokens as operators and their owners see them. Nothing here can be used to log in."""

from typing import Any

from django.db.models import Count, Max, Q
from django.utils import timezone
from knox.models import AuthToken

from controlplane.accounts.models import QueueAccess, User
from controlplane.statestore.models import JoinToken, SubClusterToken

from .paging import Cursor, Page, by_number, page

Json = dict[str, Any]
_FIELDS = ("id", "username", "role", "is_active", "date_joined", "last_login")
GRANTS_MAX = 100  # of one account
TOKENS_MAX = 200


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
    live = Q(expiry=None) | Q(expiry__gt=timezone.now())
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
        }
        for row in rows
    ]


def tokens(user: User, using: AuthToken | None = None) -> list[Json]:
    """The account's tokens, newest first; ``using``: the one this request carries. One query."""
    now = timezone.now()
    rows = AuthToken.objects.filter(user=user).select_related("note").order_by("-created")[:TOKENS_MAX]
    return [
        {
            "key": row.token_key,
            "name": note.name if (note := getattr(row, "note", None)) else "",
            "created_at": row.created,
            "expires_at": row.expiry,
            "last_used_at": note.last_used_at if note else None,
            "current": using is not None and row.pk == using.pk,
        }
        for row in rows
        if row.expiry is None or row.expiry > now
    ]


def join_tokens() -> list[Json]:
    """Tokens that register something now: nodes of a sub-cluster, or a new sub-cluster. Two queries."""
    now = timezone.now()
    live = Q(expires_at=None) | Q(expires_at__gt=now)
    nodes = JoinToken.objects.filter(live, revoked_at=None).exclude(sub_cluster__state="decommissioned")
    subs = SubClusterToken.objects.filter(used_at=None, expires_at__gt=now)
    found = [
        {"kind": "node", "id": pk, "sub_cluster": name, "note": note, "created_at": created, "expires_at": expires}
        for pk, name, note, created, expires in nodes.order_by("-id").values_list(
            "id", "sub_cluster__name", "note", "created_at", "expires_at"
        )[:TOKENS_MAX]
    ]
    found += [
        {"kind": "sub_cluster", "id": pk, "sub_cluster": name, "note": note, "created_at": made, "expires_at": expires}
        for pk, name, note, made, expires in subs.order_by("-id").values_list(
            "id", "name", "note", "created_at", "expires_at"
        )[:TOKENS_MAX]
    ]
    return found
