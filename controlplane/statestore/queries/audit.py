"""The audit log as operators see it."""

from controlplane.statestore.models import AuditEntry

from .paging import Cursor, Page, page


def list_page(at: Cursor, size: int) -> Page:
    """One page, newest first. One query."""
    found = AuditEntry.objects.order_by("id" if at.back else "-id")
    if at.key:
        found = found.filter(id__gt=at.key[0]) if at.back else found.filter(id__lt=at.key[0])
    rows = list(
        found.values("id", "at", "actor__username", "action", "target", "before", "after", "address")[: size + 1]
    )
    for row in rows:
        row["actor"] = row.pop("actor__username")
    return page(rows, [(row["id"],) for row in rows], size, at)
