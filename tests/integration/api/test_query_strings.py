"""A parameter that nobody reads is refused: who misspells a filter is not shown everything."""

import re
from collections.abc import Iterator

from controlplane.router.views.description import described
from tests.integration.api.world import World, job

METHODS = {"get", "post", "put", "patch", "delete"}


def operations() -> Iterator[tuple[str, str]]:
    """Method and address of every documented operation, of things that perhaps do not exist."""
    for path, known in sorted(described()["paths"].items()):
        for method in sorted(known.keys() & METHODS):
            yield method.upper(), re.sub(r"\{[^}]*\}", "1", path)


def test_a_misspelt_filter_is_named_with_what_was_meant(world: World) -> None:
    refused = world["tenant"].get("jobs?stat=RUNNING&queue=default")
    assert refused.status_code == 422, refused.content
    (error,) = refused.json()["errors"]
    assert (error["field"], error["remedy"]) == ("stat", "did you mean state? Else remove it")
    assert world["tenant"].get("jobs?state=RUNNING&queue=default").status_code == 200


def test_nodes_of_a_sub_cluster_that_there_is_not_are_none_that_are_hidden(world: World) -> None:
    refused = world["tenant"].get("nodes?sub_cluster=wst")
    assert refused.status_code == 404 and "did you mean west?" in refused.json()["detail"]
    assert len(world["tenant"].get("nodes?sub_cluster=west").json()["results"]) == 1


def test_two_names_that_are_as_alike_are_both_told(world: World) -> None:
    told = {name: world["tenant"].get(f"nodes?sub_cluster={name}").json()["detail"] for name in ("est", "eas")}
    assert "did you mean west or east?" in told["est"] or "did you mean east or west?" in told["est"]
    assert told["eas"].endswith("did you mean east?"), "which the other is not"


def test_nothing_is_done_where_a_parameter_is_not_known(world: World) -> None:
    refused = world["tenant"].post("jobs?dry_run=true", job())
    assert refused.status_code == 422 and refused.json()["errors"][0]["field"] == "dry_run"
    assert world["tenant"].get("jobs").json()["results"] == []


def test_no_operation_passes_one_over(world: World) -> None:
    passed = []
    for method, path in operations():
        if "/am/" in path or "/logs" in path:
            continue  # of masters, who have tokens of their own; read by threads that do not see this transaction
        answer = world["operator"](method, f"{path}?no_such_parameter=1", {} if method != "GET" else None)
        refused = answer.status_code == 422 and [e["field"] for e in answer.json()["errors"]] == ["no_such_parameter"]
        if not refused:
            passed.append(f"{method} {path}: {answer.status_code}")
    assert not passed, "; ".join(passed)


def test_who_may_not_ask_hears_of_that_alone(world: World) -> None:
    assert world["anonymous"].get("jobs?stat=RUNNING").status_code == 401


def test_an_address_that_ends_in_a_slash_is_told_as_it_is_written(world: World) -> None:
    refused = world["tenant"].get("jobs/")
    assert refused.status_code == 404 and refused.json()["detail"].endswith("; did you mean /api/v1/jobs?")
    assert "mean" not in world["tenant"].get("nothing/").json()["detail"]


def test_of_a_method_that_is_not_taken_those_are_told_that_are(world: World) -> None:
    refused = world["tenant"]("PATCH", "jobs", {})
    assert refused.status_code == 405 and refused["Allow"] == "GET, POST, HEAD, OPTIONS"
    assert refused.json()["detail"] == f"PATCH is not taken here; this address takes {refused['Allow']}"
