"""Of very much that is wrong in a job, little is collected and told; every list that is sent is bounded."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import pytest
import yaml
from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

import contract
from contract import yamltext
from contract.atmost import AtMost
from contract.base import Request
from contract.jobspec import JobSpec, parse
from contract.policy.document import PolicyDocument, QueuePolicy
from tests.unit.router.specs import file, group, job


def test_very_many_errors_end_with_how_many_more_there_are() -> None:
    errors = parse(job(*(group(name=f"g{i}", count=0) for i in range(200))), "jobs.3.")[1]
    assert len(errors) == 50 and errors[-1].said().startswith("jobs.3: has at least 11 more errors.")
    few = parse(job(*(group(name=f"g{i}", count=0) for i in range(50))))[1]
    assert [each.field for each in few] == [f"groups.{i}.count" for i in range(50)]


MANY = {f"x{n}": n for n in range(100_000)}
WRONG = {
    "files of all groups": {"groups": [group(name=f"g{n}", files=[{"a": 1}] * 1000) for n in range(256)]},
    "the last files": {"groups": [group(name=f"g{n}", files=[file("a")] * 900 + [0] * 100) for n in range(256)]},
    "more than there may be": {"files": [0] * 200_000, "groups": [group(env=MANY)]},
    "fields that there are not": {"groups": [group(**MANY)]} | MANY,
    "fields of parts": {"groups": [group(locality={"nodes": [0] * 256}, env={f"{n}": n for n in range(500)})] * 256},
}


@pytest.mark.parametrize("wrong", list(WRONG.values()), ids=list(WRONG))
def test_of_very_much_that_is_wrong_little_is_collected(wrong: dict[str, Any]) -> None:
    """An error takes some microseconds and hundreds of bytes, and a body has room for a million."""
    with pytest.raises(ValidationError) as refused:
        JobSpec.model_validate({"name": "a-job"} | wrong)
    assert refused.value.error_count() <= 15_000
    assert len(parse({"name": "a-job"} | wrong)[1]) <= 50


def test_items_behind_fifty_errors_are_not_looked_at_and_others_are_told_with_their_places() -> None:
    looked: list[int] = []

    def small(value: int) -> int:
        looked.append(value)
        if value > 9:
            raise PydanticCustomError("large", "is large")
        return value

    numbers = TypeAdapter(Annotated[list[Annotated[int, AfterValidator(small)]], AtMost(1000, least=1)])
    many = [*range(10), *range(1000, 1900)]
    with pytest.raises(ValidationError) as refused:
        numbers.validate_python(many)
    assert refused.value.errors()[0]["loc"] == (10,) and refused.value.error_count() == 60
    assert max(looked) < 1100
    looked.clear()
    with pytest.raises(ValidationError, match="at most 1000"):
        numbers.validate_python(many * 2)
    assert not looked
    with pytest.raises(ValidationError) as few:
        numbers.validate_python([0] * 500 + [77] + [1] * 300 + [78])
    assert [each["loc"] for each in few.value.errors()] == [(500,), (801,)]
    assert numbers.validate_python([1] * 25) == [1] * 25
    with pytest.raises(ValidationError, match="at least 1"):
        numbers.validate_python([])
    assert numbers.json_schema()["maxItems"] == 1000


def test_every_list_that_is_sent_is_bounded_so() -> None:
    """And what queues say; how many these are is counted elsewhere. Components are operators' own, and few."""
    for module in pkgutil.walk_packages(contract.__path__, "contract."):
        importlib.import_module(module.name)
    unbounded = {
        f"{model.__name__}.{name}"
        for model in (*_below(Request), QueuePolicy, PolicyDocument)
        for name, field in model.model_fields.items()
        if get_origin(field.annotation) in (list, dict)
        and get_args(field.annotation)[-1] is not Any
        and not any(isinstance(rule, AtMost) for rule in field.metadata)
    }
    assert unbounded == {"PolicyDocument.queues", "QueuePolicy.children"}


def _below(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def test_aliases_stand_for_a_bounded_number_of_values() -> None:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
    with pytest.raises(yaml.YAMLError, match="aliases"):
        yamltext.load("\n".join(lines))
    with pytest.raises(yaml.YAMLError, match="aliases"):
        yamltext.load("a: &a [*a]")
    assert yamltext.load("a: &a [x]\nb: *a") == {"a": ["x"], "b": ["x"]}
