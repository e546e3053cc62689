"""What an account has of secrets: for itself their names, for its own tasks their values."""

from collections.abc import Collection
from typing import Any

from controlplane.statestore import sealing
from controlplane.statestore.models import Secret
from wire.nodeapi import Secrets


def of_account(owner_id: int) -> list[dict[str, Any]]:
    """``contract.secrets.Secret`` of each, by name."""
    return list(Secret.objects.filter(owner_id=owner_id).order_by("name").values("name", "created_at", "changed_at"))


def known(owner_id: int, names: Collection[str]) -> set[str]:
    """Those of these names that the account has. One query."""
    return set(Secret.objects.filter(owner_id=owner_id, name__in=names).values_list("name", flat=True))


def values(owner_id: int, names: Collection[str]) -> Secrets:
    """Their values as they are now, and of which there is none. One query."""
    found = Secrets({}, dict.fromkeys(names, "was deleted since the job was submitted"))
    for name, sealed in Secret.objects.filter(owner_id=owner_id, name__in=names).values_list("name", "sealed"):
        try:
            found.secrets[name] = sealing.unseal(owner_id, name, sealed)
            del found.wrong[name]
        except sealing.Unreadable:
            found.wrong[name] = "cannot be read any more, as its key is gone: put it again"
    return found
