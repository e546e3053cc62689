"""Whether a planted defect was found by the gate."""

import pytest
from django.core.management.base import CommandError

from benchmarks import gate

SAID = "FAILED tests/a.py::test_b - assert\n{}machine factor 1.00\n9 passed, {} failed, 0 skipped\n"
RED = SAID.format("FAILED tests/a.py::test_b - assert\nFAILED tests/a.py::test_c - assert\n", 2)


@pytest.mark.parametrize(
    ("status", "said", "tests"),
    [
        (1, RED, ["tests/a.py::test_b", "tests/a.py::test_c"]),
        (0, RED, []),
        (1, SAID.format("", 0), []),  # red, but for no test
        (1, "FAILED tests/a.py::test_b - assert\nKilled\n", []),
    ],
)
def test_a_red_gate_names_what_found_it(status: int, said: str, tests: list[str]) -> None:
    assert gate.caught(status, said) == tests


def test_a_defect_that_was_missed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "look_for", lambda defect: ["a test"] if defect.stage == "pure" else [])
    with pytest.raises(CommandError, match="4 of 6 defects were not found: a lost wake-up; "):
        gate.main(["--defects"])
    monkeypatch.setattr(gate, "look_for", lambda defect: ["a test"])
    assert gate.main(["--defects"])["found"] == 6
