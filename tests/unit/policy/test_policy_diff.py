"""What a diff says, in its own words, and how grave it finds it."""

from typing import Any

import pytest

from controlplane.policy.derive import Override
from controlplane.policy.diff import brief, diff, staged, worst
from controlplane.statestore.errors import Invalid
from wire.resources import AXES


def said(before: dict[str, Any], after: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    """(severity, text) of a change of queues."""
    return [(c.severity, c.text) for c in diff({"queues": before}, {"queues": after} | more)]


def test_limits_are_told_in_people_s_units() -> None:
    assert said({"prod": {"guaranteed": "40%"}}, {"prod": {"guaranteed": 0.55}}) == [
        ("low", "root.prod guaranteed 40 % -> 55 %")
    ]
    assert said({"p": {"guaranteed": 0.3}}, {"p": {}}) == [("medium", "root.p guaranteed 30 % -> nothing")]
    before, after = {"memory_mib": "64 GiB", "vcores_milli": "1500 millicores"}, {"memory_mib": "2 TiB", "gpus": 0.5}
    assert said({"p": {"maximum": before}}, {"p": {"maximum": after}}) == [
        ("medium", "root.p maximum: memory 64 GiB -> 2 TiB, cores 1.5 -> 100 %, GPUs 100 % -> 50 %")
    ]
    assert said({"p": {}}, {"p": {"partitions": {"gpu": {"guaranteed": 1}}}}) == [
        ("low", "root.p guaranteed of partition gpu nothing -> 100 %")
    ]
    close = said({"p": {"guaranteed": 0.3333333}}, {"p": {"guaranteed": 0.33333334}})
    assert close == [("low", "root.p guaranteed 33.33333 % -> 33.333334 %")]
    each = dict.fromkeys(AXES, 0.4)
    assert said({"p": {"guaranteed": "40%"}}, {"p": {"guaranteed": each}}) == []


@pytest.mark.parametrize(
    ("field", "to", "words"),
    [
        ("maximum", {"memory_mib": "2 GiB", "vcores_milli": "2 cores"}, "memory 2 GiB, cores 2"),
        ("maximum", {"memory_mib": 1536, "gpus": "50%"}, "memory 1536 MiB, GPUs 50 %"),
        ("guaranteed", "60%", "60 %"),
        ("guaranteed", 0, "nothing"),
        ("guaranteed", None, "nothing"),
        ("maximum", None, "no limit"),
        ("maximum", {}, "no limit"),
        ("maximum", {"memory": 1}, '{"memory": 1}'),
        ("user_maximum", 0.25, "25 %"),
        ("max_running_jobs", 5.0, "5"),
        ("weight", None, "as guaranteed"),
    ],
)
def test_an_override_is_told_in_people_s_units(field: str, to: Any, words: str) -> None:
    assert Override("root.p", field, "", {"to": to}).text == f"root.p {field} -> {words}"


def test_queues_come_and_go_as_a_whole() -> None:
    assert said({"x": {}}, {"x": {}, "n": {"children": {"a": {}, "b": {}}}}) == [
        ("low", "queue root.n added with 2 below it")
    ]
    assert said({"x": {}, "n": {"children": {"a": {}}}}, {"x": {}}) == [
        ("high", "queue root.n removed with 1 below it")
    ]
    assert said({"x": {}}, {"x": {"children": {"y": {}}}}) == [
        ("medium", "root.x takes no jobs itself any more: there are queues below it"),
        ("low", "queue root.x.y added"),
    ]


def test_what_queues_inherit_is_told_once() -> None:
    before = {"p": {"children": {"a": {}, "b": {"ordering": "priority"}, "c": {"ordering": "fair"}}}}
    after = {"p": {"ordering": "fifo", "children": before["p"]["children"]}}
    assert said(before, after) == [("medium", "root.p ordering priority -> fifo, and 1 below it; not root.p.b")]
    change = diff({"queues": before}, {"queues": after})[0]
    assert (change.queues, change.kept) == (2, ("root.p.b",))
    assert said({"p": {"children": {"a": {}}}}, {"p": {"state": "stopped", "children": {"a": {}}}}) == [
        ("high", "root.p state running -> stopped, and 1 below it")
    ]


def test_other_values_of_queues() -> None:
    before = {"p": {"submit": ["ada"], "max_running_jobs": 5, "weight": 2}}
    after = {"p": {"submit": ["bob"], "user_maximum": 0.25, "open_to_all": True, "default_partition": "gpu"}}
    assert sorted(said(before, after, partitions={"gpu": {"nodes": "gpu"}})) == [
        ("low", "partition gpu added: gpu"),
        ("low", "root.p max_running_jobs 5 -> no limit"),
        ("low", "root.p weight 2 -> as guaranteed"),
        ("medium", 'root.p default_partition "" -> gpu'),
        ("medium", "root.p open_to_all no -> yes"),
        ("medium", "root.p submit +bob, -ada"),
        ("medium", "root.p user_maximum 100 % -> 25 %"),
    ]


def test_what_a_queue_says_beside_its_limits_is_told_with_all_below_it() -> None:
    pair = {"routing": {"policy": "hash"}, "amrmproxy": {"policy": "home"}}
    before, after = {"p": {"children": {"a": {}}}}, {"p": {"federation": pair, "children": {"a": {}}}}
    ((severity, text),) = said(before, after)
    assert severity == "medium"
    assert text.startswith("root.p federation none -> ") and text.endswith(", and 1 below it")


def test_components_with_their_defaults() -> None:
    queues = {"p": {}}
    components = {"placement": {"policy": "pack"}, "locality": {"parameters": {"node_wait_s": 10}}}
    assert said(queues, queues, components=components) == [
        ("low", "locality node_wait_s 3 -> 10"),
        ("medium", "placement policy spread -> pack"),
    ]
    assert said(queues, queues, components={"preemption": {"policy": "observe"}}) == [
        ("medium", "preemption policy owed -> observe")
    ]
    same = {"placement": {"policy": "spread", "parameters": {"batch": 10000}}}
    assert said(queues, queues, components=same) == []


def of_components(
    before: dict[str, Any], after: dict[str, Any], east_before: Any = None, east_after: Any = None
) -> list[str]:
    """What is said of the cluster's components and of those of one sub-cluster."""

    def document(components: dict[str, Any], east: Any) -> dict[str, Any]:
        own = {"east": {"components": east}} if east is not None else {}
        return {"queues": {"p": {}}, "components": components, "sub_clusters": own}

    return [c.text for c in diff(document(before, east_before), document(after, east_after))]


def test_what_changes_in_one_sub_cluster_is_told_of_it() -> None:
    pack, align = {"placement": {"policy": "pack"}}, {"placement": {"policy": "align"}}
    assert of_components({}, {}, None, pack) == ["east: placement policy spread -> pack"]
    assert of_components({}, {}, pack, {}) == ["east: placement policy pack -> spread"]
    assert of_components({}, {}, None, {"placement": {"policy": "spread"}}) == []
    assert of_components({}, pack, align, align) == ["placement policy spread -> pack; not east"]
    assert of_components({}, pack, pack, None) == ["placement policy spread -> pack; not east"]
    assert of_components({}, pack, {}, None) == ["placement policy spread -> pack"]
    assert of_components({}, pack, None, align) == [
        "placement policy spread -> pack", "east: placement policy spread -> align",
    ]  # fmt: skip


def test_a_change_in_one_sub_cluster_says_where_it_stands() -> None:
    before, after = ({"queues": {"p": {}}, "sub_clusters": own} for own in ({}, {"east": {"components": {}}}))
    after["sub_clusters"]["east"]["components"]["locality"] = {"parameters": {"node_wait_s": 10}}
    (change,) = diff(before, after)
    assert (change.path, change.field) == ("sub_clusters.east.components.locality", "parameters.node_wait_s")
    assert (change.before, change.after, change.severity) == (3, 10, "low")


def test_stages_try_what_one_sub_cluster_can_do_otherwise() -> None:
    before = {"queues": {"components": {"children": {"locality": {}}}}, "sub_clusters": {"east": {}}}
    after = {
        "queues": {"components": {"children": {"locality": {"weight": 2}}}},
        "components": {"locality": {"parameters": {"node_wait_s": 5}}, "amrmproxy": {"policy": "home"}},
        "sub_clusters": {"east": {"components": {"placement": {"policy": "pack"}}}},
    }
    found = {c.path: staged(c) for c in diff(before, after)}
    assert found == {
        "root.components.locality": False, "components.locality": True, "components.amrmproxy": False,
        "sub_clusters.east.components.placement": True,
    }  # fmt: skip


def test_the_worst_of_them() -> None:
    changes = diff({"queues": {"a": {}, "b": {}}}, {"queues": {"a": {"weight": 2}}})
    assert worst(changes) == "high" and worst(changes[:1]) == "low" and worst([]) is None


def test_in_brief_it_is_the_gravest_and_how_many_more() -> None:
    before, after = {"queues": {"a": {}, "b": {"weight": 2}}}, {"queues": {"b": {"weight": 3}, "c": {}}}
    found = diff(before, after)
    assert brief(found, 300) == "queue root.a removed and 2 more"
    assert brief(found, 21) == "queue roo… and 2 more"
    assert brief(found[:1], 300) == found[0].text
    assert brief([], 300) == "nothing changes"


def test_a_document_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        diff({"queues": {}}, {"queues": {"p": {"guarantee": 1}}})
    assert refused.value.errors[0].field == "queues.p.guarantee"
