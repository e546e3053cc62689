"""What is said before a submit of sub-clusters that could hold a job and take none now."""

from types import SimpleNamespace
from typing import Any

import pytest

from contract.jobspec import parse
from controlplane.router import cluster, outlook
from scheduler.federation.feasible import GroupNeed, Verdict
from scheduler.federation.routing import HomeCandidate, RoutedJob, RoutingDecision
from wire.resources import NOTHING

HOLDS = Verdict(1, 1)
NO_NODES = "no node of its sub-cluster takes containers now"


def candidate(accepts: bool = True, nodes_up: int = 1) -> HomeCandidate:
    return HomeCandidate(1, "west", accepts, True, nodes_up, NOTHING, list(NOTHING))


def told(monkeypatch: pytest.MonkeyPatch, of: HomeCandidate, home: HomeCandidate | None, state: str) -> dict[str, Any]:
    """The outlook of a job with this home; its queue keeps nothing waiting."""
    seen = SimpleNamespace(candidates=[of])
    monkeypatch.setattr(cluster, "view", lambda: seen)
    monkeypatch.setattr(cluster, "foretold", lambda job: RoutingDecision("uniform", "why", home))
    monkeypatch.setattr(outlook, "_waits", lambda user, spec: outlook.Waits(0, []))
    monkeypatch.setattr(outlook, "sees_everything", lambda user: True)
    states = SimpleNamespace(values_list=lambda *names: [(of.id, state)])
    monkeypatch.setattr(outlook, "SubCluster", SimpleNamespace(objects=states))
    raw = {"name": "n", "queue": "root.a", "groups": [{"name": "g", "command": ["true"]}]}
    spec, wrong = parse(raw, "", 10)
    assert spec is not None, wrong
    job = RoutedJob("n", "root.a", 1, NOTHING, verdicts={of.id: HOLDS})
    return outlook.outlook(SimpleNamespace(), spec, [GroupNeed(1, NOTHING)], job)  # type: ignore[arg-type]


def test_without_a_home_it_does_not_begin_and_who_drains_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(monkeypatch, candidate(accepts=False), None, "draining")
    (fit,) = found["sub_clusters"]
    assert (fit["fits"], fit["why"]) == (True, "it is draining and takes no new jobs")
    assert (found["home"], found["admitted"], found["limits"]) == (None, False, ["no sub-cluster takes it now"])
    assert found["estimate"]["text"] == "No sub-cluster takes it now; nobody can say when one does."


def test_a_home_whose_nodes_take_nothing_lets_nothing_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    home = candidate(nodes_up=0)
    found = told(monkeypatch, home, home, "running")
    (fit,) = found["sub_clusters"]
    assert (fit["fits"], fit["why"]) == (True, "no node takes containers now")
    assert (found["home"], found["admitted"], found["limits"]) == ("west", False, [NO_NODES])
    assert found["estimate"] == {
        "earliest_s": None,
        "latest_s": None,
        "text": f"{NO_NODES.capitalize()}; nobody can say when one does.",
    }


def test_what_a_sub_cluster_lacks_stands_beside_its_state() -> None:
    lacks = Verdict(0, 1, "it has no node in service")
    assert outlook._fit(candidate(), HOLDS, "running")["why"] == ""
    assert outlook._fit(candidate(nodes_up=0), lacks, "running")["why"] == lacks.why
    both = outlook._fit(candidate(accepts=False), lacks, "joining")["why"]
    assert both == f"it is joining and takes no new jobs; {lacks.why}"
