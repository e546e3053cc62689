"""Putting a document in force: the version it becomes, with the overrides of the moment applied to it."""

import datetime as dt
import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.db import transaction

from contract.policy.components import stored
from contract.policy.document import PolicyDocument
from contract.problems import FieldError
from controlplane.policy import approval, documents
from controlplane.policy.derive import Override, derive
from controlplane.policy.diff import SEVERITIES, Change, diff
from controlplane.policy.digest import digest
from controlplane.statestore.actions import policy as actions
from controlplane.statestore.actions.audit import Actor, record
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.actions.policy import Origin, QueueRow
from controlplane.statestore.errors import Conflict, Invalid
from controlplane.statestore.models import PolicyOverride, PolicyVersion

Json = dict[str, Any]
MAX_AUDITED = 100
MAX_KEPT = 20
MAX_VALUE = 4000  # characters of JSON
MAX_MESSAGE = 2000


@dataclass(frozen=True, slots=True)
class Effective:
    """What a document comes to. ``applied``: overrides in it. ``refused``: override -> why it is not."""

    document: Json
    rows: list[QueueRow]
    applied: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)


def active() -> PolicyVersion | None:
    return PolicyVersion.objects.filter(active=True).first()


def written(version: PolicyVersion | None) -> Json:
    """What operators wrote, without overrides, in the shape this release reads."""
    if version is None:
        return {"queues": {}}
    document = version.document if version.written is None else version.written
    return readable(document)


def digest_of(version: PolicyVersion) -> str | None:
    """Of what operators wrote in it; None where this release cannot read it any more."""
    try:
        return version.digest or digest(written(version))
    except Invalid:
        return None


def readable(document: Json) -> Json:
    """A stored document without what this release does not know any more."""
    kept = {name: document[name] for name in PolicyDocument.model_fields if name in document}
    return kept | {"components": stored(document.get("components")).model_dump()}


def changes(before: Json, after: Json) -> list[Change]:
    """What ``diff`` finds; nothing where a stored document cannot be read any more."""
    try:
        return diff(readable(before), readable(after))
    except Invalid:
        return []


def brief(found: list[Change]) -> list[Json]:
    """For rows that are kept: the gravest first, and not without end."""
    gravest = sorted(found, key=lambda c: SEVERITIES.index(c.severity))[:MAX_AUDITED]
    return [
        asdict(c) | {"kept": c.kept[:MAX_KEPT], "before": _short(c.before), "after": _short(c.after)} for c in gravest
    ]


def _short(value: Any) -> Any:
    """A value, or that it is too long to be kept twice: a queue that goes with thousands below it."""
    return value if value is None or len(json.dumps(value)) <= MAX_VALUE else {"cut": "see the version's document"}


# --- with overrides


def live_overrides(now: dt.datetime) -> list[PolicyOverride]:
    """Those that hold at that moment by their times, in the order they were made."""
    return list(to_come(now).filter(starts_at__lte=now))


def to_come(now: dt.datetime) -> Any:
    """Those that hold or will, as a query."""
    return PolicyOverride.objects.filter(cancelled_at__isnull=True, ends_at__gt=now).order_by("pk")


def as_override(row: PolicyOverride) -> Override:
    return Override(row.queue, row.field, row.partition, row.change, row.pk)


def effective(document: Json, rows: list[QueueRow], overrides: list[Override]) -> Effective:
    """A valid document with overrides applied; those with which it would not be valid are left out."""
    if not overrides:
        return Effective(document, rows)
    try:
        return Effective(*documents.validate(derive(document, overrides)), [o.number for o in overrides])
    except Invalid:
        found = Effective(document, rows)
        kept: list[Override] = []
        refused: dict[int, str] = {}
    for o in overrides:
        try:
            found = Effective(*documents.validate(derive(document, [*kept, o])))
            kept.append(o)
        except Invalid as error:
            refused[o.number] = error.errors[0].message if error.errors else error.detail
    return replace(found, applied=[o.number for o in kept], refused=refused)


def _check_overrides(actor: Actor, document: Json, now: dt.datetime, force: bool) -> None:
    """Overrides that make no sense in a new document stand in its way; ``force`` cancels them."""
    wrong = []
    for row in to_come(now):
        try:
            derive(document, [as_override(row)])
        except Invalid as error:
            wrong.append((row, error.detail))
    if wrong and not force:
        row, why = wrong[0]
        text = f"override {row.pk} ({as_override(row).text}) makes no sense in it: {why}"
        remedy = f"hydractl policy overrides cancel {row.pk}, or push with --force, which cancels it"
        raise Conflict(text, [FieldError("overrides", text, remedy)])
    for row, _ in wrong:
        PolicyOverride.objects.filter(pk=row.pk).update(cancelled_at=now, cancelled_by=actor.user_id)
        record(actor, "policy.override.cancel", f"policy-override/{row.pk}", after={"force": True})


