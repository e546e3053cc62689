"""What differs between two specifications of a job, in the words of its job file."""

from collections.abc import Iterator, Mapping
from typing import Any

Json = dict[str, Any]
MOST = 12  # told of one update
_CUT = 60  # of a text; longer ones are named only


def told(before: Json, after: Json) -> list[str]:
    """Files of all groups, then each group: ``web.resources.memory_mib: 64 -> 128``.

    Stored specifications with the same groups in the same order. Values are told of what is short; of the
    environment, of files and of templates only which.
    """
    found = list(_values("", {"files": before.get("files", [])}, {"files": after.get("files", [])}))
    for old, new in zip(before["groups"], after["groups"], strict=True):
        found += _values(f"{new['name']}.", old, new)
    more = len(found) - MOST
    return found if more <= 0 else [*found[:MOST], f"and {more:,} more"]


def _values(within: str, before: Json, after: Json) -> Iterator[str]:
    for name in dict.fromkeys([*after, *before]):
        old, new, field = before.get(name), after.get(name), f"{within}{name}"
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _keys(field, old, new) if name == "env" else _values(f"{field}.", old, new)
        elif name == "files":
            yield from _keys(field, _by_path(old), _by_path(new))
        else:
            a, b = _short(old), _short(new)
            yield f"{field}: {a} -> {b}" if a and b else field


def _by_path(files: list[Json] | None) -> Json:
    return {file["path"]: file for file in files or ()}


def _keys(field: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Which of them changed, came or went, without what they say."""
    for name in dict.fromkeys([*after, *before]):
        if before.get(name) != after.get(name):
            how = "" if name in before and name in after else " (new)" if name in after else " (gone)"
            yield f"{field}: {name}{how}"


def _short(value: Any) -> str:
    """As people read it; nothing where that is long, or has an inside."""
    if value is None or value in ([], ""):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        value = " ".join(value)
    text = "" if isinstance(value, (list, dict)) else f"{value}"
    return text if len(text) <= _CUT and "\n" not in text else ""
