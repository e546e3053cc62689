"""Arrays over values: which values a task of a group has, by its index.

An array is a mapping of names to lists of values, all combinations of which are meant, or a list of mappings. Of
combinations the names are taken in alphabetical order, and the last one changes from task to task: no order of keys is
kept on the way. ``${{ name }}`` stands for a value in a text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

Scalar = str | int | float | bool
Array = Mapping[str, Sequence[Scalar]] | Sequence[Mapping[str, Scalar]]
NAME = r"[A-Za-z_][A-Za-z0-9_]{0,62}"
REFERENCE = re.compile(r"\$\{\{ *(" + NAME + r") *\}\}")


def as_text(value: Scalar) -> str:
    """A value within a text."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def variable(name: str) -> str:
    """The environment variable that holds a task's value of that name."""
    return "HYDRA_ARRAY_" + name.upper()


def size(array: Array) -> int:
    """How many tasks it makes."""
    return prod(map(len, array.values())) if isinstance(array, Mapping) else len(array)


def names(array: Array) -> list[str]:
    """Of the values that each task has."""
    return sorted(array if isinstance(array, Mapping) else array[0] if array else ())


def values(array: Array, index: int) -> dict[str, str]:
    """What the task of this index has, as texts; nothing beyond the last."""
    if not 0 <= index < size(array):
        return {}
    if not isinstance(array, Mapping):
        return {name: as_text(value) for name, value in array[index].items()}
    found = {}
    for name in reversed(names(array)):
        index, at = divmod(index, len(array[name]))
        found[name] = as_text(array[name][at])
    return dict(sorted(found.items()))


def longest(array: Array) -> dict[str, int]:
    """Bytes that a value of each name has at most."""
    if isinstance(array, Mapping):
        return {name: max(map(_bytes, of)) for name, of in array.items()}
    return {name: max(_bytes(row[name]) for row in array) for name in names(array)}


def _bytes(value: Scalar) -> int:
    return len(as_text(value).encode())


def bytes_with(text: str, longest: Mapping[str, int]) -> int:
    """What the text comes to at most when values are put in that have so many bytes."""
    more = (longest.get(found[1], len(found[0])) - len(found[0]) for found in REFERENCE.finditer(text))
    return len(text.encode()) + sum(more)


def references(text: str) -> Iterator[str]:
    """The names that a text refers to."""
    return (found[1] for found in REFERENCE.finditer(text))


def put_in(text: str, known: Mapping[str, str]) -> str:
    """The text with these values in place of their references; others stay."""
    return REFERENCE.sub(lambda found: known.get(found[1], found[0]), text)
