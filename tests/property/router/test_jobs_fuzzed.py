"""Whatever a job file says: it is taken, or everything wrong with it is named; nothing else happens."""

import json
from random import Random
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from contract import stored, yamltext
from contract.jobspec import parse
from tests import mutations
from tests.examples import examples

RANDOM = st.builds(Random, st.integers(0, 2**64 - 1))
SOUND: dict[str, Any] = {
    "name": "train-${{ run }}", "queue": "root.default", "tags": ["a", "${{ run }}"], "priority": "${{ n }}",
    "parameters": {"run": "x", "n": 3, "data": None, "t": {"type": "boolean", "default": True, "help": "h"}},
    "set": {"n": "4", "data": "y"},
    "files": [{"path": "a.py", "digest": "ab" * 32, "mode": 0o755}],
    "groups": [
        {"name": "map", "array": {"rate": [0.1, "${{ run }}"], "seed": [1, True]}, "command": ["x", "${{ rate }}"],
         "env": {"A": "${{ seed }}-${{ data }}"}, "outputs": [{"name": "part", "path": "p"}], "retries": 1,
         "resources": {"memory_mib": "1 GiB", "vcores_milli": "500m", "gpus": 0}, "timeout_s": "1h30m"},
        {"name": "reduce", "after": ["map"], "command": "cat ${{ data }}", "shell": "${{ t }}", "count": "${{ n }}",
         "inputs": [{"group": "map", "name": "part", "path": "in/{index}"}], "locality": {"nodes": ["n1"]},
         "ports": [{"name": "http"}], "health_check": {"port": "http", "http": "/", "interval_s": "10s"}},
        {"name": "rows", "array": [{"k": 1}, {"k": "b"}], "command": ["x"], "node_labels": "gpu && !spot"},
    ],
}  # fmt: skip


def taken(job: Any) -> dict[str, Any] | None:
    """The job as it would be kept, or None where it is refused in words."""
    spec, errors = parse(job)
    if spec is not None:
        assert not errors
        return spec.model_dump(mode="json")
    assert 0 < len(errors) <= 50
    assert len({(wrong.field, wrong.message) for wrong in errors}) == len(errors), errors
    for wrong in errors:
        assert all(isinstance(part, str) and part for part in (wrong.field, wrong.message, wrong.remedy)), wrong
    return None


def test_the_job_to_begin_with_is_sound() -> None:
    found = taken(SOUND)
    assert found is not None
    assert [group["count"] for group in found["groups"]] == [4, 4, 2] and found["groups"][1]["command"] == ["cat y"]


@examples(500)
@given(rng=RANDOM)
def test_a_changed_job_is_taken_or_refused_in_words(rng: Random) -> None:
    full = taken(mutations.value(rng, SOUND, rng.randint(1, 4)))
    if full is not None:
        assert taken(json.loads(json.dumps(full, allow_nan=False))) == full, "what is kept is taken again"
        stored.job(full)


@examples(150)
@given(rng=RANDOM)
def test_errors_of_a_changed_text_stand_in_it(rng: Random) -> None:
    text = mutations.text(rng, yaml.safe_dump(SOUND, sort_keys=False))
    try:
        found = yamltext.load(text)
    except yaml.YAMLError as error:
        what, place = yamltext.unreadable(error)
        assert what and (place is None or place.line <= text.count("\n") + 2)
        return
    if taken(found) is None:
        errors = yamltext.located(parse(found)[1], text)
        assert [each.line for each in errors] == sorted(each.line for each in errors)
        lines = text.splitlines()
        for each in errors:
            assert each.line <= len(lines) and (not each.line or each.column <= len(lines[each.line - 1]) + 1), each
