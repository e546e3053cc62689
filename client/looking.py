"""Lists as people want to look at them: which columns, in which order, once or again and again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from client.errors import HydraError, Unreachable, client_error
from client.screen import (
    Column,
    Count,
    Format,
    Keyed,
    Nothing,
    at_most,
    console,
    cut_at,
    filled,
    in_words,
    not_as_json,
    plain,
    printable,
    show,
    tabulated,
)

T = TypeVar("T")
Key = tuple[Any, ...]
AWAY = (429, 502, 503, 504)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)")

WatchOption = Annotated[
    float | None, typer.Option("--watch", "-w", min=0.2, help="Look again every so many seconds, until Ctrl-C.")
]


def sorting(columns: Sequence[Column[Any]]) -> Any:
    """The option ``--sort`` of a table with these columns."""
    told = "What is listed by this column; with a - before it from the top down."
    return typer.Option("--sort", help=told, autocompletion=_completing(columns))


def picking(columns: Sequence[Column[Any]]) -> Any:
    """The option ``--columns`` of a table with these columns."""
    told = "Only these columns of the table, as in name,state."
    return typer.Option("--columns", help=told, autocompletion=_completing(columns))


def _completing(columns: Sequence[Column[Any]]) -> Callable[[str], list[str]]:
    """Completion of the last column's name; shells ask for none behind a -."""

    def complete(incomplete: str) -> list[str]:
        before, sign, begun = incomplete.rpartition(",")
        return [before + sign + name for name in _names(columns) if name.startswith(begun)]

    return complete


def _names(columns: Sequence[Column[Any]]) -> list[str]:
    return [title.lower().replace(" ", "-") for title, _ in columns]


@dataclass(frozen=True, slots=True)
class Looking:
    """What the options say; None where they say nothing. ``watch``: seconds."""

    sort: str | None = None
    columns: str | None = None
    watch: float | None = None


def only_of_lists(look: Looking, remedy: str) -> None:
    """``HydraError`` where options say how a list is to look, and what is shown is none."""
    for name in ("sort", "columns", "watch"):
        if getattr(look, name) is not None:
            raise client_error("is of a list", field_name=name, remedy=remedy)


def listed(
    fetch: Callable[[], Iterable[T]],
    columns: Sequence[Column[T]],
    output: Format,
    *,
    nothing: Nothing,
    look: Looking,
    limit: int | None = None,
    usual: Sequence[Column[T]] | None = None,
    sparse: bool = False,
    count: Count | None = None,
) -> None:
    """``show`` of what ``fetch`` gives; where people watch, over and over.

    usual: of the columns, those that are shown unless some are chosen; sparse: and of these only what holds something.
    count: how many there are, asked where the list is cut.
    """
    sparse = sparse and look.columns is None
    shown = list(usual) if usual and look.columns is None else chosen(columns, look.columns)
    order = _order(columns, look.sort)
    if look.watch is None:
        show(fetch(), shown, output, nothing=nothing, limit=limit, order=order, sparse=sparse, count=count)
        return
    if output is Format.json:
        raise not_as_json("--watch")

    def picture() -> RenderableType:
        rows, more = at_most(fetch(), limit) if limit else (fetch(), False)
        rows = list(order(rows) if order else rows)
        table = tabulated(rows, filled(rows, shown) if sparse else shown)
        if not table.row_count:
            return Text(in_words(nothing))
        return Group(table, Text(cut_at(len(rows), count))) if more else table

    watched(picture, look.watch)


def watched(picture: Callable[[], RenderableType], every_s: float, pause: Callable[[float], None] = time.sleep) -> None:
    """Draw it every so often: in place on a terminal, elsewhere one below the other. Ends with Ctrl-C only.

    While the server is away that is said instead, and looking goes on; the first look must succeed.
    """
    screen = console()
    if not screen.is_terminal:
        for drawn in _looks(picture, every_s, pause):
            screen.print(drawn)
        return
    with Live(console=screen, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as area:
        for drawn in _looks(picture, every_s, pause):
            area.update(drawn, refresh=True)


def _looks(picture: Callable[[], RenderableType], every_s: float, pause: Callable[[float], None]) -> Iterator[Group]:
    drawn = picture()
    while True:
        yield Group(Text(f"{plain(datetime.now().astimezone())}, every {every_s:g} s", style="dim"), drawn)
        pause(every_s)
        try:
            drawn = picture()
        except HydraError as error:
            if not (isinstance(error, Unreachable) or error.status in AWAY):
                raise
            drawn = Text(printable(str(error)), style="red")


def chosen(columns: Sequence[Column[T]], names: str | None) -> list[Column[T]]:
    """Those of these names, in that order; ``HydraError`` that lists them all where one is none."""
    return list(columns) if names is None else [_named(columns, name, "columns") for name in names.split(",")]


def _named(columns: Sequence[Column[T]], name: str, option: str) -> Column[T]:
    for column in columns:
        if _letters(column[0]) == _letters(name):
            return column
    known = ", ".join(_names(columns))
    raise client_error(f"there is no column {name.strip()!r}", field_name=option, remedy=f"There are: {known}.")


def _letters(title: str) -> str:
    return "".join(c for c in title.lower() if c.isalnum())


def _order(columns: Sequence[Column[T]], sort: str | None) -> Callable[[Iterable[T]], list[T]] | None:
    if sort is None:
        return None
    _, take = _named(columns, sort.removeprefix("-"), "sort")

    def order(rows: Iterable[T]) -> list[T]:
        keyed = [(key_of(take(row)), row) for row in rows]
        there = [each for each in keyed if each[0] is not None]
        there.sort(key=lambda each: each[0] or (), reverse=sort.startswith("-"))
        return [row for _, row in [*there, *(each for each in keyed if each[0] is None)]]

    return order


def key_of(value: Any) -> Key | None:
    """What a cell is sorted by: amounts by size, texts by their words, and numbers in them by size; None: last."""
    if isinstance(value, Keyed):
        return (0, value.key)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, datetime):
        return (0, value.timestamp())
    text = plain(value).strip().casefold()
    if text in ("", "-"):
        return None
    # Splitting by numbers leaves text at even places and numbers at odd ones.
    return (1, *((float(part), "") if at % 2 else (0.0, part) for at, part in enumerate(_NUMBER.split(text))))
