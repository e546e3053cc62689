"""What became of each thing that a script or a manifest says: taken over, passed over, or lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import IntEnum
from reprlib import Repr
from typing import Any

from client.errors import InvalidJob, placed
from contract import jobspec
from contract.problems import FieldError
from wire.counts import counted

MAX_TIMEOUT_S = 30 * 86400
_BRIEF = Repr()
_BRIEF.maxlevel, _BRIEF.maxstring, _BRIEF.maxother = 1, 60, 60
_WIDE = 44  # columns for what was written


class Fate(IntEnum):
    """TAKEN: the job says the same. NOTED: left out, which changes nothing of what the job computes. LOST: it does."""

    TAKEN = 0
    NOTED = 1
    LOST = 2


_HEADS = {Fate.TAKEN: "understood", Fate.NOTED: "not understood, not essential", Fate.LOST: "lost"}


@dataclass(frozen=True, slots=True)
class Remark:
    """``what`` stands in ``line`` (counted from 1; 0: nowhere), and ``became`` says what it means here."""

    line: int
    what: str
    became: str
    fate: Fate

    def text(self) -> str:
        where = f"line {self.line}" if self.line else ""
        return f"  {where:<9} {_cut(self.what):<{_WIDE}} {' '.join(self.became.split())}"


@dataclass(slots=True)
class Remarks:
    """What is gathered while a text is read."""

    found: list[Remark] = field(default_factory=list)
    wrong: list[tuple[int, FieldError]] = field(default_factory=list)  # each with its line
    lines: dict[str, int] = field(default_factory=dict)  # of the text, by the field of the job that came from there

    def taken(self, line: int, what: str, became: str, of: str = "") -> None:
        """``of``: the field of the job."""
        if of:
            self.lines[of] = line
        self.found.append(Remark(line, what, became, Fate.TAKEN))

    def noted(self, line: int, what: str, why: str) -> None:
        self.found.append(Remark(line, what, why, Fate.NOTED))

    def lost(self, line: int, what: str, why: str) -> None:
        self.found.append(Remark(line, what, why, Fate.LOST))

    def error(self, line: int, message: str, remedy: str = "") -> None:
        self.wrong.append((line, FieldError(f"line {line}", message, remedy)))


@dataclass(frozen=True, slots=True)
class Converted:
    """A job file's document, and what was made of the text it comes from. ``source``: what the text is."""

    source: str
    spec: dict[str, Any]
    remarks: list[Remark]
    places: dict[str, int]  # as ``Remarks.lines``

    @property
    def lost(self) -> list[Remark]:
        """What the job would need to do the same."""
        return [r for r in self.remarks if r.fate is Fate.LOST]

    def lines(self, *, brief: bool = False) -> Iterator[str]:
        """The report, for people; each fate under its head, in the text's order. brief: understood is counted."""
        for fate, head in _HEADS.items():
            rows = sorted((r for r in self.remarks if r.fate is fate), key=lambda r: r.line)
            if rows and brief and fate is Fate.TAKEN:
                yield f"{head}: {counted(len(rows), 'thing')} that it says; hydractl convert tells each"
            elif rows:
                yield f"{head}:"
                yield from (row.text() for row in rows)


def finished(source: str, spec: dict[str, Any], remarks: Remarks) -> Converted:
    """The document as the server would take it; ``InvalidJob`` with all that is wrong."""
    wrong = [error for _, error in sorted(remarks.wrong, key=lambda each: each[0])]
    found = [replace(error, group="") for error in jobspec.parse(spec)[1]]  # the text knows of no groups
    if wrong := wrong or placed(found, remarks.lines):
        raise InvalidJob(wrong)
    return Converted(source, spec, remarks.found, remarks.lines)


def meant(name: str, known: Iterable[str]) -> str:
    """What to do about a name that nobody knows."""
    close = get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]}?" if close else "correct or remove it"


def shown(value: object) -> str:
    """A value as Python writes it, cut short: aliases may make it longer than any memory."""
    return _BRIEF.repr(value)


def job_name(text: str) -> str:
    """A name as jobs have them: lower case, and ``-`` for what is not allowed; ``job`` where nothing is left."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-.") else "-" for c in text.lower())
    return kept[:128].strip("-.") or "job"


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDE else flat[: _WIDE - 1] + "…"
