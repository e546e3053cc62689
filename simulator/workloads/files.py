"""Files as lines, rows and objects, plain or gzipped, with errors that name the place.

Everything here is read piece by piece: a file may be longer than the memory.
"""

import csv
import gzip
import json
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, cast

PIECE = 1 << 16  # characters
GZIP = b"\x1f\x8b"
TOKEN = 16  # more than the longest part of JSON, besides texts, that the end of a piece may cut
SHOWN = 40  # characters of what cannot be read
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")


class Unreadable(ValueError):
    """A source cannot be read; the text says where, what is wrong and what to do."""


@dataclass(frozen=True, slots=True)
class Record:
    """One line, row or object with named fields.

    texts: numbers may be written as text. inside: the field of the outer object in which it stands.
    """

    path: Path
    line: int
    values: dict[str, Any]
    texts: bool = False
    inside: str = ""

    def wrong(self, field: str, what: str, remedy: str) -> Unreadable:
        return Unreadable(f"{self.path}, line {self.line}, field {self.inside}{field}: {what}; {remedy}")

    def number(self, field: str, missing: float | None = None, least: float = -math.inf) -> float:
        """A finite number, at least ``least``; ``missing`` where the field is not there or empty."""
        value = self._given(field)
        if value is None and missing is not None:
            return missing
        if self.texts and isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                pass  # said below, like any other text
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2.0**63:
            raise self.wrong(field, f"{self._shown(field)} is not a number", "give a number")
        if value < least:
            raise self.wrong(field, f"{value:g} is too small", f"give {least:g} or more")
        return float(value)

    def whole(self, field: str, missing: int | None = None, least: float = -math.inf, most: float = math.inf) -> int:
        """Likewise a whole number, at most ``most``."""
        value = self._given(field)
        if value is None and missing is not None:
            return missing
        if isinstance(value, str) and self.texts and _WHOLE.fullmatch(value):
            value = int(value)
        found = self.number(field, None if missing is None else float(missing), least)
        if not found.is_integer():
            raise self.wrong(field, f"{self._shown(field)} is not whole", "give a whole number")
        if found > most:
            raise self.wrong(field, f"{found:,.0f} is too large", f"give {most:,} or less")
        # A float would lose digits beyond its 53 bits.
        return value if isinstance(value, int) else int(found)

    def text(self, field: str, missing: str | None = None) -> str:
        value = self.values.get(field)
        if value is None and missing is not None:
            return missing
        if not isinstance(value, str):
            raise self.wrong(field, f"{self._shown(field)} is not a text", "give a text in quotes")
        return value

    def flag(self, field: str, missing: bool) -> bool:
        value = self.values.get(field, missing)
        if not isinstance(value, bool):
            raise self.wrong(field, f"{self._shown(field)} is neither true nor false", "give true or false")
        return value

    def items(self, field: str, missing: Sequence[Any] | None = None) -> list[Any]:
        value = self.values.get(field)
        if value is None and missing is not None:
            return list(missing)
        if not isinstance(value, list):
            raise self.wrong(field, f"{self._shown(field)} is not a list", "give a list")
        return value

    def numbers(self, field: str, missing: Sequence[float] | None = None, least: float = -math.inf) -> list[float]:
        """A list of numbers, as ``number`` reads each."""
        values = self.items(field, missing)
        if all(type(v) in (int, float) and least <= v < 2.0**63 for v in values):  # lists may be long
            return [float(v) for v in values]
        given = {f"{field}[{i}]": value for i, value in enumerate(values)}
        each = Record(self.path, self.line, given, self.texts, self.inside)
        return [each.number(name, least=least) for name in given]

    def inner(self, field: str, missing: Sequence[Any] | None = None) -> Iterator["Record"]:
        """The objects of a list."""
        for i, value in enumerate(self.items(field, missing)):
            yield self._within(f"{field}[{i}]", value)

    def part(self, field: str) -> "Record":
        """The object in a field."""
        return self._within(field, self.values.get(field))

    def only(self, known: Sequence[str]) -> None:
        """``Unreadable`` at a field that is not among ``known``."""
        for field in self.values:
            if field not in known:
                raise self.wrong(field[:SHOWN], "is unknown", f"remove it, or use one of: {', '.join(known)}")

    def _within(self, name: str, value: Any) -> "Record":
        if not isinstance(value, dict):
            raise self.wrong(name, f"{str(value)[:SHOWN]!r} is not an object", "give an object in braces")
        return Record(self.path, self.line, value, self.texts, f"{self.inside}{name}.")

    def _given(self, field: str) -> Any:
        value = self.values.get(field)
        return None if self.texts and value == "" else value

    def _shown(self, field: str) -> str:
        if field not in self.values:
            return "nothing"
        return repr(self.values[field])[: SHOWN + 2]


