"""What a job file may say, and what people read when it says something else."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from client.jobfile import check
from contract.problems import FieldError

GOOD: dict[str, Any] = {
    "name": "two-steps",
    "groups": [
        {"name": "map", "count": 3, "command": ["true"], "outputs": [{"name": "part", "path": "p.json"}]},
        {
            "name": "reduce",
            "command": "cat parts/*",
            "shell": True,
            "after": ["map"],
            "inputs": [{"group": "map", "name": "part", "path": "parts/{index}"}],
        },
    ],
}


def problems(spec: dict[str, Any], *, unknown: bool = True) -> list[FieldError]:
    return check(spec, Path(), unknown=unknown)


def changed(path: str, value: Any) -> dict[str, Any]:
    """GOOD with one value set at a dotted path, or removed when it is ``None``."""
    spec = deepcopy(GOOD)
    *above, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    at: Any = spec
    for part in above:
        at = at[part]
    if value is None:
        del at[last]
    else:
        at[last] = value
    return spec


def test_a_good_job_has_no_problems() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("path", "value", "field", "says"),
    [
        ("name", None, "name", "required"),
        ("name", "Two Steps", "name", "lower-case"),
        ("groups", [], "groups", "at least 1"),
        ("groups.0.count", 0, "groups.0.count", "too small"),
        ("groups.0.count", "3", "groups.0.count", "whole number"),
        ("groups.0.comand", ["x"], "groups.0.comand", "Did you mean command?"),
        ("groups.0.command", None, "groups.0.command", "required"),
        ("groups.0.command", "python3 work.py", "groups.0.command", "add shell: true"),
        ("groups.0.command", [1], "groups.0.command.0", "quotes"),
        ("groups.0.resources", {"memory": 5}, "groups.0.resources.memory", "Did you mean memory_mib?"),
        ("groups.0.env", {"N": 5}, "groups.0.env.N", "quotes"),
        (
            "groups.1.after",
            ["mop"],
            "groups.1.after.0",
            "there is no group 'mop'. Name a group of this job: map, reduce.",
        ),
        ("groups.1.after", [], "groups.1.inputs.0.group", "Add map to `after`"),
        ("groups.0.after", ["reduce"], "groups.0.after", "circle"),
        ("groups.1.name", "map", "groups.1.name", "another group is called 'map' too"),
        ("groups.1.inputs.0.name", "port", "groups.1.inputs.0.name", "Name one of its outputs: part."),
        ("groups.1.inputs.0.path", "part", "groups.1.inputs.0.path", "{index}"),
    ],
)
def test_each_mistake_is_named_with_its_field_and_remedy(path: str, value: Any, field: str, says: str) -> None:
    lines = {error.field: error.said() for error in problems(changed(path, value))}
    assert field in lines
    assert says in lines[field]


def test_unknown_fields_are_the_servers_business_when_asked_so() -> None:
    spec = changed("groups.0.field_of_tomorrow", 1)
    assert problems(spec, unknown=False) == []
    assert [e.field for e in problems(spec)] == ["groups.0.field_of_tomorrow"]
