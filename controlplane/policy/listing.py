"""Proposals and overrides as operators see them."""

import datetime as dt
from typing import Any

from contract.problems import FieldError
from controlplane.policy import decisions, documents, rights, versions
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.errors import Invalid
from controlplane.statestore.models import PolicyOverride, PolicyProposal, PolicyVersion
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page

Json = dict[str, Any]


def _in_force() -> PolicyVersion | None:
    return PolicyVersion.objects.filter(active=True).only("base_id", "overrides").first()


def proposals_page(at: Cursor, size: int, everything: bool) -> Page:
    """One page, newest first; without ``everything`` those nobody has decided on."""
    found = PolicyProposal.objects.select_related("author", "decided_by", "base").defer("payload", "base__document")
    if not everything:
        found = found.filter(state=PolicyProposal.State.PENDING)
    rows, base, now = by_number(found, at, size, newest_first=True), _in_force(), database_now()
    return page([_proposal(row, base, now) for row in rows], [(row.pk,) for row in rows], size, at)


def proposal(number: int) -> Json | None:
    """One with its payload; ``None`` when there is none."""
    found = PolicyProposal.objects.select_related("author", "decided_by", "base").filter(pk=number)
    row = found.first() if 0 < number < 2**63 else None
    if row is None:
        return None
    return _proposal(row, _in_force(), database_now()) | {"payload": row.payload, "warnings": _warnings(row.payload)}


def _warnings(payload: Json) -> list[FieldError]:
    """Of the document that it would put in force, where that can still be read."""
    try:
        return rights.unheld(documents.validate(payload["document"])[1])
    except (KeyError, Invalid):
        return []


def _proposal(row: PolicyProposal, base: PolicyVersion | None, now: dt.datetime) -> Json:
    return {
        "id": row.pk,
        "kind": row.kind,
        "state": decisions.state(row, base, now),
        "message": row.message,
        "author": row.author.username,
        "base": row.base_id,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "decided_by": row.decided_by.username if row.decided_by else None,
        "decided_at": row.decided_at,
        "decision": row.decision,
        "result": row.result,
        "changes": row.changes,
    }


def overrides_page(at: Cursor, size: int, everything: bool) -> Page:
    """One page, newest first; without ``everything`` those that hold or will."""
    now = database_now()
    found = PolicyOverride.objects.all() if everything else versions.to_come(now)
    found = found.select_related("author", "cancelled_by")
    rows, active = by_number(found, at, size, newest_first=True), _in_force()
    return page([_override(row, active, now) for row in rows], [(row.pk,) for row in rows], size, at)


def override(number: int) -> Json:
    row = PolicyOverride.objects.select_related("author", "cancelled_by").get(pk=number)
    return _override(row, _in_force(), database_now())


def _override(row: PolicyOverride, active: PolicyVersion | None, now: dt.datetime) -> Json:
    return {
        "id": row.pk,
        "state": _state(row, active, now),
        "queue": row.queue,
        "field": row.field,
        "partition": row.partition,
        "change": row.change,
        "text": versions.as_override(row).text,
        "starts_at": row.starts_at,
        "ends_at": row.ends_at,
        "message": row.message,
        "author": row.author.username if row.author else None,
        "created_at": row.created_at,
        "cancelled_at": row.cancelled_at,
        "cancelled_by": row.cancelled_by.username if row.cancelled_by else None,
        "problem": row.problem,
    }


def _state(row: PolicyOverride, active: PolicyVersion | None, now: dt.datetime) -> str:
    if row.cancelled_at:
        return "cancelled"
    if row.ends_at <= now:
        return "over"
    if row.starts_at > now:
        return "planned"
    return "refused" if active and row.refused_in == active.pk else "in_force"