def lines(path: Path, errors: str = "strict") -> Iterator[tuple[int, str]]:
    """(number, line) of a text in UTF-8, without line ends. errors: what becomes of other bytes, as in ``open``."""
    number = 0
    with _opened(path, errors) as file:
        try:
            for number, line in enumerate(file, 1):
                yield number, line.rstrip("\r\n")
        except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
            _broken(path, number, error)


def rows(path: Path, columns: Sequence[str]) -> Iterator[Record]:
    """Rows of a CSV file with a header that names at least ``columns``."""
    reader = csv.DictReader((line for _, line in lines(path)), strict=True)
    try:
        missing = [c for c in columns if c not in (reader.fieldnames or ())]
        if missing:
            named = ", ".join(missing)
            raise Unreadable(f"{path}, line 1, field {missing[0]}: the header lacks {named}; add the columns")
        for row in reader:
            record = Record(path, reader.line_num, row, texts=True)
            if None in row:
                raise record.wrong(
                    (reader.fieldnames or columns)[-1], "the row goes on behind it", "give one value per column"
                )
            for column in columns:
                if row[column] is None:
                    raise record.wrong(column, "the row ends before it", "give one value per column of the header")
            yield record
    except csv.Error as error:
        raise Unreadable(f"{path}, line {reader.reader.line_num}: {error}; repair the line") from None


def objects(path: Path, texts: bool = False) -> Iterator[Record]:
    """JSON objects that stand one after the other, with the line on which each begins."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    held, at, line = "", 0, 1
    with _opened(path) as file:
        while True:
            while at < len(held) and held[at].isspace():
                line += held[at] == "\n"
                at += 1
            try:
                value, end = decoder.raw_decode(held, at)
            except ValueError as error:
                # Twice as much each time, so that a long object costs its length and not the square of it.
                more = _more(file, path, line, max(PIECE, len(held) - at))
                if not more and at == len(held):
                    return
                if not more or _hopeless(error, held):
                    _no_json(path, line, held, at, error)
                held, at = held[at:] + more, 0
                continue
            except RecursionError:
                raise Unreadable(f"{path}, line {line}: the object is nested too deeply; flatten it") from None
            if not isinstance(value, dict):
                raise Unreadable(f"{path}, line {line}: an object was expected; put it in braces")
            yield Record(path, line, value, texts)
            line += held.count("\n", at, end)
            at = end


def _opened(path: Path, errors: str = "strict") -> IO[str]:
    with path.open("rb") as file:
        zipped = file.read(2) == GZIP
    if zipped:
        return cast(IO[str], gzip.open(path, "rt", encoding="utf-8-sig", errors=errors))
    return path.open(encoding="utf-8-sig", errors=errors)


def _more(file: IO[str], path: Path, line: int, length: int) -> str:
    try:
        return file.read(length)
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        _broken(path, line, error)


def _broken(path: Path, line: int, error: Exception) -> NoReturn:
    raise Unreadable(f"{path}, after line {line}: the file is damaged ({error}); get it anew") from error


def _hopeless(error: ValueError, held: str) -> bool:
    """Whether more text cannot help: what is wrong lies before the end, and is no text that has not ended yet."""
    if not isinstance(error, json.JSONDecodeError):
        return True
    return error.pos < len(held) - TOKEN and not error.msg.startswith("Unterminated")


def _no_json(path: Path, line: int, held: str, at: int, error: ValueError) -> NoReturn:
    if isinstance(error, json.JSONDecodeError):
        line += held.count("\n", at, error.pos)
        raise Unreadable(f"{path}, line {line}: this is no JSON ({error.msg}); repair the object") from None
    raise Unreadable(f"{path}, in the object that begins on line {line}: {error}; repair it") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