def publish(
    actor: Actor,
    document: Any,
    message: str,
    *,
    parent: int | None = None,
    force: bool = False,
    author: int | None = None,
) -> PolicyVersion:
    """Validate the document and put it in force as a new version, with the overrides of this moment applied.

    ``parent``: the version it was made from; ``Stale`` when another base is in
    force by now. ``force``: remove queues although jobs live in them, and
    cancel overrides that make no sense in it. ``author``: who proposed it, where ``actor`` approves it.
    """
    valid, rows = documents.validate(document)
    with transaction.atomic():
        actions.lock()
        before = active()
        actions.check_parent(before, parent)
        found_changes = changes(written(before), valid) if before else []
        return put_in_force(actor, (valid, rows), message, before, found_changes, force=force, author=author)


def put_in_force(
    actor: Actor,
    valid: tuple[Json, list[QueueRow]],
    message: str,
    before: PolicyVersion | None,
    found_changes: list[Change],
    *,
    force: bool = False,
    author: int | None = None,
) -> PolicyVersion:
    """As ``publish``, with what ``validate`` made of the document, and what it changes. Under ``actions.lock``."""
    document, rows = valid
    with transaction.atomic():
        now = database_now()
        check_approval(actor, before, document)
        _check_overrides(actor, document, now, force)
        found = effective(document, rows, [as_override(row) for row in live_overrides(now)])
        origin = Origin(
            written=document if found.applied else None,
            overrides=found.applied,
            approved_by=None if author is None else actor.user_id,
        )
        version = _create(actor if author is None else Actor(author), found, message, before, origin)
        actions.activate(actor, version, force=force, changes=brief(found_changes))
        note_refused(found, version.pk)
    return version


def check_approval(actor: Actor, before: PolicyVersion | None, document: Json) -> None:
    """People switch four-eyes on, or change it, only so that somebody can still approve."""
    rule = approval.of(document)
    if actor.user_id is not None and rule != approval.of(written(before)) and (wrong := approval.check_approvers(rule)):
        raise Invalid("nobody could approve changes any more", wrong)


def _create(
    author: Actor, found: Effective, message: str, before: PolicyVersion | None, origin: Origin
) -> PolicyVersion:
    parent = before.pk if before else None
    said = digest(found.document if origin.written is None else origin.written)
    return actions.create_version(
        author, found.document, found.rows, message, parent=parent, origin=origin, digest=said
    )


def create(actor: Actor, document: Any, message: str, *, author: int | None = None) -> PolicyVersion:
    """Validate the document and store it as a version made from the one in force, without putting it in force."""
    valid, rows = documents.validate(document)
    origin = Origin(approved_by=None if author is None else actor.user_id)
    with transaction.atomic():
        actions.lock()
        before = active()
        check_approval(actor, before, valid)
        return _create(actor if author is None else Actor(author), Effective(valid, rows), message, before, origin)


def activate(actor: Actor, version: PolicyVersion, *, parent: int | None = None, force: bool = False) -> PolicyVersion:
    """Put a stored version in force; the version that then holds, which is one more where overrides apply."""
    with transaction.atomic():
        actions.lock()
        before = active()
        texts = brief(changes(written(before), written(version))) if before else []
        actions.activate(actor, version, parent=parent, force=force, changes=texts)
        return settle(actor, database_now()) or version


def note_refused(found: Effective, version: int) -> None:
    for number, why in found.refused.items():
        PolicyOverride.objects.filter(pk=number).update(problem=why, refused_in=version)


def settle(actor: Actor, now: dt.datetime, why: str = "", author: int | None = None) -> PolicyVersion | None:
    """Make the version in force hold the overrides of this moment; ``None`` when it does. Under ``actions.lock``.

    ``why`` and ``author``: of the new version; by default those of the overrides that begin or end.
    """
    before = active()
    if before is None:
        return None
    live = {row.pk: row for row in live_overrides(now)}
    if not differs(before, list(live.values())):
        return None
    valid, rows = documents.validate(written(before))
    found = effective(valid, rows, [as_override(row) for row in live.values()])
    if found.applied == before.overrides:
        note_refused(found, before.pk)
        return None
    moved = PolicyOverride.objects.in_bulk({*found.applied} ^ {*before.overrides})
    said = why or "; ".join(_said(row, row.pk in found.applied) for _, row in sorted(moved.items()))[:MAX_MESSAGE]
    by = Actor(next((row.author_id for _, row in sorted(moved.items())), None) if author is None else author)
    origin = Origin(
        written=valid if found.applied else None,
        base=actions.base_of(before),
        overrides=found.applied,
        approved_by=before.approved_by_id,
    )
    version = _create(by, found, said, before, origin)
    actions.activate(actor, version, changes=brief(changes(before.document, found.document)))
    PolicyOverride.objects.filter(pk__in=found.applied).update(problem="", refused_in=None)
    note_refused(found, version.pk)
    return version


def differs(version: PolicyVersion, live: list[PolicyOverride]) -> bool:
    """Whether other overrides should hold than the version has; one that it had to refuse is not tried again."""
    return [row.pk for row in live if row.refused_in != version.pk] != version.overrides


def _said(row: PolicyOverride, begins: bool) -> str:
    text = as_override(row).text
    if begins:
        return f"override {row.pk} begins: {text} until {row.ends_at:%Y-%m-%d %H:%M} UTC ({row.message})"
    return f"override {row.pk} is {'cancelled' if row.cancelled_at else 'over'}: it was {text}"
