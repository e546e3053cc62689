"""The types of the package that masters import say what the API takes, no more and no less."""

import inspect
import typing

import pytest
from pydantic import BaseModel

from contract import jobspec, masters
from hydra import specs
from hydra.am import ApplicationMaster

PAIRS = [
    (specs.AskSpec, masters.AskSpec),
    (specs.Tracking, masters.Tracking),
    (specs.Resources, jobspec.Resources),
    (specs.Locality, jobspec.Locality),
    (specs.Port, jobspec.PortSpec),
    (specs.HealthCheck, jobspec.HealthCheckSpec),
    (specs.File, jobspec.FileSpec),
    (specs.Output, jobspec.OutputSpec),
]
POSITIONAL = {"id", "target"}  # arguments of ``ask`` itself


@pytest.mark.parametrize(("said", "taken"), PAIRS)
def test_fields_and_which_of_them_are_required(said: typing.Any, taken: type[BaseModel]) -> None:
    fields = {name: field.is_required() for name, field in taken.model_fields.items() if name not in POSITIONAL}
    assert {name: name in said.__required_keys__ for name in said.__annotations__} == fields


def test_launch_says_all_that_may_be_said_of_a_container() -> None:
    said = set(inspect.signature(ApplicationMaster.launch).parameters) - {"self"}
    assert said == set(masters.LaunchSpec.model_fields), "arguments of hydra.am.ApplicationMaster.launch"
