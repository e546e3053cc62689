"""YAML as people write it, of which JSON is a part, and where in it a field stands.

No name may stand twice in a mapping: the second would silently win.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import yaml

from contract.problems import FIELD_PART_MAX, FieldError

WRITTEN_MAX = 4 << 20  # characters that a text may come to with its aliases written out
LINE_MAX = 100  # characters that are shown of a line
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")  # as the library counts lines
_VALUE = 4  # characters that a value counts for beside its own


class _Strict(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = (key.tag, getattr(key, "value", None)) if isinstance(key, yaml.ScalarNode) else None
            if name in seen and key.tag != "tag:yaml.org,2002:merge":
                mark = key.start_mark
                raise yaml.constructor.ConstructorError(None, None, f"{key.value!r} stands twice", mark)
            if name is not None:
                seen.add(name)
        return super().construct_mapping(node, deep)

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        value = super().construct_scalar(node)
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                said = "an escape names half a character (U+D800 to U+DFFF)"
                raise yaml.constructor.ConstructorError(None, None, said, node.start_mark) from None
        return value


class _Bounded(_Strict):
    """For values that are walked through, or written out: aliases do not stand for very much."""

    def construct_document(self, node: yaml.Node) -> Any:
        if _size(node, {}) > max(WRITTEN_MAX, _VALUE * len(self.buffer)):
            raise yaml.YAMLError(f"its aliases stand for too much: written out it has over {WRITTEN_MAX:,} characters")
        return super().construct_document(node)


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """Characters that there are once every alias is written out. known: those of nodes, by identity."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = WRITTEN_MAX + 1  # while it is open: it would hold itself
    size = _VALUE
    if isinstance(node, yaml.ScalarNode):
        size += len(node.value)
    elif isinstance(node, yaml.MappingNode):
        size += sum(_size(key, known) + _size(value, known) for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        size += sum(_size(value, known) for value in node.value)
    known[id(node)] = size
    return size


def load(text: str) -> Any:
    """The document's value. Raises ``yaml.YAMLError``, also for what the library itself stumbles over."""
    try:
        return yaml.load(text, Loader=_Bounded)  # noqa: S506 - a safe loader
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (ValueError, AttributeError, LookupError) as error:  # such as 2024-02-31, or !!int x
        raise yaml.YAMLError(f"a value is not what it looks like: {error}") from None


class Place(NamedTuple):
    """Where something stands in a text, both counted from 1."""

    line: int
    column: int


Places = dict[tuple[str | int, ...], Place]


def documents(text: str) -> list[tuple[Any, Places]]:
    """The values of all documents, each with the place of every field, by its path. Raises as ``load`` does.

    For one's own texts: aliases may stand for any number of values.
    """
    return _documents(_Strict(text))


def _documents(loader: _Strict) -> list[tuple[Any, Places]]:
    found: list[tuple[Any, Places]] = []
    try:
        while loader.check_node():
            node, places = loader.get_node(), Places()
            assert node is not None
            _note(node, (), places, set())
            found.append((loader.construct_document(node), places))
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (ValueError, AttributeError, LookupError) as error:
        raise yaml.YAMLError(f"a value is not what it looks like: {error}") from None
    finally:
        loader.dispose()
    return found


def _note(node: yaml.Node, path: tuple[str | int, ...], places: Places, seen: set[int]) -> None:
    places.setdefault(path, _place(node.start_mark))
    if id(node) in seen:  # an alias: its fields stand where its anchor does
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                places[(*path, key.value)] = _place(key.start_mark)
                _note(value, (*path, key.value), places, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _note(value, (*path, number), places, seen)


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1)


def located(errors: Sequence[FieldError], text: str) -> list[FieldError]:
    """The errors in the order of the text, each with the place of its field there.

    Of a field that the text does not have it is that of the nearest thing around it, if there is any. A text that
    cannot be read, or holds no single document, places nothing.
    """
    try:
        (_, places), *others = _documents(_Bounded(text))
    except (yaml.YAMLError, ValueError):
        return list(errors)
    if others:
        return list(errors)
    by_field = {".".join(str(part)[:FIELD_PART_MAX] for part in path): place for path, place in places.items()}
    found = [replace(error, **_nearest(error.field, by_field)._asdict()) for error in errors]
    return sorted(found, key=lambda error: (error.line, error.column))


def _nearest(field: str, by_field: dict[str, Place]) -> Place:
    while field and field not in by_field:
        field = field.rpartition(".")[0]
    return by_field[field] if field else Place(0, 0)


def unreadable(error: yaml.YAMLError) -> tuple[str, Place | None]:
    """What keeps a text from being YAML, in one line, and where that is, where the library knows."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return " ".join(str(error).split()), None
    said = (getattr(error, "context", None), getattr(error, "problem", None))
    filled_in = "${{" in (mark.get_snippet() or "")
    hint = "; within [...] and {...} a value with ${{ }} stands in quotes" if filled_in else ""
    return ", ".join(part for part in said if part) + hint, _place(mark)


def refused(error: yaml.YAMLError, text: str, field: str) -> FieldError:
    """What keeps a text from being YAML, where that is, and the line that stands there. field: what the text is."""
    what, place = unreadable(error)
    line, column = place or (0, 0)
    lines = _BREAK.split(text) if place else []
    shown = lines[line - 1].strip()[:LINE_MAX] if line <= len(lines) and place else ""
    remedy = f"correct that line: {shown}" if shown else "correct it there" if place else "give YAML or JSON"
    return FieldError(field, f"is not valid YAML: {what}", remedy, line=line, column=column)
