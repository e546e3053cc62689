"""Names of what accounts keep, in jobs that cannot be read as a whole: all that is wrong is told at once."""

import re
from collections.abc import Iterator
from typing import Any

from contract.fields import SECRET_NAME

Named = list[tuple[str, str]]  # fields with the names that they hold
MOST = 100  # of one job
_NAME = re.compile(SECRET_NAME)
_LONGEST = 63


def secrets_in(item: Any) -> Named:
    """Those of the job's groups and of its master, as far as they are written as they have to be."""
    groups = ((f"groups.{no}", group) for no, group in enumerate(_listed(item, "groups")))
    holders = [*groups, ("master", item.get("master") if isinstance(item, dict) else None)]
    return [
        each for where, holder in holders for each in _names(f"{where}.secrets", _listed(holder, "secrets"), "name")
    ][:MOST]


def receivers_in(item: Any) -> Named:
    return list(_names("notify", _listed(item, "notify"), "receiver"))[:MOST]


def _listed(holder: Any, key: str) -> list[Any]:
    found = holder.get(key) if isinstance(holder, dict) else None
    return found if isinstance(found, list) else []


def _names(where: str, entries: list[Any], key: str) -> Iterator[tuple[str, str]]:
    for i, entry in enumerate(entries):
        name = entry.get(key) if isinstance(entry, dict) else None
        if isinstance(name, str) and len(name) <= _LONGEST and _NAME.fullmatch(name):
            yield f"{where}.{i}.{key}", name
