"""What ``manage.py test`` is told beside its own options."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
_OF_AN_OPTION = {"-k", "-m", "--deselect", "--ignore"}  # the next word selects among tests, whatever it looks like


def named(words: Sequence[str]) -> list[str]:
    """Those that name tests: folders, files, or ``file::test``."""
    return [word for before, word in pairwise(["", *words]) if before not in _OF_AN_OPTION and _is_tests(word)]


def _is_tests(word: str) -> bool:
    path = (TESTS.parent / word.partition("::")[0]).resolve()
    return path.is_relative_to(TESTS) and path.exists()


def take(words: list[str], option: str) -> bool:
    """Whether the option is there; it is removed."""
    found = option in words
    while option in words:
        words.remove(option)
    return found


def take_value(words: list[str], option: str) -> str | None:
    """The word behind the option, ``""`` where it is the last; both are removed. ``None`` without the option."""
    if option not in words:
        return None
    at = words.index(option)
    value = words[at + 1] if at + 1 < len(words) else ""
    del words[at : at + 2]
    return value
