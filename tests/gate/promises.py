"""The limits that a run has measured (``tests.limits``): its own table, and the one of docs/reliability.md."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.machine import Stall

ROW = re.compile(r"^\| *(?P<number>\d*) *\| (?P<name>.+) \| (?P<rest>[\d.]+ \| [\d.]+ \| \d+ \| .+) \|$")


@dataclass(frozen=True)
class Promise:
    """The slowest of ``times`` measurements. came: whether what was promised came at all."""

    name: str
    limit_s: float
    took_s: float
    times: int
    came: bool
    stall: Stall
    machine: str

    def line(self) -> str:
        """For the end of a run."""
        slowest = f"slowest {self.took_s:6.2f} s" if self.came else f"not in  {self.took_s:6.2f} s"
        return f"limit {self.limit_s:6.2f} s  {slowest} of {self.times:3}  {self.name} ({self.stall})"

    def rest_of_row(self) -> str:
        on = self.machine if self.stall.quiet else f"{self.machine}; beside other work"
        return f"{self.limit_s:g} | {self.took_s:.2f} | {self.times} | {on}"


def measured(folder: Path) -> list[Promise]:
    """By their names, from the records of a run."""
    path = folder / "limits.jsonl"
    of: dict[str, list[dict]] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        found = json.loads(line)
        of.setdefault(found["name"], []).append(found)
    return [_slowest(of[name]) for name in sorted(of)]


def _slowest(lines: list[dict]) -> Promise:
    worst = max(lines, key=lambda line: (not line["came"], line["took_s"]))
    stall = Stall(worst["late_s"], worst["pressure"], worst["stolen"])
    return Promise(worst["name"], worst["limit_s"], worst["took_s"], len(lines), worst["came"], stall, worst["machine"])


def into(document: str, promises: Iterable[Promise]) -> str:
    """The document whose table has these measurements; rows of what was not measured stay, numbers of promises too.

    A new row has no number: which promise it is of, people say.
    """
    lines = document.split("\n")
    rows = {found["name"]: found for line in lines if (found := ROW.match(line))}
    cells = {name: (found["number"], found["rest"]) for name, found in rows.items()}
    cells |= {p.name: (cells.get(p.name, ("",))[0], p.rest_of_row()) for p in promises if p.came}
    order = sorted(cells, key=lambda name: (not cells[name][0], int(cells[name][0] or 0), name))
    table = [f"| {cells[name][0]} | {name} | {cells[name][1]} |" for name in order]
    begins = next(at for at, line in enumerate(lines) if ROW.match(line))
    kept = [line for line in lines if not ROW.match(line)]
    return "\n".join([*kept[:begins], *table, *kept[begins:]])
