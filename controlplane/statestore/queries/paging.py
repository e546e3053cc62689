"""Keyset paging: a page begins after the last row seen, so no page costs more than the first."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from contract.problems import FieldError
from controlplane.statestore.errors import Invalid

PAGE_SIZE = 50
PAGE_SIZE_MAX = 1000
CURSOR_MAX = 512


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins: after ``key`` going forward, or before it going back. Empty ``key``: at the start."""

    key: tuple[int, ...] = ()
    back: bool = False

    def encode(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([list(self.key), int(self.back)]).encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in list order, and the cursors of the pages beside this one."""

    results: list[Any]
    next: Cursor | None = None
    previous: Cursor | None = None


def decode(text: str, parts: int) -> Cursor:
    """A cursor as it came from a client; ``Invalid`` when it is none of ours."""
    if not text:
        return Cursor()
    try:
        if len(text) > CURSOR_MAX:
            raise ValueError("too long")
        key, back = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if len(key) != parts or any(type(k) is not int or abs(k) >= 2**63 for k in key) or back not in (0, 1):
            raise ValueError("not ours")
        return Cursor(tuple(key), bool(back))
    except (ValueError, TypeError, binascii.Error):
        wrong = FieldError(
            "cursor", "is not a cursor this list gave out", "follow `next` and `previous`, or leave it out"
        )
        raise Invalid("the page cannot be found", [wrong]) from None


def by_number(found: "QuerySet[Any]", at: Cursor, size: int, newest_first: bool = False) -> list[Any]:
    """Up to ``size + 1`` rows by their ids, from ``at`` in its direction: what ``page`` cuts a page from. One query."""
    down = at.back != newest_first
    found = found.order_by("-id" if down else "id")
    if at.key:
        found = found.filter(id__lt=at.key[0]) if down else found.filter(id__gt=at.key[0])
    return list(found[: size + 1])


def page(rows: Sequence[Any], keys: Sequence[tuple[int, ...]], size: int, at: Cursor) -> Page:
    """Cut a page from up to ``size + 1`` rows read from ``at`` in its direction; ``keys`` are the rows' keys."""
    more = len(rows) > size
    rows, keys = list(rows[:size]), list(keys[:size])
    if at.back:
        rows.reverse()
        keys.reverse()
    has_next = bool(rows) and (more if not at.back else True)
    has_previous = bool(rows) and (bool(at.key) if not at.back else more)
    return Page(
        rows,
        Cursor(keys[-1]) if has_next else None,
        Cursor(keys[0], back=True) if has_previous else None,
    )
