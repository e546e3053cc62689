"""Node-label expressions: what they accept, and how a wrong one is told."""

import pytest

from wire import labels

NODE = {"gpu": "true", "zone": "a", "spot": "false", "kernel": "6.1", "empty": "", "disk/type": "ssd"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("   ", True),
        ("gpu", True),
        ("spot", False),
        ("empty", False),
        ("nothing", False),
        ("!spot", True),
        ("!!gpu", True),
        ("gpu && !spot", True),
        ("gpu&&!spot", True),
        ("spot || zone == a", True),
        ("zone in (a, b)", True),
        ("zone in (b,c)", False),
        ("zone != b", True),
        ("zone != a", False),
        ("nothing != a", True),
        ("kernel == 6.1", True),
        ("disk/type == ssd", True),
        ("gpu || spot && spot", True),  # && binds tighter
        ("(gpu || spot) && spot", False),
        ("!gpu || gpu", True),  # ! binds tightest
        ("!(gpu && spot)", True),
        ("in == in", False),  # a label may be called `in`
    ],
)
def test_accepts(text: str, expected: bool) -> None:
    assert labels.parse(text)(NODE) is expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("gpu &", "position 3"),
        ("gpu ; spot", "position 3"),
        ("gpu &&", "ends too early"),
        ("&& gpu", "a name was expected"),
        ("(gpu", r"\( has no \)"),
        ("gpu)", r"unexpected '\)'"),
        ("gpu spot", "unexpected 'spot'"),
        ("zone in a", "needs a list"),
        ("zone in ()", "a name was expected"),
        ("zone in (a b)", "commas"),
        ("zone in (a,", "ends too early"),
        ("zone ==", "ends too early"),
        ("a" * 501, "longer than 500"),
        ("'gpu'", "position 0"),
        ("gpu\0", "position 3"),
        ("(" * 400, "inside one another"),
        ("!" * 400 + "gpu", "inside one another"),
        ("!(" * 33 + "gpu" + ")" * 33, "inside one another"),
    ],
)
def test_a_wrong_expression_is_told(text: str, told: str) -> None:
    with pytest.raises(labels.LabelError, match=told):
        labels.parse(text)


def test_many_terms_are_fine_where_nothing_is_nested() -> None:
    assert labels.parse("||".join(["x"] * 160 + ["gpu"]))(NODE)
    assert labels.parse("&&".join(["!x"] * 120))(NODE)
    assert labels.parse("&&".join(["(gpu)"] * 70))(NODE)
    assert not labels.parse("!" * 31 + "gpu")(NODE)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("gpu", ["gpu"]),
        ("gpu && !spot", ["gpu", "!spot"]),
        ("zone in (a, b) && (gpu || fast) && x==1", ["zone in (a, b)", "(gpu || fast)", "x == 1"]),
        ("a && b || c", ["a && b || c"]),
    ],
)
def test_parts_that_must_all_hold(text: str, parts: list[str]):
    assert labels.conjuncts(text) == parts
    node = {"gpu": "1", "zone": "b", "x": "1", "a": "y", "c": "1"}
    assert labels.parse(text)(node) == all(labels.parse(part)(node) for part in parts)
