"""What comes of an operator's change: a version, a proposal, or nothing where it is so already."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from contract.problems import FieldError
from controlplane.policy import documents, overrides, proposals, rights, versions
from controlplane.policy.derive import Override, derive
from controlplane.policy.diff import diff
from controlplane.statestore.actions import policy as actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.errors import Invalid, NotFound
from controlplane.statestore.models import PolicyOverride, PolicyProposal, PolicyVersion

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """``changed``: ``version`` is new, rather than the one that said all this before. Or a proposal waits."""

    version: int | None = None
    changed: bool = False
    proposal: PolicyProposal | None = None
    override: PolicyOverride | None = None


def push(actor: Actor, document: Any, message: str, *, parent: int | None = None, force: bool = False) -> ChangeOutcome:
    """Put a document in force, or propose it where that needs a second operator.

    A document that says what the one in force says changes nothing, whatever it was made from.
    ``Stale`` when ``parent`` is given and another base is in force by now.
    """
    _check_message(message)
    valid = documents.validate(document)
    with transaction.atomic():
        actions.lock()
        before = versions.active()
        was, to = versions.written(before), valid[0]
        found = versions.changes(was, to) if before else []
        if before and not found and _same(was, to):
            return ChangeOutcome(before.pk)
        actions.check_parent(before, parent)
        versions.check_approval(actor, before, to)
        if before and proposals.needed(actor, before):
            payload = {"document": to, "force": force}
            return ChangeOutcome(proposal=proposals.propose(actor, "document", payload, message, before, found))
        return ChangeOutcome(versions.put_in_force(actor, valid, message, before, found, force=force).pk, changed=True)


def rollback(
    actor: Actor, number: int, message: str, *, parent: int | None = None, force: bool = False
) -> ChangeOutcome:
    """Push what operators wrote in an older version, as a new one. ``Invalid`` where it makes no sense any more."""
    old = PolicyVersion.objects.filter(pk=number).first() if 0 < number < 2**63 else None
    if old is None:
        raise NotFound(f"there is no policy version {number}; hydractl policy versions lists them")
    try:
        return push(actor, versions.written(old), message, parent=parent, force=force)
    except Invalid as error:
        detail = f"version {number} cannot be put in force as it is: {error.detail}"
        raise Invalid(detail, error.errors) from None


def override(actor: Actor, new: overrides.NewOverride) -> ChangeOutcome:
    """Plan an override, or propose it where changes need a second operator."""
    with transaction.atomic():
        actions.lock()
        before = versions.active()
        if before is None or not proposals.needed(actor, before):
            return ChangeOutcome(override=overrides.add(actor, new))
        overrides.check(new, database_now())
        was = versions.written(before)
        to = derive(was, [Override(new.queue, new.field, new.partition, new.change)])
        payload = proposals.as_payload(new)
        changes = versions.changes(was, to)
        return ChangeOutcome(proposal=proposals.propose(actor, "override", payload, new.message, before, changes))


def _same(one: Json, two: Json) -> bool:
    """Whether two documents say the same, however they write it."""
    try:
        return bool(documents.parse(one).model_dump() == documents.parse(two).model_dump())
    except Invalid:  # one that an older release wrote
        return False


def _check_message(message: str) -> None:
    if not message.strip():
        wrong = FieldError("message", "is empty", "say what changes and why: others read it in the list of versions")
        raise Invalid("the change has no message", [wrong])


# --- to look at before


@dataclass(frozen=True, slots=True)
class ComparedVersions:
    """``changes``: what operators wrote. ``overridden``: what overrides make of the second one; null is a document.
    ``warnings``: of a document."""

    first: int | None
    second: int | None
    changes: list[Any]
    overridden: list[Any]
    warnings: list[FieldError]


def compare(first: int | None, second: int | None, document: Json | None) -> ComparedVersions:
    """From version ``first`` to a document, or to version ``second``; the version in force where one is not given."""
    one, warnings = _version(first), list[FieldError]()
    if document is None:
        two = _version(second)
        to = versions.written(two)
        held = versions.readable(two.document) if two else to
    else:
        to, rows = documents.validate(document)
        live = [versions.as_override(row) for row in versions.live_overrides(database_now())]
        two, held = None, versions.effective(to, rows, live).document
        warnings = rights.unheld(rows)
    found = diff(versions.written(one), to), diff(to, held)
    return ComparedVersions(one and one.pk, two and two.pk, *found, warnings)


def _version(number: int | None) -> PolicyVersion | None:
    if number is None:
        return versions.active()
    found = PolicyVersion.objects.filter(pk=number).first() if 0 < number < 2**63 else None
    if found is None:
        raise NotFound(f"there is no policy version {number}; hydractl policy versions lists them")
    return found
