"""A job file's parameters: declared, given, and put in as data."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract import parameters, yamltext
from contract.atmost import MOST
from contract.jobspec import JobSpec, parse

TEMPLATE = """\
name: train-${{ run }}
parameters:
  run: a
  lr: 0.1
  tasks: {type: number, help: how many}
  memory:
  quick: false
groups:
  - name: fit
    count: ${{ tasks }}
    command: echo ${{lr}} $HOME ${HOME} ${{ lr }} && python3 fit.py --n=${{ tasks }}
    shell: true
    resources: {memory_mib: "${{ memory }}"}
    env: {RATE: "${{ lr }}", tasks: "${{ tasks }}"}
    retries: ${{ tasks }}
    gang: ${{ quick }}
"""
GIVEN = {"tasks": "8", "memory": "2 GiB", "quick": "true", "lr": "1e-5"}


def template(**fields: Any) -> dict[str, Any]:
    found = yamltext.load(TEMPLATE)
    assert isinstance(found, dict)
    return found | fields


def test_values_become_what_their_fields_are() -> None:
    for values in (GIVEN, GIVEN | {"tasks": 8, "quick": True}):
        spec, errors = parse(template(set=values))
        assert spec is not None, errors
        (fit,) = spec.model_dump(exclude_defaults=True)["groups"]
        assert spec.name == "train-a" and (fit["count"], fit["retries"], fit["gang"]) == (8, 8, True)
        assert fit["command"] == ["echo 1e-5 $HOME ${HOME} 1e-5 && python3 fit.py --n=8"]
        assert fit["env"] == {"RATE": "1e-5", "tasks": "8"} and fit["resources"] == {"memory_mib": 2048}
        assert not hasattr(spec, "parameters") and not hasattr(spec, "set")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, [f"parameters.{at}: has no value{what}. Give it: in `set` of the job, or with --set {name}=VALUE."
              for name, at, what in (("tasks", "tasks (line 5, column 3)", " (how many)"),
                                     ("memory", "memory (line 6, column 3)", ""))]),
        (GIVEN | {"tsks": 1}, ["set.tsks: there is no parameter 'tsks'. Did you mean tasks?"]),
        (GIVEN | {"zzz": 1}, ["set.zzz: there is no parameter 'zzz'. Declared here: run, lr, tasks, memory, quick."]),
        (GIVEN | {"lr": "fast"}, ["set.lr: 'fast' is not a number. Give a number."]),
        (GIVEN | {"tasks": True}, ["set.tasks: 'true' is not a number. Give a number."]),
        (GIVEN | {"quick": "yes"}, ["set.quick: 'yes' is not a boolean. Give a boolean."]),
        (GIVEN | {"lr": [1]}, ["set.lr: is no single value. Give a text, a finite number, true or false."]),
        (GIVEN | {"run": "x" * 5000},
         ["set.run: is longer than 4096 characters, or has a NUL. Put it into a file of the job."]),
        (GIVEN | {"tasks": 0},
         ["groups.0.count (group fit, line 10, column 5): is too small. Use 1 or more."]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_values_is_told(values: dict[str, Any], said: list[str]) -> None:
    spec, errors = parse(template(set=values))
    assert spec is None and [each.said() for each in yamltext.located(errors, TEMPLATE)] == said


def test_a_value_that_its_field_does_not_take_is_told_there() -> None:
    (error,) = yamltext.located(parse(template(set=GIVEN | {"memory": "2 GB"}))[1], TEMPLATE)
    assert error.where == "groups.0.resources.memory_mib (group fit, line 13, column 17)"
    assert error.message == "'2 GB' is not an amount of memory"


def test_a_name_that_is_not_declared_is_told_at_its_field_beside_other_errors() -> None:
    wrong = template(set=GIVEN, tags=["${{ lrr }}"], kind="none")
    assert [(each.field, each.remedy) for each in parse(wrong)[1]] == [
        ("tags.0", "did you mean lr?"), ("kind", "use 'batch', 'service' or 'application'"),
    ]  # fmt: skip
    wrong = template(set=GIVEN, parameters={"1st": 1, "lr": {"typ": "text"}})
    assert [each.field for each in parse(wrong)[1]] == ["parameters.1st", "parameters.lr.typ"]


def test_files_without_parameters_stay_as_they_are() -> None:
    group = {"name": "g", "command": ["echo", "${{ lr }}"]}
    spec, _ = parse({"name": "a", "groups": [group]})
    assert spec is not None and spec.groups[0].command == ["echo", "${{ lr }}"]


HOSTILE = ["a: b", "[x]", "{}", "- y", "*a", "!!python/object x", "x\ny: 1", '"', "'", "${{ lr }}", "#", "null", "true"]


@given(st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_values_are_data(value: str) -> None:
    job = {"name": "a", "parameters": {"v": None, "lr": 1}, "set": {"v": value}}
    job["groups"] = [{"name": "g", "command": ["echo", "${{ v }}", "<${{ v }}|${{lr}}>"], "env": {"V": "${{v}}"}}]
    spec, errors = parse(json.loads(json.dumps(job)))
    assert spec is not None, errors
    assert spec.groups[0].command == ["echo", value, f"<{value}|1>"] and spec.groups[0].env == {"V": value}


def test_what_values_come_to_is_bounded() -> None:
    words = ["${{ v }}"] * 2000
    job = {"name": "a", "parameters": {"v": "x" * 4096}, "groups": [{"name": "g", "command": words}] * 3}
    errors = parse(job)[1]
    assert any("values come to very much text" in each.message for each in errors)
    filled = parameters.fill(job, JobSpec).job
    assert len(json.dumps(filled)) < 6 << 20


def test_of_names_that_are_not_declared_few_are_looked_for() -> None:
    """Each is compared with all that are: a megabyte of them would take minutes."""
    known = {f"parameter_of_this_job_{n}": 1 for n in range(256)}
    words = ["${{ parameter_of_that_job }} " * 10] * 300
    job = {"name": "a", "parameters": known, "groups": [{"name": "g", "command": words}]}
    assert len(parameters.fill(job, JobSpec).wrong) <= MOST + 1
    errors = parse(job | {"set": {f"parameter_of_no_job_{n}": 1 for n in range(256)}})[1]
    assert len(errors) == MOST and "more errors" in errors[-1].message


def test_a_text_that_aliases_repeat_is_not_put_together_for_each() -> None:
    """128 KiB of YAML would become gigabytes; some megabytes may be read."""
    text = "${{ v }}" + "x" * 60_000
    job = {"name": "a", "parameters": {"v": ""}, "tags": [text] * 2000}
    filled = parameters.fill(job, JobSpec)
    assert sum(map(len, {id(tag): tag for tag in filled.job["tags"]}.values())) < parameters.FILLED_MAX
    (error,) = parse(job)[1]
    assert "values come to very much text" in error.message and error.field.startswith("tags.")
