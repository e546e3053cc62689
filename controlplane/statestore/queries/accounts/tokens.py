"""Tokens as operators and their owners see them. Nothing here can be used to log in."""

from typing import Any

from django.db.models import Case, Q, When
from knox.models import AuthToken

from controlplane import clock
from controlplane.accounts.models import User
from controlplane.statestore.models import JoinToken, SubClusterToken

Json = dict[str, Any]
TOKENS_MAX = 200


def of_account(user: User, using: AuthToken | None = None) -> list[Json]:
    """The account's tokens that are valid, newest first; ``using``: the one this request carries. One query.

    Of more than ``TOKENS_MAX`` the oldest that log-ins made are left out, and never one with a name.
    """
    valid = Q(expiry=None) | Q(expiry__gt=clock.now())
    nameless = Case(When(note__name__gt="", then=0), default=1)
    found = AuthToken.objects.filter(valid, user=user).select_related("note").order_by(nameless, "-created")
    rows = sorted(found[:TOKENS_MAX], key=lambda row: row.created, reverse=True)
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
    ]


def join_tokens() -> list[Json]:
    """Tokens that register something now: nodes of a sub-cluster, or a new sub-cluster. Two queries."""
    now = clock.now()
    live = Q(expires_at=None) | Q(expires_at__gt=now)
    nodes = JoinToken.objects.filter(live, revoked_at=None, used_at=None).exclude(sub_cluster__state="decommissioned")
    subs = SubClusterToken.objects.filter(used_at=None, expires_at__gt=now)
    found = [
        _line("node", *row)
        for row in nodes.order_by("-id").values_list(
            "id", "sub_cluster__name", "note", "created_at", "expires_at", "node"
        )[:TOKENS_MAX]
    ]
    found += [
        _line("sub_cluster", *row)
        for row in subs.order_by("-id").values_list("id", "name", "note", "created_at", "expires_at")[:TOKENS_MAX]
    ]
    return found


def _line(kind: str, pk: int, name: str, note: str, made: Any, until: Any, node: str = "") -> Json:
    return {
        "kind": kind, "id": pk, "sub_cluster": name, "node": node, "note": note, "created_at": made,
        "expires_at": until,
    }  # fmt: skip
