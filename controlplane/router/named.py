"""Names of what accounts keep, in jobs that cannot be read as a whole: all that is wrong is told at once."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pydantic import TypeAdapter, ValidationError

from contract.fields import ReceiverName, SecretName

Named = list[tuple[str, str]]  # fields with the names that they hold
MOST = 100  # of one job
LOOKED_AT = 1000  # entries of a list: no more may be in one
_SECRET, _RECEIVER = TypeAdapter[str](SecretName), TypeAdapter[str](ReceiverName)


def secrets_in(item: Any) -> Named:
    """Those of the job's groups and of its master, as far as they are written as they have to be."""
    groups = ((f"groups.{no}", group) for no, group in enumerate(_listed(item, "groups")))
    holders = [*groups, ("master", item.get("master") if isinstance(item, dict) else None)]
    found = ((f"{where}.secrets", _listed(holder, "secrets")) for where, holder in holders)
    names = (each for where, entries in found for each in _names(where, entries, "name", _SECRET))
    return list(islice(names, MOST))


def receivers_in(item: Any) -> Named:
    return list(islice(_names("notify", _listed(item, "notify"), "receiver", _RECEIVER), MOST))


def _listed(holder: Any, key: str) -> list[Any]:
    found = holder.get(key) if isinstance(holder, dict) else None
    return found if isinstance(found, list) else []


def _names(where: str, entries: list[Any], key: str, kind: TypeAdapter[str]) -> Iterator[tuple[str, str]]:
    """Those that could be names; of the others it is said elsewhere."""
    for i, entry in enumerate(entries[:LOOKED_AT]):
        if not (isinstance(entry, dict) and isinstance(name := entry.get(key), str)):
            continue
        try:
            yield f"{where}.{i}.{key}", kind.validate_python(name)
        except ValidationError:
            continue
