"""YAML that comes to far more than it is: refused before it is written out, and where its errors are placed, too."""

import pytest
import yaml

from contract import yamltext
from contract.problems import FieldError

LARGE = "x" * 40_000
NESTED = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 8))
BOMBS = {
    "a long text in very many places": f'- &a "{LARGE}"\n' + "- *a\n" * 200,
    "lists of lists": "a0: &a0 [x]\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 8)),
    "mappings merged into mappings": NESTED,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_little_text_does_not_become_very_much(text: str) -> None:
    assert len(text) < 128 << 10
    with pytest.raises(yaml.YAMLError, match="aliases"):
        yamltext.load(text)
    unplaced = [FieldError("job", "is not valid YAML", "correct it")]
    assert yamltext.located(unplaced, text) == unplaced


def test_what_is_long_without_aliases_is_read() -> None:
    texts = [LARGE] * 200
    assert yamltext.load("\n".join(f"- {text}" for text in texts)) == texts
    assert yamltext.load("a: &a {k: v}\nb: {<<: *a, l: w}\n")["b"] == {"k": "v", "l": "w"}


@pytest.mark.parametrize("text", ['a: "\\ud800"', '"\\udfff": 1', '- ["\\ud83d\\ude00"]'])
def test_half_a_character_is_no_text(text: str) -> None:
    """Neither JSON nor a database takes it."""
    with pytest.raises(yaml.YAMLError, match="half a character") as refused:
        yamltext.load(text)
    assert yamltext.unreadable(refused.value)[1] is not None
    assert yamltext.load('a: "\\U0001F600"') == {"a": "\U0001f600"}


def test_what_is_filled_in_without_quotes_is_told_that_it_wants_them() -> None:
    for text, told in (("tags: [a, run-${{ run }}]", True), ("tags: [", False)):
        with pytest.raises(yaml.YAMLError) as error:
            yamltext.load(text)
        assert ("${{ }} stands in quotes" in yamltext.unreadable(error.value)[0]) is told
