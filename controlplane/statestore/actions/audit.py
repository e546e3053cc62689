"""The audit row that every action writes in its own transaction, and who is acting."""

from dataclasses import dataclass
from typing import Any

from controlplane.statestore.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a change: an account (``None``: a node or the system) and the address it came from."""

    user_id: int | None = None
    address: str | None = None


SYSTEM = Actor()


def entry(actor: Actor, action: str, target: str, before: Any = None, after: Any = None) -> AuditEntry:
    """A row that is not stored yet."""
    return AuditEntry(
        actor_id=actor.user_id,
        action=action,
        target=target[:255],
        before=before,
        after=after,
        address=actor.address,
    )


def record(actor: Actor, action: str, target: str, before: Any = None, after: Any = None) -> None:
    """Add the audit row; call it inside the change's transaction."""
    entry(actor, action, target, before, after).save(force_insert=True)
