"""What people and programs see: tables, JSON, and errors, each on its own stream."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from client import clock
from client.answers import to_json
from client.errors import HydraError, client_error
from contract.base import Answer

T = TypeVar("T")
WIDE = 400  # columns where nobody looks: a table in a pipe is not cut


class Format(StrEnum):
    table = "table"
    json = "json"


OutputOption = Annotated[
    Format, typer.Option("--output", "-o", envvar="HYDRA_OUTPUT", help="What to print: for people or for programs.")
]
_COLOURS = {
    "SUCCEEDED": "green", "RUNNING": "cyan", "UP": "green", "FAILED": "red", "LOST": "red", "KILLED": "magenta",
    "KILLING": "magenta", "UNHEALTHY": "yellow",
    "CORDONED": "yellow", "DRAINING": "yellow", "LEAVING": "yellow", "MAINTENANCE": "yellow", "DRAINED": "dim",
    "WAITING": "dim", "PENDING": "yellow", "SUBMITTED": "yellow",
}  # fmt: skip


def console(*, stderr: bool = False) -> Console:
    """A console for stdout or stderr as they are now."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else WIDE, highlight=False, soft_wrap=False)


def say(text: str) -> None:
    """A line for people, on stderr, so that stdout stays what was asked for."""
    print(printable(text), file=sys.stderr, flush=True)


def fail(error: HydraError) -> None:
    """The error as plain lines on stderr."""
    for line in error.lines():
        say(f"hydractl: {line}")


def printable(text: str) -> str:
    """Without control characters: names and messages are other people's, the terminal is ours."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def not_as_json(option: str) -> HydraError:
    """Of an option that draws on a terminal, where JSON is asked for; perhaps by nobody who remembers."""
    if os.environ.get("HYDRA_OUTPUT") == Format.json:
        return client_error("does not go with HYDRA_OUTPUT=json", field_name=option, remedy="Add -o table.")
    return client_error("does not go with -o json", field_name=option, remedy="Leave one of them out.")


def print_json(answer: Any) -> None:
    print(json.dumps(to_json(answer), indent=2, ensure_ascii=False))


def told(answer: Any, text: str, output: Format) -> None:
    """What became of a command: one line on stdout, or the answer as JSON."""
    print_json(answer) if output is Format.json else print(printable(text))


def noted(answer: Any, text: str, output: Format) -> None:
    """As ``told``, where people asked for nothing to be printed: the line is on stderr."""
    print_json(answer) if output is Format.json else say(text)


Column = tuple[str, Callable[[T], Any]]
Count = Callable[[], int | None]  # how many rows there are in all; None: nobody counts them


class Unheaded(str):
    """A column's title that tables leave out: it is what ``--sort`` and ``--columns`` call the column."""

    __slots__ = ()


class Keyed(str):
    """A text for people, with what tables are sorted by instead of its letters."""

    __slots__ = ("key",)
    key: float | tuple[float, ...]

    def __new__(cls, text: str, key: float | tuple[float, ...]) -> Keyed:
        made = super().__new__(cls, text)
        made.key = key
        return made


Nothing = str | Callable[[], str]  # what people read instead of an empty table; worked out where it is wanted


def show(
    rows: Iterable[T],
    columns: Sequence[Column[T]],
    output: Format,
    *,
    nothing: Nothing,
    limit: int | None = None,
    order: Callable[[Iterable[T]], Iterable[T]] | None = None,
    sparse: bool = False,
    count: Count | None = None,
) -> None:
    """A list as a table or as JSON.

    limit: at most so many rows, of which stderr tells where there are more; None or 0: all.
    order: of those that are shown. sparse: a table has no columns that hold nothing; stderr names them.
    count: as for ``cut_at``.
    """
    if limit:
        rows, more = at_most(rows, limit)
    if order:
        rows = order(rows)
    if output is Format.json:
        print_json(rows)
    elif sparse:
        rows = list(rows)
        kept = filled(rows, columns)
        _tabulated(rows, kept, nothing)
        if rows and len(kept) < len(columns):
            say(f"Left out, with nothing in them: {', '.join(each[0] for each in columns if each not in kept)}")
    else:
        _tabulated(rows, columns, nothing)
    if limit and more:
        say(cut_at(limit, count))


def cut_at(limit: int, count: Count | None) -> str:
    """That a list goes on; of how many, where somebody can ``count`` them."""
    of_all = count() if count else None
    # Tasks that a service has no more are listed and not counted.
    known = of_all is not None and of_all > limit
    return f"{limit:,} of {of_all:,} shown: --limit 0" if known else f"{limit:,} shown; there are more: --limit 0"


def at_most(rows: Iterable[T], limit: int) -> tuple[list[T], bool]:
    """The first ``limit`` rows, and whether there is one more."""
    found = list(islice(rows, limit + 1))
    return found[:limit], len(found) > limit


def filled(rows: Sequence[T], columns: Sequence[Column[T]]) -> list[Column[T]]:
    """The columns that hold something in some row."""
    return [(title, take) for title, take in columns if any(plain(take(row)).strip() not in ("", "-") for row in rows)]


def _tabulated(rows: Iterable[T], columns: Sequence[Column[T]], nothing: Nothing) -> None:
    table = tabulated(rows, columns)
    if table.row_count:
        console().print(table)
    else:
        say(in_words(nothing))


def in_words(nothing: Nothing) -> str:
    return nothing if isinstance(nothing, str) else nothing()


def tabulated(rows: Iterable[T], columns: Sequence[Column[T]]) -> Table:
    """Rows under the columns' titles."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title, _ in columns:
        table.add_column("" if isinstance(title, Unheaded) else title, overflow="fold")
    for row in rows:
        table.add_row(*(cell(take(row)) for _, take in columns))
    return table


def show_one(answer: Any, pairs: Sequence[tuple[str, Any]], output: Format) -> None:
    """One thing as ``name  value`` lines, empty values left out, or as JSON."""
    if output is Format.json:
        print_json(answer)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in pairs:
        if value not in (None, "", [], {}):
            table.add_row(name, cell(value))
    console().print(table)


def cell(value: Any) -> Text:
    """A value as people read it, never as markup."""
    if isinstance(value, Text):
        return value
    text = printable(plain(value))
    return Text(text, style=_COLOURS.get(text, ""))


def plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Answer):
        value = value.model_dump()
    if isinstance(value, dict):
        return ", ".join(f"{key}={plain(each)}" for key, each in value.items()) or "-"
    if isinstance(value, (list, tuple)):
        return ", ".join(plain(each) for each in value) or "-"
    return "-" if value is None or value == "" else str(value)


def few(names: Sequence[str]) -> str:
    """The first three of them, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def duration(start: datetime | None, end: datetime | None) -> str:
    """``1.2 s``, ``3 min 04 s``, ``2 h 05 min``; until now where it has not ended."""
    if start is None:
        return "-"
    seconds = max(0.0, ((end or clock.now()) - start).total_seconds())
    if seconds < 60:
        return Keyed(f"{seconds:.1f} s", seconds)
    minutes, rest = divmod(int(seconds), 60)
    text = f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
    return Keyed(text, seconds)


def size(count: float | None) -> str:
    """Bytes with a binary unit."""
    if count is None:
        return "-"
    amount = count
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return Keyed(f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}", count)
        amount /= 1024
    return Keyed(f"{amount:.1f} TiB", count)
