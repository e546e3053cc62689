"""What a policy document may say, what it means, and what people read when it is wrong."""

import copy
import re
import time
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from contract.policy import components
from contract.policy.document import PartitionPolicy, QueuePolicy
from contract.policy.findings import models_in
from contract.policy.subclusters import OwnComponents, effective_components
from controlplane.policy.documents import DEFAULT, json_schema, validate
from controlplane.statestore.errors import Invalid
from tests.limits import limit
from wire.resources import GPUS

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "operators.md"


def east(**components: Any) -> dict[str, Any]:
    """A document by which one sub-cluster's RM does something otherwise."""
    return {"queues": {"a": {}}, "sub_clusters": {"east": {"components": components}}}


def queues(**fields: Any) -> dict[str, Any]:
    """A document with one queue, ``a``."""
    return {"queues": {"a": fields}, "partitions": {"gpu": {"nodes": "gpu"}}}


def below(**fields: Any) -> dict[str, Any]:
    """The same with one queue below ``a``."""
    return queues(children={"b": fields})


def children(**each: Any) -> dict[str, Any]:
    return {"queues": {"a": {"guaranteed": {"gpus": 4}, "children": each}}}


@pytest.mark.parametrize(
    ("document", "field", "says"),
    [
        ({}, "queues", "add the field"),
        ([], "document", "mapping"),
        ({"queues": {}}, "queues", "name at least one"),
        ({"queues": {"A": {}}}, "queues.A", "lower-case"),
        (queues(guarantee=1), "queues.a.guarantee", "did you mean guaranteed?"),
        (below(guarantee=1), "queues.a.children.b.guarantee", "did you mean guaranteed?"),
        (queues(guaranteed=1.5), "queues.a.guaranteed", "40%"),
        (queues(guaranteed={"memory_mib": "64GB"}), "queues.a.guaranteed.memory_mib", "64 GiB"),
        (queues(guaranteed={"disk": 1}), "queues.a.guaranteed.disk", "memory_mib, vcores_milli, gpus"),
        (queues(guaranteed=0.5, maximum=0.4), "queues.a.guaranteed", "raise maximum"),
        (queues(guaranteed={"gpus": 5}, maximum={"gpus": 4}), "queues.a.guaranteed", "raise maximum"),
        (queues(weight=0), "queues.a.weight", "more than 0"),
        (queues(ordering="lifo"), "queues.a.ordering", "use 'fifo', 'fair' or 'priority'"),
        (queues(user_maximum=0), "queues.a.user_maximum", "more than 0"),
        (queues(max_running_jobs=-1), "queues.a.max_running_jobs", "use 0 or more"),
        (queues(max_running_jobs=1.5), "queues.a.max_running_jobs", "whole number"),
        (queues(max_priority=500), "queues.a.max_priority", "use 499 or less"),
        (queues(max_priority=5, default_priority=6), "queues.a.default_priority", "use 5 or less"),
        (queues(state="paused"), "queues.a.state", "use 'running' or 'stopped'"),
        (queues(state="running", stopped=True), "queues.a.stopped", "remove stopped"),
        (queues(preemptable="no"), "queues.a.preemptable", "true or false"),
        (queues(submit=["role:king"]), "queues.a.submit.0", "role:tenant"),
        (queues(submit="ada"), "queues.a.submit", "list"),
        (queues(partitions={"tpu": {}}), "queues.a.partitions.tpu", "use one of: gpu"),
        (queues(default_partition="tpu"), "queues.a.default_partition", "use one of: gpu"),
        (queues(partitions={"gpu": {"guaranteed": 1, "maximum": 0.5}}), "queues.a.partitions.gpu.guaranteed", "raise"),
        (children(b={"guaranteed": 0.7}, c={"guaranteed": 0.4}), "queues.a.children", "add up to 100 %"),
        (children(b={"guaranteed": {"gpus": 3}}, c={"guaranteed": {"gpus": 2}}), "queues.a.children", "raise"),
        ({"queues": {"a": {}}, "partitions": {"x": {"nodes": "a &&"}}}, "partitions.x.nodes", "label expression"),
        ({"queues": {"a": {}}, "partitions": {"x": {}}}, "partitions.x.nodes", "add the field"),
        ({"queues": {"a": {}}, "partitions": {"x": {"nodes": ""}}}, "partitions.x.nodes", "at least 1 character"),
        (queues(default_partition=5), "queues.a.default_partition", "in YAML, put it in quotes"),
        ({"queues": {"a": {}}, "partitions": {"": {"nodes": "a"}}}, "partitions.", "lower-case"),
        ({"queues": {"a": {}}, "components": {"place": {}}}, "components.place", "did you mean placement?"),
        ({"queues": {"a": {}}, "components": {"placement": {"policy": "x"}}}, "components.placement.policy", "pack"),
        (
            {"queues": {"a": {}}, "components": {"preemption": {"policy": "x"}}},
            "components.preemption.policy",
            "observe",
        ),
        (
            {"queues": {"a": {}}, "components": {"preemption": {"parameters": {"dead_zone": 2}}}},
            "components.preemption.parameters.dead_zone",
            "use 1 or less",
        ),
        (
            {"queues": {"a": {}}, "components": {"shares": {"parameters": {"interval_s": 20}}}},
            "components.shares.parameters.stale_s",
            "use 40 or more",
        ),
        (east(place={}), "sub_clusters.east.components.place", "did you mean placement?"),
        (east(shares={"policy": "gif"}), "sub_clusters.east.components.shares", "set components.shares"),
        (east(placement={"policy": "x"}), "sub_clusters.east.components.placement.policy", "pack"),
        (
            east(preemption={"parameters": {"dead_zone": 2}}),
            "sub_clusters.east.components.preemption.parameters.dead_zone",
            "use 1 or less",
        ),
        ({"queues": {"a": {}}, "sub_clusters": {"east": {"queues": {}}}}, "sub_clusters.east.queues", "components"),
    ],
)
def test_a_mistake_is_told_with_its_field_and_its_remedy(document: Any, field: str, says: str) -> None:
    with pytest.raises(Invalid) as raised:
        validate(document)
    error = raised.value.errors[0]
    assert error.field == field and error.message and says in error.remedy, error


