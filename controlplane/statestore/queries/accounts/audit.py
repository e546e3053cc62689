"""The audit log as operators see it."""

from controlplane.statestore.models import AuditEntry
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page


def list_page(at: Cursor, size: int, action: str = "", target: str = "", actor: str = "") -> Page:
    """One page, newest first. One query.

    ``action``, ``target``: those that begin so. ``actor``: of this account; ``system``: of none.
    """
    found = AuditEntry.objects.values("id", "at", "actor__username", "action", "target", "before", "after", "address")
    if action:
        found = found.filter(action__startswith=action)
    if target:
        found = found.filter(target__startswith=target)
    if actor:
        found = found.filter(actor__isnull=True) if actor == "system" else found.filter(actor__username=actor)
    rows = by_number(found, at, size, newest_first=True)
    for row in rows:
        row["actor"] = row.pop("actor__username")
    return page(rows, [(row["id"],) for row in rows], size, at)
