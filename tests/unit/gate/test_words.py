"""What ``manage.py test`` is told: which words are tests, and what they stand in place of."""

import pytest

from tests.gate.stages import FAULTS, PURE
from tests.gate.words import named, take, take_value

HERE = "tests/unit/gate/test_words.py"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], []),
        (["-q", HERE, "-x"], [HERE]),
        ([f"{HERE}::test_it", "tests/unit/gate"], [f"{HERE}::test_it", "tests/unit/gate"]),
        (["-k", "tests", "--deselect", HERE], []),
        (["client", "tests/nowhere", "--junitxml=x"], []),
    ],
)
def test_paths_below_the_tests_name_tests(words: list[str], found: list[str]) -> None:
    assert named(words) == found


def test_what_is_named_stands_in_place_of_a_stages_own_paths() -> None:
    assert FAULTS.options([HERE]) == ["-m", "faults", HERE]
    assert FAULTS.options(["-k", "x"]) == ["-m", "faults", "tests", "-k", "x"]
    assert PURE.options(["-x", HERE])[-2:] == ["-x", HERE] and "tests/unit" not in PURE.options([HERE])


def test_options_of_its_own_are_taken_away() -> None:
    words = ["-x", "--soak", "--stage", "pure", "--table"]
    assert take(words, "--soak") and not take(words, "--soak")
    assert (take_value(words, "--stage"), take_value(words, "--table")) == ("pure", "")
    assert take_value(words, "--stage") is None and words == ["-x"]