def test_guarantees_that_cannot_all_be_kept_are_told_beside_fields_of_the_wrong_shape() -> None:
    document = children(b={"guaranteed": 0.7}, c={"guaranteed": 0.4, "waight": 2}, d={"guaranteed": "much"})
    document["queues"]["x"] = {"guaranteed": 0.5, "maximum": 0.4, "federation": {"routing": {"policy": "none"}}}
    document["queues"]["x"]["submit"] = ["king", "queen"]
    document["queues"]["Bad"] = {"weight": "w"}
    document["components"] = {"placement": {"policy": "x"}}
    before = copy.deepcopy(document)
    with pytest.raises(Invalid) as raised:
        validate(document)
    fields = {error.field for error in raised.value.errors}
    assert {"queues.a.children", "queues.x.guaranteed"} <= fields, "and of d's nothing is assumed"
    assert {"queues.a.children.c.waight", "queues.a.children.d.guaranteed", "components.placement.policy"} <= fields
    assert document == before


def test_guarantees_that_cannot_all_be_kept_name_the_queues() -> None:
    with pytest.raises(Invalid) as raised:
        validate(children(b={"guaranteed": "70%"}, c={"guaranteed": "40%"}, d={"guaranteed": {"gpus": 1}}, e={}))
    (error,) = raised.value.errors
    assert error.message == "the guaranteed shares of memory_mib add up to 110 %: b 70 %, c 40 %"
    many = {f"q{n}": {"guaranteed": 0.2} for n in range(7)}
    with pytest.raises(Invalid) as raised:
        validate({"queues": many})
    assert raised.value.errors[0].message.endswith("140 %: q0 20 %, q1 20 %, q2 20 %, q3 20 %, q4 20 % and 2 more")


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(levels):
        found = {"children": {"a": found}}
    return {"queues": {"a": found}}


@pytest.mark.parametrize("levels", [16, 400, 5000])
def test_a_tree_too_deep_is_refused(levels: int) -> None:
    with pytest.raises(Invalid) as raised:
        validate(nested(levels))
    assert "levels" in raised.value.errors[0].remedy
    assert len(validate(nested(15))[1]) == 17


def test_what_is_inherited_is_written_out() -> None:
    document = {
        "queues": {
            "a": {
                "ordering": "fair", "max_priority": 10, "default_priority": 5, "user_maximum": 0.5, "open_to_all": True,
                "max_running_jobs": 7, "max_running_jobs_per_user": 3, "default_partition": "gpu", "preemptable": False,
                "max_live_jobs_per_user": 5, "max_live_mib_per_user": 8,
                "children": {"b": {"max_priority": 3, "open_to_all": False, "max_live_jobs_per_user": 4,
                                   "children": {"c": {"state": "stopped"}}}},
            },
            "d": {"stopped": True, "children": {"e": {"state": "running"}}},
        },
        "partitions": {"gpu": {"nodes": "gpu"}},
    }  # fmt: skip
    rows = {row.path: row for row in validate(document)[1]}
    assert list(rows) == ["root", "root.a", "root.d", "root.a.b", "root.d.e", "root.a.b.c"]
    c = rows["root.a.b.c"]
    assert (c.ordering, c.user_maximum, c.max_running_jobs_per_user, c.default_partition) == ("fair", 0.5, 3, "gpu")
    assert (c.max_live_jobs_per_user, c.max_live_tasks_per_user, c.max_live_mib_per_user) == (4, None, 8)
    assert (c.max_priority, c.default_priority, c.open_to_all, c.preemptable) == (3, 3, False, False)
    assert c.max_running_jobs is None, "the limit of a queue counts all below it, and is not theirs"
    assert [rows[p].state for p in ("root.a.b", "root.a.b.c", "root.d.e")] == ["running", "stopped", "stopped"]
    assert [p for p, row in rows.items() if row.leaf] == ["root.d.e", "root.a.b.c"]


