"""Temporary overrides of queues: planned, cancelled, and put in force and out of it on time.

An override acts through the version in force: ``step`` compares which ones
should hold with those the version lists, and where they differ makes the next
version from what operators wrote. So a step that is lost, late, doubled or
run by several at once changes nothing that the next look would not.
"""

import datetime as dt
from dataclasses import dataclass, replace
from typing import Any

import structlog
from django.db import transaction
from pydantic import ValidationError

from contract.policy.document import PolicyDocument
from contract.policy.findings import explain
from contract.problems import FieldError
from controlplane.policy import documents, versions
from controlplane.policy.derive import FIELDS, LIMITS, Override, derive
from controlplane.statestore.actions import policy as actions
from controlplane.statestore.actions.audit import SYSTEM, Actor, record
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.errors import Conflict, Invalid, NotFound
from controlplane.statestore.models import PolicyOverride, PolicyVersion

Json = dict[str, Any]
log = structlog.get_logger(__name__)
LONGEST = dt.timedelta(days=366)
MAX_TO_COME = 100
MAX_PERCENT = 1000


@dataclass(frozen=True, slots=True)
class NewOverride:
    """What an operator asks for. ``starts_at`` null: at once. ``change``: as of ``models.PolicyOverride``."""

    queue: str
    field: str
    change: Json
    ends_at: dt.datetime
    message: str
    starts_at: dt.datetime | None = None
    partition: str = ""


def check(new: NewOverride, now: dt.datetime) -> None:
    """``Invalid`` names what is wrong with it, by itself or in the policy as it is; ``Conflict``: it overlaps."""
    starts_at = max(now, new.starts_at or now)
    wrong = _wrong(new)
    if not new.message.strip():
        wrong.append(FieldError("message", "is empty", "say why: others read it in the list of versions"))
    if new.ends_at <= starts_at:
        wrong.append(FieldError("ends_at", "is not after its start, or has passed", "choose a later time"))
    elif new.ends_at - starts_at > LONGEST:
        wrong.append(FieldError("ends_at", "is more than a year after its start", "change the policy itself"))
    if wrong:
        raise Invalid("the override has errors", wrong)
    beside = list(versions.to_come(now).filter(starts_at__lt=new.ends_at, ends_at__gt=starts_at))
    _check_overlap(new, beside)
    if versions.to_come(now).count() >= MAX_TO_COME:
        raise Conflict(f"{MAX_TO_COME} overrides are planned or in force; cancel one, or change the policy itself")
    document = versions.written(versions.active())
    mine = Override(new.queue, new.field, new.partition, new.change)
    for moment in sorted({starts_at, *(row.starts_at for row in beside if row.starts_at > starts_at)}):
        then = [versions.as_override(row) for row in beside if row.starts_at <= moment < row.ends_at]
        _check_together(document, then, mine, moment)


def _wrong(new: NewOverride) -> list[FieldError]:
    if new.field not in FIELDS:
        return [FieldError("field", f"{new.field!r} cannot be overridden", f"use one of: {', '.join(FIELDS)}")]
    if new.partition and new.field not in LIMITS:
        return [FieldError("partition", f"{new.field} is not of a partition", "leave it out")]
    if set(new.change) == {"percent"}:
        percent = new.change["percent"]
        remedy = f"use a number above -100 and up to {MAX_PERCENT} that is not 0"
        wrong = FieldError("change.percent", f"{percent:g} is no change that can be made", remedy)
        return [] if percent and -100 < percent <= MAX_PERCENT else [wrong]
    if set(new.change) != {"to"}:
        return [FieldError("change", "must say what changes", 'give {"to": value} or {"percent": 20}')]
    try:
        PolicyDocument.model_validate({"queues": {"q": {new.field: new.change["to"]}}})
    except ValidationError as error:
        within = f"queues.q.{new.field}"
        return [replace(e, field=f"change.to{e.field.removeprefix(within)}") for e in explain(error)[:5]]
    return []


