"""Counted things in sentences."""

import pytest

from wire.counts import counted


@pytest.mark.parametrize(
    ("number", "words", "said"),
    [
        (0, ("job",), "0 jobs"),
        (1, ("job",), "1 job"),
        (1200, ("job",), "1,200 jobs"),
        (1, ("job waits", "jobs wait"), "1 job waits"),
        (2, ("job waits", "jobs wait"), "2 jobs wait"),
    ],
)
def test_one_is_singular(number: int, words: tuple[str, ...], said: str) -> None:
    assert counted(number, *words) == said
