"""What differs between two specifications of a job, in the words of its job file."""

from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
MOST = 12  # told of one update
# Values of these are told, and numbers. Commands, environments and addresses may hold what was a secret once, and
# whoever may see the job reads what its revisions changed, also after its owner has taken that out.
_TOLD = {"node_labels", "placement"}


def told(before: Json, after: Json) -> list[str]:
    """Fields of each group, then variables and files: ``web.resources.memory_mib: 64 -> 128``, ``web.env: LEVEL``.

    Stored specifications with the same groups in the same order. Of very many the first, and how many more there are.
    """
    groups = list(zip(before["groups"], after["groups"], strict=True))
    found = [said for old, new in groups for said in _fields(f"{new['name']}.", old, new)]
    found += _files("files", before.get("files"), after.get("files"))
    for old, new in groups:
        found += _keys(f"{new['name']}.env", old.get("env") or {}, new.get("env") or {})
        found += _files(f"{new['name']}.files", old.get("files"), new.get("files"))
    more = len(found) - MOST
    return found if more <= 0 else [*found[:MOST], f"and {more:,} more"]


def _fields(within: str, before: Json, after: Json) -> Iterator[str]:
    for name in dict.fromkeys([*after, *before]):
        old, new = before.get(name), after.get(name)
        if old == new or name in {"env", "files"}:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _fields(f"{within}{name}.", old, new)
            continue
        a, b = _value(name, old), _value(name, new)
        yield f"{within}{name}: {a} -> {b}" if a and b else f"{within}{name}"


def _files(field: str, before: list[Json] | None, after: list[Json] | None) -> Iterator[str]:
    old, new = ({file["path"]: file for file in files or ()} for files in (before, after))
    if old == new and (before or []) != (after or []):
        yield f"{field}: their order"
    yield from _keys(field, old, new)


def _keys(field: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Which of them changed, came or went, without what they say."""
    for name in dict.fromkeys([*after, *before]):
        if before.get(name) != after.get(name):
            how = "" if name in before and name in after else " (new)" if name in after else " (gone)"
            yield f"{field}: {name}{how}"


def _value(name: str, value: Any) -> str:
    """As people read it; nothing of what is only named."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in _TOLD:
        return f'"{value}"' if value else "none"
    return f"{value:.6g}" if isinstance(value, float) else f"{value}" if isinstance(value, int) else ""