def _check_overlap(new: NewOverride, beside: list[PolicyOverride]) -> None:
    for row in beside:
        if (row.queue, row.field, row.partition) == (new.queue, new.field, new.partition):
            text = f"override {row.pk} of {row.queue} {row.field} holds until {row.ends_at:%Y-%m-%d %H:%M} UTC"
            remedy = f"choose other times, or: hydractl policy overrides cancel {row.pk}"
            raise Conflict(text, [FieldError("starts_at", text, remedy)])


def _check_together(document: Json, then: list[Override], mine: Override, moment: dt.datetime) -> None:
    """then: those that hold from that moment on. What is wrong without them as well is not put down to them."""
    wrong = _wrong_with(document, [*then, mine])
    if wrong is None:
        return
    alone = _wrong_with(document, [mine]) if then else wrong
    own = {(e.field, e.message) for e in alone.errors} if alone else set()
    where = f" together with override {', '.join(str(o.number) for o in then)}, from {moment:%Y-%m-%d %H:%M} UTC on"
    errors = [e if (e.field, e.message) in own else replace(e, message=e.message + where) for e in wrong.errors]
    raise Invalid(wrong.detail, errors)


def _wrong_with(document: Json, overrides: list[Override]) -> Invalid | None:
    try:
        documents.validate(derive(document, overrides))
    except Invalid as error:
        return error
    return None


def add(actor: Actor, new: NewOverride, *, author: int | None = None) -> PolicyOverride:
    """Plan an override; one that begins now is in force when this returns. ``author``: as of ``versions.publish``."""
    with transaction.atomic():
        actions.lock()
        now = database_now()
        check(new, now)
        row = PolicyOverride.objects.create(
            queue=new.queue,
            field=new.field,
            partition=new.partition,
            change=new.change,
            starts_at=max(now, new.starts_at or now),
            ends_at=new.ends_at,
            message=new.message,
            author_id=actor.user_id if author is None else author,
            created_at=now,
        )
        after = {"text": versions.as_override(row).text, "message": new.message}
        after |= {"starts_at": row.starts_at.isoformat(), "ends_at": row.ends_at.isoformat()}
        record(actor, "policy.override.add", f"policy-override/{row.pk}", after=after)
        versions.settle(actor, now)
        row.refresh_from_db()
    return row


def cancel(actor: Actor, number: int, message: str = "") -> PolicyOverride:
    """End an override now, or call it off. What was before holds when this returns. A repeat changes nothing."""
    with transaction.atomic():
        actions.lock()
        now = database_now()
        row = PolicyOverride.objects.filter(pk=number).first() if 0 < number < 2**63 else None
        if row is None:
            raise NotFound(f"there is no override {number}")
        if row.cancelled_at is None:
            if row.ends_at <= now:
                raise Conflict(f"override {number} is over")
            row.cancelled_at, row.cancelled_by_id = now, actor.user_id
            row.save(update_fields=["cancelled_at", "cancelled_by"])
            before = {"text": versions.as_override(row).text, "message": row.message}
            record(actor, "policy.override.cancel", f"policy-override/{number}", before, {"message": message})
            why = f"override {number} is cancelled" + (f": {message}" if message else "")
            versions.settle(actor, now, why, actor.user_id)
    return row


def step(now: dt.datetime | None = None) -> PolicyVersion | None:
    """Begin and end what is due; the new version if that made one. Two small queries when nothing is due."""
    before = PolicyVersion.objects.filter(active=True).only("overrides").first()
    if before is None or not versions.differs(before, versions.live_overrides(now or database_now())):
        return None
    with transaction.atomic():
        actions.lock()
        try:
            made = versions.settle(SYSTEM, now or database_now())
        except Invalid as error:
            log.error("overrides cannot be applied", why=error.detail)
            return None
    if made:
        log.info("overrides changed the policy", version=made.pk, why=made.message)
    return made
