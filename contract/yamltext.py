"""YAML as people write it, except that no name may stand twice in a mapping: the second would silently win."""

from typing import Any

import yaml


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


def load(text: str) -> Any:
    """The document's value. Raises ``yaml.YAMLError``, also for what the library itself stumbles over."""
    try:
        return yaml.load(text, Loader=_Strict)  # noqa: S506 - a safe loader
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (ValueError, AttributeError, LookupError) as error:  # such as 2024-02-31, or !!int x
        raise yaml.YAMLError(f"a value is not what it looks like: {error}") from None


Lines = dict[tuple[str | int, ...], int]


def documents(text: str) -> list[tuple[Any, Lines]]:
    """The values of all documents, each with the line (from 1) of every field, by its path. Raises as ``load`` does."""
    found: list[tuple[Any, Lines]] = []
    loader = _Strict(text)
    try:
        while loader.check_node():
            node, lines = loader.get_node(), Lines()
            assert node is not None
            _note(node, (), lines, set())
            found.append((loader.construct_document(node), lines))
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (ValueError, AttributeError, LookupError) as error:
        raise yaml.YAMLError(f"a value is not what it looks like: {error}") from None
    finally:
        loader.dispose()
    return found


def _note(node: yaml.Node, path: tuple[str | int, ...], lines: Lines, seen: set[int]) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if id(node) in seen:  # an alias: its fields stand where its anchor does
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                lines[(*path, key.value)] = key.start_mark.line + 1
                _note(value, (*path, key.value), lines, seen)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _note(value, (*path, number), lines, seen)
