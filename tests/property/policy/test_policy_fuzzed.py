"""Whatever a policy document says: it is taken, or everything wrong with it is named; nothing else happens."""

import json
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from contract import yamltext
from controlplane.policy import documents
from controlplane.policy.diff import diff
from controlplane.statestore.errors import Invalid
from tests import mutations
from tests.examples import examples

RANDOM = st.builds(Random, st.integers(0, 2**64 - 1))
SUB_CLUSTERS = ("east", "west")
SOUND: dict[str, Any] = {
    "queues": {
        "default": {"guaranteed": 0.5, "open_to_all": True, "max_running_jobs": 5},
        "prod": {
            "guaranteed": {"memory_mib": "40%", "vcores_milli": "4 cores", "gpus": 0.1}, "maximum": "90%",
            "weight": 2.0, "ordering": "priority", "submit": ["ada", "role:tenant"], "administer": ["ada"],
            "default_partition": "gpu",
            "partitions": {"gpu": {"guaranteed": 0.5, "maximum": {"gpus": "4 gpus"}}}, "max_priority": 10,
            "federation": {"routing": {"policy": "weighted_random", "parameters": {"weights": {"east": 1.0}}}},
            "children": {"etl": {"guaranteed": 1.0, "state": "running"}, "web": {"preemptable": False}},
        },
    },
    "partitions": {"gpu": {"nodes": "gpu && !(zone in (a, b))", "exclusive": True, "rank": 1}},
    "components": {"locality": {"policy": "delay"}},
    "sub_clusters": {"east": {"components": {"locality": {"policy": "delay"}}}},
    "approval": {"required": True},
}  # fmt: skip


def taken(document: Any) -> dict[str, Any] | None:
    """The document as it would be kept, or None where it is refused in words."""
    try:
        full, rows = documents.validate(document, SUB_CLUSTERS)
    except Invalid as error:
        refused = error
    else:
        assert rows
        return full
    assert 0 < len(refused.errors) <= 50
    for wrong in refused.errors:
        assert all(isinstance(part, str) and part for part in (wrong.field, wrong.message, wrong.remedy)), wrong
    return None


def test_the_document_to_begin_with_is_sound() -> None:
    assert taken(SOUND) is not None


@examples(400)
@given(rng=RANDOM)
def test_a_changed_document_is_taken_or_refused_in_words(rng: Random) -> None:
    full = taken(mutations.value(rng, SOUND, rng.randint(1, 3)))
    if full is not None:
        json.dumps(full, allow_nan=False)
        diff(SOUND, full)
        assert taken(full) == full, "what is kept is taken again"


@examples(200)
@given(rng=RANDOM)
def test_a_changed_text_is_no_yaml_or_a_document(rng: Random) -> None:
    try:
        found = yamltext.load(mutations.text(rng, yaml.safe_dump(SOUND)))
    except yaml.YAMLError:
        return
    taken(found)


@pytest.mark.parametrize(
    "text",
    [
        "a: 2024-02-31", "a: !!int x", "a: !!float x", "a: !!timestamp x", "a: !!binary é", "a: !!bool x",
        "? [a]\n: b", "[" * 400, "a: " + "{a: " * 400, "a: &b [*b]", "&a {a: *a}", "\0", "a: \ud7ff\x85", "%",
        "!!python/object:a {}", "<<: 7", "<<: [1]", "? !!timestamp x\n: 1", "a: 1_:_", "a: 0b", "a: 1:99:", "a: .inf",
        "a: 1e400", "a: " + "1" * 5000,
    ],
)  # fmt: skip
def test_no_yaml_ends_in_anything_but_words(text: str) -> None:
    try:
        found = yamltext.load(text)
    except yaml.YAMLError:
        return
    assert taken(found) is None
    assert taken({"queues": {"default": found}}) is None
