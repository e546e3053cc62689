"""A job file's parameters: declared in it, given with it, and put in before it is checked.

``${{ name }}`` stands for a value in any text of the job, but not in the names of fields. Where the text is nothing
else, the field decides whether it is a number, a truth or a text; elsewhere the value is put in as text. Values are
data: what they hold is never read as YAML, and no reference in them is followed.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
)

from contract.atmost import MOST, AtMost
from contract.base import Request
from contract.fields import Text
from contract.findings import explain, field_of
from contract.problems import FieldError
from contract.salvage import Loc, Unreadable
from contract.values import SCALAR_SCHEMA, Value, ValueName, array_names
from wire.arrays import REFERENCE, Scalar, as_text, references

FILLED_MAX = 4 << 20  # characters of values, wherever they are put in, and of the texts around them
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?(?:[eE][+-]?\d{1,3})?", re.ASCII)


def _declared(value: Any) -> Any:
    """A default alone has the type of what it is; nothing at all is a text that has to be given."""
    if isinstance(value, dict):
        return value
    kind = "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "text"
    return {"type": kind, "default": value}


class Parameter(Request):
    """``default`` null: it has to be given. ``help``: what people are told of it."""

    type: Literal["text", "number", "boolean"] = "text"
    default: Value | None = None
    help: Annotated[Text, Field(max_length=1000)] = ""


_DECLARED_SCHEMA = {"anyOf": [
    *SCALAR_SCHEMA["anyOf"], {"type": "null"},
    {"type": "object", "additionalProperties": False, "properties": {
        "type": {"enum": ["text", "number", "boolean"], "default": "text"},
        "default": {"anyOf": [*SCALAR_SCHEMA["anyOf"], {"type": "null"}]},
        "help": {"type": "string", "maxLength": 1000},
    }},
]}  # fmt: skip
Declared = Annotated[Parameter, BeforeValidator(_declared), WithJsonSchema(_DECLARED_SCHEMA)]
Declarations = Annotated[dict[ValueName, Declared], AtMost(256)]
Given = Annotated[dict[ValueName, Value], AtMost(256)]


class _Template(Request):
    parameters: Declarations = {}
    set: Given = {}


@dataclass(slots=True)
class Filled:
    """A job without its parameters, as far as their values are known. unknown: fields in which some are not.

    given_up: so much is wrong that nothing else is looked at; the job is as it was.
    """

    job: Any
    wrong: list[FieldError] = field(default_factory=list)
    unknown: Unreadable = field(default_factory=Unreadable)
    given_up: bool = False


class _Enough(Exception):
    """More is wrong than is told, or values come to more than may be."""


def fill(data: Any, kind: type[BaseModel]) -> Filled:
    """Put the values of its parameters into a job. One that has none, or is no mapping, stays as it is.

    kind: what the job is to be, whose fields decide what a value becomes.
    """
    if not isinstance(data, dict) or not ("parameters" in data or "set" in data):
        return Filled(data)
    said = {name: data[name] for name in ("parameters", "set") if data.get(name) is not None}
    rest = {name: value for name, value in data.items() if name not in ("parameters", "set")}
    try:
        template = _Template.model_validate(said)
    except ValidationError as error:
        filling = _Filling(kind, None)
        wrong = explain(error, _Template)
    else:
        values, wrong = _values(template)
        filling = _Filling(kind, values)
    try:
        job = filling.walk(rest, ())
    except _Enough:
        return Filled(rest, wrong + filling.wrong, given_up=True)
    return Filled(job, wrong + filling.wrong, Unreadable(filling.unknown))


def _values(template: _Template) -> tuple[dict[str, Scalar | None], list[FieldError]]:
    """By name, what each parameter stands for; None where nobody knows."""
    strange = (name for name in template.set if name not in template.parameters)
    wrong = [_no_such(f"set.{name}", name, template.parameters) for name in islice(strange, MOST)]
    values: dict[str, Scalar | None] = {}
    for name, declared in template.parameters.items():
        at, given = f"parameters.{name}", declared.default
        if name in template.set:
            at, given = f"set.{name}", template.set[name]
        values[name] = given if given is not None and _is(given, declared.type) else None
        if given is None:
            what = f" ({declared.help})" if declared.help else ""
            remedy = f"give it: in `set` of the job, or with --set {name}=VALUE"
            wrong.append(FieldError(at, f"has no value{what}", remedy))
        elif values[name] is None:
            wrong.append(FieldError(at, f"{as_text(given)[:40]!r} is not a {declared.type}", f"give a {declared.type}"))
    return values, wrong


def _is(given: Scalar, kind: str) -> bool:
    """Whether it is of a parameter's type; a number or a truth may be given as a text."""
    if kind == "number":
        return bool(_NUMBER.fullmatch(given)) if isinstance(given, str) else not isinstance(given, bool)
    return kind == "text" or isinstance(given, bool) or given in ("true", "false")


