"""Arrays over values: what a group may say, and which values a task has."""

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract import jobrules
from contract.jobspec import JobSpec, parse
from wire import arrays

VALUES = st.lists(st.integers() | st.booleans() | st.text(max_size=5), min_size=1, max_size=4)
ARRAYS = st.dictionaries(st.sampled_from(["rate", "Seed", "a_1", "zz"]), VALUES, min_size=1)


def parsed(group: dict[str, Any], **fields: Any) -> tuple[JobSpec | None, list[tuple[str, str]]]:
    spec, errors = parse({"name": "a", "groups": [{"name": "fit", "command": ["x"]} | group]} | fields)
    return spec, [(each.field, each.message) for each in errors]


@given(ARRAYS)
def test_each_combination_is_one_task_in_whatever_order_the_keys_come(array: dict[str, list[Any]]) -> None:
    names = sorted(array)
    every = [dict(zip(names, map(arrays.as_text, each), strict=True)) for each in product(*(array[n] for n in names))]
    turned = dict(reversed(array.items()))
    for one in (array, turned, json.loads(json.dumps(array, sort_keys=True))):
        assert [arrays.values(one, i) for i in range(arrays.size(one))] == every
    assert arrays.values(array, len(every)) == arrays.values(array, -1) == {}


def test_rows_are_tasks() -> None:
    rows = [{"a": 1, "b": True}, {"a": 0.5, "b": "x"}]
    assert [arrays.values(rows, i) for i in range(3)] == [{"a": "1", "b": "true"}, {"a": "0.5", "b": "x"}, {}]
    assert (arrays.size(rows), arrays.names(rows), arrays.names({}), arrays.names([])) == (2, ["a", "b"], [], [])


def test_the_array_decides_the_count() -> None:
    for more in ({}, {"count": 6}):
        spec, _ = parsed({"array": {"rate": [0.1, 0.2], "seed": [1, 2, 3]}} | more)
        assert spec is not None and spec.groups[0].count == 6 and spec.demand[0] == 6 * 256
        assert parse(spec.model_dump()) == (spec, [])
    assert parsed({"array": [{"a": 1}], "count": 2})[1] == [("groups.0.count", "is 2, and its array comes to 1 task")]
    big = {"a": list(range(1000)), "b": list(range(1001))}
    assert parsed({"array": big})[1] == [("groups.0.array", "comes to more than 1,000,000 tasks")]


@pytest.mark.parametrize(
    "array",
    [5, [5], {"a": 5}, {"a": []}, {"1a": [1]}, [{"a": 1}, {"b": 1}], [{}], {"a": [[1]]}, [{"a": None}],
     {"a": [1], "A": [2]}, {"a": ["x" * 5000]}, {"a": [float("nan")]}, {f"n{i}": [1] for i in range(17)}],
)  # fmt: skip
def test_what_is_no_array_is_told(array: Any) -> None:
    spec, errors = parsed({"array": array})
    assert spec is None and [field for field, _ in errors] == ["groups.0.array"]


def test_references_that_no_task_could_follow_are_told() -> None:
    group = {"array": {"rate": [1]}, "command": ["x", "${{ rat }}"], "env": {"A": "${{ seed }}"}}
    group |= {"outputs": [{"name": "o", "path": "of-${{ rate }}"}]}
    assert parsed(group)[1] == [
        ("groups.0.command.1", "the group's array has no 'rat'"),
        ("groups.0.env.A", "the group's array has no 'seed'"),
        ("groups.0.array.rate", "is referred to outside of `command` and `env`"),
    ]


def test_arrays_and_parameters_have_names_of_their_own() -> None:
    group = {"array": {"rate": ["${{ base }}", 2]}, "command": ["x", "${{ rate }}", "${{ base }}"]}
    spec, errors = parsed(group, parameters={"base": 0.5})
    assert spec is not None, errors
    assert spec.groups[0].array == {"rate": ["0.5", 2]} and spec.groups[0].command == ["x", "${{ rate }}", "0.5"]
    hostile = parsed(group, parameters={"base": "${{ rate }}"})[1]
    assert sorted(field for field, _ in hostile) == ["groups.0.array.rate.0", "groups.0.command.2"]
    assert parsed(group, parameters={"base": 1, "rate": 1})[1] == [
        ("groups.0.array.rate", "'rate' is a parameter, too")
    ]


def test_what_values_come_to_on_the_node_is_bounded() -> None:
    """A reference of eight characters stands for four thousand, for every task of a node again."""
    long = "x" * 4000
    for array in ({"a": [long], "b": ["y"]}, [{"a": long, "b": "y"}]):
        for field, what in (("command", {"command": ["x", "${{ a }}" * 40]}), ("env", {"env": {"A": "${{ a }}" * 40}})):
            group = {"name": "g", "command": ["x"], "array": array} | what
            (error,) = parse({"name": "j", "groups": [group]})[1]
            assert error.field == f"groups.0.{field}" and "comes to 160,00" in error.message
            text = json.dumps(group).replace("${{ a }}", "${{ b }}")
            assert parse({"name": "j", "groups": [json.loads(text)]})[1] == []


def test_of_very_many_references_to_nothing_few_are_told() -> None:
    words = [f"${{{{ n{no} }}}}" for no in range(4000)]
    group = {"name": "g", "command": ["x", *words], "array": {"a": [1]}}
    assert len(jobrules.check(JobSpec.model_validate({"name": "j", "groups": [group]}), 10)) <= 1000
    assert len(parse({"name": "j", "groups": [group]})[1]) == 50
