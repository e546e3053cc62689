"""Limits are kept whatever ends them, and brought into the table of promises."""

import json
from pathlib import Path

import pytest

from tests import limits
from tests.gate import promises
from tests.patience import RanOut

DOCUMENT = """# Reliability

| promise | what | limit, s | slowest, s | of | machine |
|---|---|---|---|---|---|
| 2 | a leader leads | 8 | 3.38 | 1 | 2 x A |
| 10 | a submit is answered | 2 | 1.54 | 3 | 2 x A |
|  | a page is shown | 10 | 6.04 | 1 | 2 x A |

Besides.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HYDRA_TEST_RECORD", str(tmp_path))
    return tmp_path


def test_what_never_comes_is_kept_as_well(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def runs_out(*_: object) -> None:
        raise RanOut("it")

    monkeypatch.setattr(limits, "wait_until", runs_out)
    with pytest.raises(RanOut):
        limits.within(5.0, lambda: None, "a leader leads")
    with pytest.raises(ValueError, match="x"), limits.limit("a submit is answered", 2.0):
        raise ValueError("x")
    with limits.limit("a submit is answered", 2.0):
        pass
    found = promises.measured(folder)
    assert [(p.name, p.came, p.times) for p in found] == [
        ("a leader leads", False, 1),
        ("a submit is answered", False, 2),
    ]
    assert "not in" in found[0].line()
    assert promises.into(DOCUMENT, found) == DOCUMENT, "only what came has been measured"


def test_the_slowest_is_brought_into_the_table(folder: Path) -> None:
    quiet = {"late_s": 0.01, "pressure": 0.1, "stolen": 0.0, "came": True, "machine": "4 x B"}
    lines = [("a leader leads", 8, 2.0), ("a leader leads", 8, 4.5), ("a queue is listed", 0.5, 0.251)]
    with open(folder / "limits.jsonl", "w") as file:
        for name, limit_s, took_s in lines:
            file.write(json.dumps(quiet | {"name": name, "limit_s": limit_s, "took_s": took_s}) + "\n")
    table = promises.into(DOCUMENT, promises.measured(folder))
    assert [line for line in table.splitlines() if line not in DOCUMENT.splitlines()] == [
        "| 2 | a leader leads | 8 | 4.50 | 2 | 4 x B |",
        "|  | a queue is listed | 0.5 | 0.25 | 1 | 4 x B |",
    ]
    assert table.index("a queue is listed") > table.index("a page is shown") and table.endswith("Besides.\n")
