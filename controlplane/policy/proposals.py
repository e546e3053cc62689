"""Four-eyes: changes that wait until another operator approves them. ``decisions`` says what becomes of them."""

import datetime as dt
from dataclasses import asdict
from typing import Any

from controlplane.policy import approval, overrides, versions
from controlplane.policy.diff import Change
from controlplane.statestore.actions.audit import Actor, record
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.errors import Conflict
from controlplane.statestore.models import PolicyProposal, PolicyVersion

Json = dict[str, Any]
MAX_PENDING = 100


def needed(actor: Actor, base: PolicyVersion | None) -> bool:
    """Whether a change by this actor waits for another operator. What the system does itself does not."""
    return actor.user_id is not None and approval.of(versions.written(base)).required


def propose(
    actor: Actor, kind: str, payload: Json, message: str, base: PolicyVersion, changes: list[Change]
) -> PolicyProposal:
    """Store a change for another operator to decide on; under ``actions.lock``. It has been checked as it stands."""
    assert actor.user_id is not None
    now = database_now()
    if PolicyProposal.objects.filter(state=PolicyProposal.State.PENDING, expires_at__gt=now).count() >= MAX_PENDING:
        raise Conflict(f"{MAX_PENDING} proposals wait already; decide on some of them first")
    row = PolicyProposal.objects.create(
        kind=kind,
        payload=payload,
        changes=versions.brief(changes),
        message=message,
        author_id=actor.user_id,
        base=base,
        created_at=now,
        expires_at=now + dt.timedelta(seconds=approval.of(versions.written(base)).expires_s),
    )
    after = {"kind": kind, "message": message, "changes": [c["text"] for c in row.changes]}
    record(actor, "policy.propose", f"policy-proposal/{row.pk}", {"version": base.pk}, after)
    return row


def as_payload(new: overrides.NewOverride) -> Json:
    """An override as a proposal keeps it."""
    found: Json = asdict(new)
    for name in ("starts_at", "ends_at"):
        found[name] = found[name].isoformat() if found[name] else None
    return found
