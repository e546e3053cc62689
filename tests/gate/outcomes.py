"""What became of the tests of a run, read from what ``record`` wrote."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.machine import Stall


@dataclass
class Outcome:
    """One test over its phases. expected: why its failing was expected. missed: every failure was of missing time.

    stall: what the machine was like until time was missed.
    """

    test: str
    passed: bool = False
    skipped: str = ""
    expected: str = ""
    errors: list[str] = field(default_factory=list)
    missed: bool = True
    seconds: float = 0.0
    stall: Stall | None = None

    @property
    def kind(self) -> str:
        if self.errors:
            return "failed"
        return "skipped" if self.skipped or self.expected else "passed"


@dataclass
class Outcomes:
    """collected: how many tests pytest found, 0 as long as it has not said so."""

    collected: int = 0
    tests: dict[str, Outcome] = field(default_factory=dict)

    def counts(self) -> Counter[str]:
        return Counter(outcome.kind for outcome in self.tests.values())

    def failed(self) -> list[Outcome]:
        return [outcome for outcome in self.tests.values() if outcome.errors]

    def not_run(self) -> list[Outcome]:
        """Skipped, or failing as expected."""
        return [outcome for outcome in self.tests.values() if outcome.kind == "skipped"]


def read(path: Path) -> Outcomes:
    """So far; a last line that is being written is left for the next time."""
    found = Outcomes()
    text = path.read_text() if path.exists() else ""
    for raw in text.split("\n")[:-1]:
        line = json.loads(raw)
        if "collected" in line:
            found.collected = max(found.collected, line["collected"])
            continue
        outcome = found.tests.setdefault(line["test"], Outcome(line["test"]))
        outcome.seconds += line["seconds"]
        if line["outcome"] == "failed":
            outcome.errors.append(line["error"])
            outcome.missed &= line["missed_time"]
            outcome.stall = Stall(**line["stall"]) if "stall" in line else outcome.stall
        elif "expected" in line:
            outcome.expected = line["expected"] or "expected to fail"
        elif line["outcome"] == "skipped":
            outcome.skipped = line.get("reason") or "skipped"
        elif line["phase"] == "call":
            outcome.passed = True
    return found
