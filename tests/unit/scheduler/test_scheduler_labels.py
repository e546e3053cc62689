"""Node-label expressions: what they accept, and how a wrong one is told."""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.nodeselection import NodeColumns, ask_nodes
from tests.examples import examples
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


terms = st.sampled_from(["gpu", "spot", "node", "rack == r1", "zone == a", "zone != b", "zone in (a, c)", "nothing",
                         "nothing == x", "node in (n1, n2)", "empty"])  # fmt: skip
expressions = st.recursive(
    terms,
    lambda inner: st.one_of(
        inner.map("!({})".format), st.lists(inner, min_size=2, max_size=4).map(lambda p: f"({' && '.join(p)})"),
        st.lists(inner, min_size=2, max_size=4).map(" || ".join),
    ),
    max_leaves=8,
)  # fmt: skip
some_labels = st.dictionaries(st.sampled_from(["gpu", "spot", "zone", "empty", "node"]),
                              st.sampled_from(["", "true", "false", "a", "b"]))  # fmt: skip
names = st.lists(st.sampled_from(["n0", "n1", "n5"]), max_size=2)


@examples(150)
@given(
    expressions | st.just(""), st.lists(some_labels, max_size=6), st.booleans(), names, st.sampled_from([[], ["r1"]])
)
def test_all_nodes_at_once_are_chosen_as_one_by_one(
    text: str, own: list[dict[str, str]], strict: bool, near: list[str], racks: list[str]
) -> None:
    nodes = [(f"n{at}", f"r{at % 2}", each) for at, each in enumerate(own)]
    singly = ask_nodes(text, strict, near, racks)
    columns = NodeColumns(nodes)
    for _ in range(2):  # what it answers is the caller's own
        found = columns.of_ask(text, strict, near, racks)
        assert found.tolist() == [singly(*node) for node in nodes]
        found[:] = True


class Counted(Mapping[str, str]):
    """Labels that count how often they are read."""

    reads = 0

    def __init__(self, own: dict[str, str]):
        self.own = own

    def __getitem__(self, name: str) -> str:
        Counted.reads += 1
        return self.own[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.own)

    def __len__(self) -> int:
        return len(self.own)


def test_however_many_expressions_there_are_each_node_is_read_once() -> None:
    Counted.reads = 0
    columns = NodeColumns((f"n{at}", "r", Counted({"zone": f"z{at % 7}", "gpu": "true"})) for at in range(50))
    read = Counted.reads
    assert read == 2 * 50
    found = [columns.of_ask(f"gpu && (zone == z{at} || other{at})", False, (), ()) for at in range(256)]
    assert Counted.reads == read
    assert [int(np.count_nonzero(each)) for each in found] == [8] + [7] * 6 + [0] * 249