def _no_such(at: str, name: str, known: Mapping[str, object]) -> FieldError:
    close = get_close_matches(name, known, 1)
    remedy = f"did you mean {close[0]}?" if close else f"declared here: {', '.join(known) or 'none'}"[:300]
    return FieldError(at, f"there is no parameter {name!r}", remedy)


def _fitting(value: Scalar, wanted: set[Any]) -> Scalar:
    """A value that is all of a field, of one of these types, as the field has it."""
    text = as_text(value)
    if wanted & {int, float} and not isinstance(value, bool):
        if _NUMBER.fullmatch(text):
            return float(text) if set(text) & set(".eE") else int(text)
    elif bool in wanted and text in ("true", "false"):
        return text == "true"
    return text


class _Filling:
    """A walk through a job of this kind. values: None while the parameters themselves are wrong."""

    def __init__(self, kind: type[BaseModel], values: dict[str, Scalar | None] | None) -> None:
        self._kind, self._values = kind, values
        self._left = FILLED_MAX
        self._own: set[str] = set()
        self.wrong: list[FieldError] = []
        self.unknown: set[str] = set()

    def walk(self, value: Any, at: Loc) -> Any:
        if isinstance(value, str):
            return self._text(value, at) if "${{" in value else value
        if isinstance(value, dict):
            with self._own_names(value, at):
                return {key: self.walk(each, (*at, key)) for key, each in value.items()}
        if isinstance(value, list):
            return [self.walk(each, (*at, no)) for no, each in enumerate(value)]
        return value

    @contextmanager
    def _own_names(self, holder: dict[Any, Any], at: Loc) -> Iterator[None]:
        """Within a group with an array, the array's names are left for the node."""
        if len(at) != 2 or at[0] != "groups":
            yield
            return
        self._own = array_names(holder.get("array"))
        for name in self._own & set(self._values or ()):
            same = f"{name!r} is a parameter, too"
            self._told(FieldError(field_of((*at, "array", name)), same, "give one of them another name"))
        yield
        self._own = set()

    def _text(self, text: str, at: Loc) -> Any:
        where = field_of(at) or "job"
        whole = REFERENCE.fullmatch(text)
        if whole:
            found = self._value(whole[1], where)
            return text if found is None else _fitting(found, types_at(self._kind, at))
        self._spend(len(text), where)  # an alias may repeat it
        return REFERENCE.sub(lambda each: self._inserted(each, where), text)

    def _inserted(self, reference: re.Match[str], where: str) -> str:
        found = self._value(reference[1], where)
        return reference[0] if found is None else as_text(found)

    def _value(self, name: str, where: str) -> Scalar | None:
        if name in self._own:
            return None
        found = (self._values or {}).get(name)
        if found is None:
            if self._values is not None and name not in self._values:
                self._told(_no_such(where, name, self._values))
        elif not self._own.isdisjoint(references(as_text(found))):
            of_array = "a value in a group with an array cannot refer to it"
            self._told(FieldError(where, of_array, "give another value, or put the reference into the file"))
        else:
            self._spend(len(as_text(found)), where)
            return found
        self.unknown.add(where)
        return None

    def _spend(self, characters: int, where: str) -> None:
        self._left -= characters
        if self._left < 0:
            many = "values come to very much text"
            self.wrong.append(FieldError(where, many, "put large ones into a file of the job"))
            raise _Enough

    def _told(self, error: FieldError) -> None:
        """Of very much that is wrong no more is looked for: names that may have been meant take long to find."""
        self.wrong.append(error)
        if len(self.wrong) > MOST:
            raise _Enough


def types_at(kind: type[BaseModel], loc: Loc) -> set[Any]:
    """The types that a model takes at a place; none where it has no such place."""
    types: set[Any] = {kind}
    for part in loc:
        types = {inner for each in types for inner in _inside(each, part)}
    return types


def _inside(kind: Any, part: object) -> set[Any]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        found = kind.model_fields.get(str(part))
        return _plain(found.annotation) if found else set()
    arguments = get_args(kind)
    return _plain(arguments[-1]) if arguments and get_origin(kind) in (list, dict) else set()


def _plain(annotation: Any) -> set[Any]:
    """The types of an annotation, of a union all of them."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return {each for part in get_args(annotation) for each in _plain(part)}
    return {annotation}
