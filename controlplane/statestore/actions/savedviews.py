"""Keep and forget views of the job list. They are their account's own; nobody else sees them."""

from django.db import transaction

from controlplane.accounts.models import User
from controlplane.statestore.errors import Conflict, NotFound
from controlplane.statestore.models import SavedView

MOST = 100  # views of one account


def save(owner: User, name: str, query: str) -> SavedView:
    """Keep the view, instead of one of that name."""
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two at once must not go past the bound
        if SavedView.objects.filter(owner=owner).exclude(name=name).count() >= MOST:
            raise Conflict(f"you have {MOST} saved views already; delete one first")
        return SavedView.objects.update_or_create(owner=owner, name=name, defaults={"query": query})[0]


def forget(owner: User, view_id: int) -> None:
    """Delete it; ``NotFound`` when the account has no such view."""
    if not 0 < view_id < 2**63 or not SavedView.objects.filter(owner=owner, pk=view_id).delete()[0]:
        raise NotFound(f"you have no saved view {view_id}")
