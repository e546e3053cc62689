"""Node-label expressions: ``gpu && !spot``, ``zone in (a, b) || zone == c``.

A bare name asks whether the node has that label (with any value but "" and
"false"). ``||`` binds weakest, then ``&&``, then ``!``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce

Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]

_TOKEN = re.compile(r"\s*(&&|\|\||==|!=|!|\(|\)|,|[A-Za-z0-9_./-]+)")
MAX_LENGTH = 500
MAX_DEPTH = 32  # of parentheses and negations inside one another


class LabelError(ValueError):
    """The expression cannot be read; the text says where and why."""


@dataclass(frozen=True, slots=True)
class Has:
    """The node has that label, with any value but "" and "false"."""

    name: str


@dataclass(frozen=True, slots=True)
class Among:
    """The label has one of these values."""

    name: str
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Not:
    inner: "Expression"


@dataclass(frozen=True, slots=True)
class Every:
    """All of these hold; of none always."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of these holds."""

    parts: tuple["Expression", ...]


Expression = Has | Among | Not | Every | Some


def parse(text: str) -> Predicate:
    """Compile an expression; the empty one accepts every node."""
    return _predicate(tree(text))


def truthy(value: str) -> bool:
    """Whether a label of this value counts as one that the node has."""
    return value not in ("", "false")


@lru_cache(maxsize=4096)
def tree(text: str) -> Expression:
    """An expression taken apart. ``LabelError`` where it cannot be read."""
    if len(text) > MAX_LENGTH:
        raise LabelError(f"longer than {MAX_LENGTH} characters")
    tokens = _tokens(text)
    if not tokens:
        return Every(())
    if _depth(tokens) > MAX_DEPTH:
        raise LabelError(f"more than {MAX_DEPTH} parentheses or negations inside one another")
    found, rest = _either(tokens)
    if rest:
        raise LabelError(f"unexpected {rest[0]!r}")
    return found


def _predicate(e: Expression) -> Predicate:
    match e:
        case Has(name):
            return lambda labels: truthy(labels.get(name, ""))
        case Among(name, values):
            return lambda labels: labels.get(name) in values
        case Not(inner):
            return _negate(_predicate(inner))
        case Some(parts):
            return reduce(_any, map(_predicate, parts))
        case Every(parts):
            return reduce(_all, map(_predicate, parts)) if parts else lambda labels: True


def conjuncts(text: str) -> list[str]:
    """The parts of an expression that must all hold; the whole of it when there are not several."""
    parts: list[list[str]] = [[]]
    depth = 0
    for t in _tokens(text):
        depth += {"(": 1, ")": -1}.get(t, 0)
        if t == "||" and not depth:
            return [text.strip()]
        if t == "&&" and not depth:
            parts.append([])
        else:
            parts[-1].append(t)
    return [_spelled(part) for part in parts if part]


def _spelled(tokens: list[str]) -> str:
    """Tokens as an expression, spaced as people do."""
    text = " ".join(tokens)
    for apart, together in (("! ", "!"), ("( ", "("), (" )", ")"), (" ,", ",")):
        text = text.replace(apart, together)
    return text


def of_node(labels: Labels, name: str, rack: str) -> Labels:
    """A node's labels as expressions see them: its name and rack are among them, as ``node`` and ``rack``."""
    return {**labels, "node": name, "rack": rack}


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            hint = "; write == for equality" if text[at:].lstrip().startswith("=") else ""
            raise LabelError(f"cannot read {text[at : at + 10]!r} at position {at}{hint}")
        found.append(match[1])
        at = match.end()
    return found


def _depth(tokens: list[str]) -> int:
    """Most parentheses and negations inside one another: what reading recurses into."""
    depth = deepest = 0
    outer: list[int] = []  # depth before each open parenthesis
    for t in tokens:
        if t == "(":
            outer.append(depth)
        if t in ("(", "!"):
            depth += 1
            deepest = max(deepest, depth)
        elif t == ")" and outer:
            depth = outer.pop()
        else:
            depth = outer[-1] + 1 if outer else 0
    return deepest


def _either(t: list[str]) -> tuple[Expression, list[str]]:
    part, t = _both(t)
    parts = [part]
    while t[:1] == ["||"]:
        part, t = _both(t[1:])
        parts.append(part)
    return (Some(tuple(parts)) if len(parts) > 1 else parts[0]), t


def _both(t: list[str]) -> tuple[Expression, list[str]]:
    part, t = _not(t)
    parts = [part]
    while t[:1] == ["&&"]:
        part, t = _not(t[1:])
        parts.append(part)
    return (Every(tuple(parts)) if len(parts) > 1 else parts[0]), t


def _not(t: list[str]) -> tuple[Expression, list[str]]:
    if t[:1] == ["!"]:
        inner, t = _not(t[1:])
        return Not(inner), t
    if t[:1] == ["("]:
        inner, t = _either(t[1:])
        if t[:1] != [")"]:
            raise LabelError("a ( has no )")
        return inner, t[1:]
    return _term(t)


def _term(t: list[str]) -> tuple[Expression, list[str]]:
    name, t = _word(t)
    if t[:1] == ["in"]:
        values, t = _values(t[1:])
        return Among(name, frozenset(values)), t
    if t[:1] in (["=="], ["!="]):
        value, rest = _word(t[1:])
        test = Among(name, frozenset((value,)))
        return (test if t[0] == "==" else Not(test)), rest
    return Has(name), t


def _values(t: list[str]) -> tuple[set[str], list[str]]:
    if t[:1] != ["("]:
        raise LabelError("`in` needs a list: zone in (a, b)")
    values, t = set(), t[1:]
    while True:
        value, t = _word(t)
        values.add(value)
        if t[:1] == [")"]:
            return values, t[1:]
        if t[:1] != [","]:
            raise LabelError("a list needs commas between its values and a ) at its end")
        t = t[1:]


def _word(t: list[str]) -> tuple[str, list[str]]:
    if not t or not re.match(r"[A-Za-z0-9_./-]", t[0]):
        raise LabelError(f"a name was expected, not {t[0]!r}" if t else "ends too early")
    return t[0], t[1:]


def _any(a: Predicate, b: Predicate) -> Predicate:
    return lambda labels: a(labels) or b(labels)


def _all(a: Predicate, b: Predicate) -> Predicate:
    return lambda labels: a(labels) and b(labels)


def _negate(a: Predicate) -> Predicate:
    return lambda labels: not a(labels)
