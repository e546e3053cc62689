"""Rights in queues that a document gives: to names, also those of accounts that are yet to be made."""

from collections.abc import Iterable
from difflib import get_close_matches

from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.statestore.actions.policy import QueueRow, field_of

MOST, COMPARED = 20, 2000  # names that are told, and that are looked at for what may have been meant


def unheld(queues: Iterable[QueueRow]) -> list[FieldError]:
    """Names that no account has, and where each is first given a right: slips of the pen, perhaps."""
    given = dict[str, str]()
    for queue in queues:
        for right in ("submit", "administer"):
            for name in getattr(queue, right):
                given.setdefault(name, f"{field_of(queue.path)}.{right}")
    held = set(User.objects.filter(username__in=given).values_list("username", flat=True))
    names = [name for name in given if name not in held and not name.startswith("role:")][:MOST]
    known = list(User.objects.order_by("username").values_list("username", flat=True)[:COMPARED]) if names else []
    return [FieldError(given[name], f"there is no account {name!r}", _remedy(name, known)) for name in names]


def _remedy(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else "whoever makes an account of that name has this right"