def test_the_stored_document_is_what_was_written_with_its_components_complete() -> None:
    document = queues(guaranteed="40%", partitions={"gpu": {"maximum": {"gpus": "1 gpu"}}})
    stored, rows = validate(document)
    assert stored["queues"] == document["queues"]
    assert stored["partitions"] == {"gpu": {"nodes": "gpu", "exclusive": True, "rank": 0}}
    assert stored["components"]["reservation"]["parameters"] == {"after_s": 10, "max_node_share": 0.05, "max_s": 600}
    assert rows[1].capacities["gpu"]["maximum"]["units"][GPUS] == 1
    assert validate(stored)[1] == rows, "what is stored can be published again"


def test_what_is_mistyped_is_told_with_its_value() -> None:
    with pytest.raises(Invalid) as raised:
        validate(queues(submit=["role:tenat"], ordering="lifo") | {"approval": {"approvers": ["role:tenant"]}})
    assert {e.field: (e.message, e.remedy.partition("?")[0]) for e in raised.value.errors} == {
        "queues.a.submit.0": ("'role:tenat' is not written as it has to be here", "did you mean role:tenant"),
        "queues.a.ordering": ("'lifo' is not known here", "use 'fifo', 'fair' or 'priority'"),
        "approval.approvers.0": (
            "'role:tenant' is not written as it has to be here",
            "name accounts, or role:operator",
        ),
    }


def test_components_of_an_older_release_keep_what_still_fits() -> None:
    found = components.stored({"placement": {"policy": "pack"}, "locality": {"policy": "gone"}, "later": {}, "x": 5})
    assert found.placement.policy == "pack" and found.locality == components.Locality()
    assert components.stored(None) == components.Components()


def test_a_sub_clusters_components_are_the_clusters_but_for_what_it_names() -> None:
    """Down to one parameter; what is left out follows the cluster's, also when that changes."""
    whole = {"placement": {"policy": "pack", "parameters": {"backfill": "easy"}}, "routing": {"policy": "hash"}}
    document = east(placement={"policy": None, "parameters": {"batch": 5}}) | {"components": whole}
    stored = validate(document, ["east"])[0]
    own = stored["sub_clusters"]["east"]["components"]
    assert own == {"placement": {"parameters": {"batch": 5}}}, "nothing is written that was not"
    found = components.stored(effective_components(stored["components"], stored["components"], own))
    expected = components.stored(
        whole | {"placement": {"policy": "pack", "parameters": {"backfill": "easy", "batch": 5}}}
    )
    assert found == expected


def test_what_concerns_all_sub_clusters_is_taken_from_the_version_in_force() -> None:
    in_force, version = {"routing": {"policy": "hash"}}, {"routing": {"policy": "uniform"}}
    version |= {"placement": {"policy": "pack"}}
    assert effective_components(in_force, version, {"placement": {"policy": "align"}}) == {
        "placement": {"policy": "align"}, "routing": {"policy": "hash"},
    }  # fmt: skip
    assert effective_components(None, None, None) == {}


def test_a_sub_cluster_that_does_not_exist_is_refused() -> None:
    with pytest.raises(Invalid) as raised:
        validate(east(placement={"policy": "pack"}), ["west"])
    (error,) = raised.value.errors
    assert (error.field, error.remedy) == ("sub_clusters.east", "use one of: west")


def test_every_component_is_a_sub_clusters_own_or_of_the_whole() -> None:
    assert {*OwnComponents.model_fields, *components.OF_THE_WHOLE} == set(components.Components.model_fields)


def test_the_schema_describes_the_document() -> None:
    schema = json_schema()
    assert set(schema["properties"]) == {"queues", "partitions", "components", "sub_clusters", "approval"}
    assert validate(DEFAULT)[1][1].open_to_all


def test_the_operators_guide_shows_a_valid_document_and_names_everything() -> None:
    guide = GUIDE.read_text()
    example = next(b for b in re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL) if b.startswith("queues:"))
    rows = validate(yaml.safe_load(example))[1]
    assert {row.path for row in rows} >= {"root.prod.etl", "root.research"}
    names = {*QueuePolicy.model_fields, *PartitionPolicy.model_fields, *components.Components.model_fields}
    for field in components.Components.model_fields.values():
        for model in models_in(field.annotation):
            parts = model.model_fields
            names |= {*get_args(parts["policy"].annotation), *parts["parameters"].annotation.model_fields}  # type: ignore[union-attr]
    missing = sorted(name for name in names if f"`{name}`" not in guide and f"`{name}: " not in guide)
    assert not missing, f"docs/operators.md names every field and choice of the policy, but not {', '.join(missing)}"


@pytest.mark.faults
def test_five_thousand_queues_are_checked_within_two_seconds() -> None:
    def tree(levels: int) -> dict[str, Any]:
        if not levels:
            return {}
        return {f"q{i}": {"guaranteed": 0.125, "maximum": 0.9, "children": tree(levels - 1)} for i in range(8)}

    with limit("5,000 queues are checked (processor)", 2, time.process_time):
        rows = validate({"queues": tree(4), "partitions": {"gpu": {"nodes": "gpu"}}})[1]
    assert len(rows) == 4681
