"""Put and delete secrets, and seal them anew under another key. The audit log has names, and never a value."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from controlplane import clock
from controlplane.accounts.models import User
from controlplane.statestore import sealing
from controlplane.statestore.actions.audit import SYSTEM, Actor, record
from controlplane.statestore.actions.receivers import sealed_name
from controlplane.statestore.errors import Conflict, NotFound
from controlplane.statestore.models import Receiver, Secret


def put(actor: Actor, owner: User, name: str, value: str) -> tuple[Secret, bool]:
    """Keep the value, instead of what had the name; and whether nothing had. ``Conflict`` where there are too many."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two at once must not go past the bound
        most = int(settings.HYDRA["max_secrets_per_user"])
        if Secret.objects.filter(owner=owner).exclude(name=name).count() >= most:
            many = f"you have {most} secrets, and may have no more (HYDRA_MAX_SECRETS_PER_USER)"
            raise Conflict(f"{many}; delete one, or ask an operator")
        now = clock.now()
        found = {"sealed": sealing.seal(owner.pk, name, value), "changed_at": now}
        row, made = Secret.objects.update_or_create(
            owner=owner, name=name, defaults=found, create_defaults=found | {"created_at": now}
        )
        record(actor, "secret.put", _target(owner, name), after={"new": made})
    return row, made


def delete(actor: Actor, owner: User, name: str) -> None:
    """Tasks that start later do without it; ``NotFound`` where there is none."""
    with transaction.atomic():
        if not Secret.objects.filter(owner=owner, name=name).delete()[0]:
            raise NotFound(f"you have no secret {name[:63]}")
        record(actor, "secret.delete", _target(owner, name))


def _target(owner: User, name: str) -> str:
    return f"secret/{owner.username}/{name}"


@dataclass(slots=True)
class Resealed:
    """``unreadable``: owners and names of those that none of the keys opens."""

    done: int
    unreadable: list[tuple[str, str]]


def reseal() -> Resealed:
    """Seal all of them under the first key. What is put meanwhile is sealed so already; a repeat does no harm."""
    found = Resealed(0, [])
    webhooks = Receiver.objects.filter(kind=Receiver.Kind.WEBHOOK)
    _reseal(Secret.objects.all(), lambda name: name, found)
    _reseal(webhooks, sealed_name, found)
    record(SYSTEM, "secret.reseal", "secret", after={"done": found.done, "unreadable": len(found.unreadable)})
    return found


def _reseal(rows: QuerySet[Any], name_of: Callable[[str], str], found: Resealed) -> None:
    for row in rows.select_related("owner").order_by("pk").iterator(chunk_size=100):
        name = name_of(row.name)
        try:
            fresh = sealing.reseal(row.owner_id, name, row.sealed)
        except sealing.Unreadable:
            found.unreadable.append((row.owner.username, name))
            continue
        rows.filter(pk=row.pk, sealed=row.sealed).update(sealed=fresh)
        found.done += 1
