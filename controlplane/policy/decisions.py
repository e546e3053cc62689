"""Four-eyes: what becomes of a change that waits for another operator.

``KINDS`` says how each kind of proposal is carried out. Everything is decided
under the one lock of policy changes, so a proposal is decided once, and of
two that were made from the same version one is carried out.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from contract.problems import FieldError
from controlplane.policy import approval, overrides, rolloutorders, versions
from controlplane.statestore.actions import policy as actions
from controlplane.statestore.actions.audit import Actor, record
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.errors import Conflict, Invalid, NotFound, Stale
from controlplane.statestore.models import PolicyProposal, PolicyVersion

Json = dict[str, Any]
State = PolicyProposal.State


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind is carried out. ``execute(approver, proposal)`` returns what it made, as {"version": 9}.

    ``of_base``: it is stale as soon as another base is in force.
    """

    execute: Callable[[Actor, PolicyProposal], Json]
    of_base: bool


def _publish(actor: Actor, p: PolicyProposal) -> Json:
    made = versions.publish(actor, p.payload["document"], p.message, force=p.payload["force"], author=p.author_id)
    return {"version": made.pk}


def _override(actor: Actor, p: PolicyProposal) -> Json:
    fields = dict(p.payload)
    for name in ("starts_at", "ends_at"):
        fields[name] = dt.datetime.fromisoformat(fields[name]) if fields[name] else None
    made = overrides.add(actor, overrides.NewOverride(**fields), author=p.author_id)
    return {"override": made.pk}


KINDS = {
    "document": Kind(_publish, of_base=True),
    "override": Kind(_override, of_base=False),
    "rollout": Kind(rolloutorders.execute_proposal, of_base=True),
}


def state(row: PolicyProposal, base: PolicyVersion | None, now: dt.datetime) -> str:
    """Its state by the row, and by what happened around it: also ``expired`` and ``stale``."""
    if row.state != State.PENDING:
        return str(row.state)
    if row.expires_at <= now:
        return "expired"
    stale = KINDS[row.kind].of_base and base is not None and actions.base_of(base) != actions.base_of(row.base)
    return "stale" if stale else "pending"


def approve(actor: Actor, number: int, message: str) -> PolicyProposal:
    """Carry a proposal out, or refuse: to its author, when it has been decided, has expired, or its base has moved."""
    with transaction.atomic():
        actions.lock()
        row, now, base = _pending(number, message), database_now(), versions.active()
        approval.check_may_approve(approval.of(versions.written(base)), actor.user_id, row.author_id)
        found = state(row, base, now)
        if found == "expired":
            raise Conflict(f"proposal {number} has expired; its author makes it again")
        if found == "stale":
            text = f"proposal {number} was made from version {row.base_id}, and version {base and base.pk} is in force"
            raise Stale(text, [FieldError("proposal", text, "its author makes it again from the version in force")])
        row.result = KINDS[row.kind].execute(actor, row)
        _decide(row, State.APPROVED, actor, message, now)
        told = {"message": message, "author": row.author.username}
        record(actor, "policy.approve", f"policy-proposal/{number}", after=told | row.result)
    return row


def reject(actor: Actor, number: int, message: str) -> PolicyProposal:
    """The change will not be made; by its author: it is taken back."""
    with transaction.atomic():
        actions.lock()
        row = _pending(number, message)
        verdict = State.WITHDRAWN if row.author_id == actor.user_id else State.REJECTED
        _decide(row, verdict, actor, message, database_now())
        record(actor, "policy.reject", f"policy-proposal/{number}", after={"message": message, "state": str(verdict)})
    return row


def _pending(number: int, message: str) -> PolicyProposal:
    found = PolicyProposal.objects.select_related("base").filter(pk=number) if 0 < number < 2**63 else None
    row = found.first() if found is not None else None
    if row is None:
        raise NotFound(f"there is no proposal {number}")
    if not message.strip():
        raise Invalid("the decision has no message", [FieldError("message", "is empty", "say why")])
    if row.state != State.PENDING:
        raise Conflict(f"proposal {number} is {row.state} already")
    return row


def _decide(row: PolicyProposal, verdict: State, actor: Actor, message: str, now: dt.datetime) -> None:
    row.state, row.decided_by_id, row.decided_at, row.decision = verdict, actor.user_id, now, message
    row.save(update_fields=["state", "decided_by", "decided_at", "decision", "result"])
