"""Receivers of an account: kept, tried, deleted. The audit log has names, and never where a webhook leads."""

import base64
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from contract.problems import FieldError
from controlplane import clock
from controlplane.accounts.models import User
from controlplane.statestore import sealing
from controlplane.statestore.actions.audit import Actor, record
from controlplane.statestore.errors import Conflict, Invalid, NotFound
from controlplane.statestore.models import Notification, Receiver

TESTS_WAITING = 5
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Webhook:
    """``key``: what bodies are signed with, as people are given it."""

    url: str
    key: str


def sealed_name(receiver: str) -> str:
    """The name a webhook is sealed under; no secret can have it."""
    return f"receiver {receiver}"


def webhook_of(row: Receiver) -> Webhook:
    """Where a webhook leads; ``sealing.Unreadable``."""
    return Webhook(**json.loads(sealing.unseal(row.owner_id, sealed_name(row.name), row.sealed)))


def put(
    actor: Actor, owner: User, name: str, webhook: str | None, mail: bool, every_job: Sequence[str] | None
) -> tuple[Receiver, str | None]:
    """Keep it, instead of what had the name; ``every_job`` None: told what that was. The key of a webhook that is new.

    ``Invalid`` where it is neither a webhook nor mail, or both, or there is no mail; ``Conflict`` where there are too
    many.
    """
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two at once must not go past the bound
        row = Receiver.objects.select_for_update(no_key=True).filter(owner=owner, name=name).first()
        _check(owner, row, webhook, mail)
        now = clock.now()
        if row is None:
            _room(owner)
            row = Receiver(owner=owner, name=name, created_at=now, free_at=now)
        key = _lead(row, webhook) if webhook is not None else None
        if mail:
            row.kind, row.address, row.sealed = Receiver.Kind.MAIL, "", ""
        row.changed_at = now
        if every_job is not None:
            row.every_job = sorted(set(every_job))
        row.free_at, row.failures, row.error = min(row.free_at, now), 0, ""
        after = {"new": row.pk is None, "kind": str(row.kind), "every_job": row.every_job}
        row.save()
        record(actor, "receiver.put", _target(owner, name), after=after)
    return row, key


def _check(owner: User, row: Receiver | None, webhook: str | None, mail: bool) -> None:
    wrong = None
    if webhook is not None and mail:
        wrong = FieldError(
            "mail", "a receiver is a webhook or mail", "say one of them, and make two receivers for both"
        )
    elif webhook is None and not mail and row is None:
        wrong = FieldError("webhook", "it is not said where to tell", "give a webhook, or mail: true")
    elif mail and not settings.MAIL_ON:
        wrong = FieldError("mail", "this cluster sends no mail", "use a webhook, or ask an operator for HYDRA_MAIL_URL")
    elif mail and not owner.email:
        remedy = f"ask an operator for: hydractl account email {owner.username} ADDRESS"
        wrong = FieldError("mail", "your account has no mail address", remedy)
    if wrong:
        raise Invalid("the receiver has an error", [wrong])


def _room(owner: User) -> None:
    most = int(settings.HYDRA["max_receivers_per_user"])
    if Receiver.objects.filter(owner=owner).count() >= most:
        many = f"you have {most} receivers, and may have no more (HYDRA_MAX_RECEIVERS_PER_USER)"
        raise Conflict(f"{many}; delete one, or ask an operator")


def _lead(row: Receiver, url: str) -> str | None:
    """Have it lead there. The key, where it had none: another address keeps it."""
    known = webhook_of(row).key if row.sealed else None
    key = known or f"whsec_{base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()}"
    parts = urlsplit(url)
    row.kind, row.address = Receiver.Kind.WEBHOOK, f"{parts.scheme}://{parts.netloc}"[:300]
    row.sealed = sealing.seal(row.owner_id, sealed_name(row.name), json.dumps({"url": url, "key": key}))
    return None if known else key


def delete(actor: Actor, owner: User, name: str) -> None:
    """It is told nothing any more, and what it was told is forgotten; ``NotFound`` where there is none."""
    with transaction.atomic():
        row = of_name(owner, name)
        row.delete()
        record(actor, "receiver.delete", _target(owner, name))


def of_name(owner: User, name: str) -> Receiver:
    """That of the account; ``NotFound`` where there is none."""
    found = Receiver.objects.filter(owner=owner, name=name[:63]).first() if "\0" not in name else None
    if found is None:
        raise NotFound(f"you have no receiver {name[:63]}")
    return found


def test(actor: Actor, owner: User, name: str) -> Notification:
    """Tell it something of no job, at once even where it failed before. ``Conflict`` where many tests wait."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)
        row, now = of_name(owner, name), clock.now()
        waiting = Notification.objects.filter(receiver=row, state=Notification.State.WAITING, job=None)
        if waiting.count() >= TESTS_WAITING:
            raise Conflict(f"{TESTS_WAITING} tests of {name} wait already; look at what it was told")
        made = Notification.objects.create(receiver=row, event="test", at=now)
        if row.failures:  # what it said before holds no longer, perhaps
            Receiver.objects.filter(pk=row.pk, failures__gt=0).update(free_at=now)
        record(actor, "receiver.test", _target(owner, name))
    return made


def _target(owner: User, name: str) -> str:
    return f"receiver/{owner.username}/{name}"
