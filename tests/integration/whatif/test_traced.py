"""A trace instead of the recorded history: its jobs, on the fleet's nodes or on its own, under both policies."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.statestore.models import Simulation, SimulationTrace, SubCluster
from controlplane.whatif import answer, runner, traced
from controlplane.whatif.cases import Unanswerable
from simulator.workloads import handedin
from tests.integration.whatif.past import nodes
from tests.integration.whatif.test_runs import ask

LINE = "{n} {at} -1 60 {procs} -1 -1 {procs} 100 -1 1 {user} 1 -1 1 -1 -1 -1"


def handed_in(folder: Path, monkeypatch: pytest.MonkeyPatch, queue: str = "root.default") -> SimulationTrace:
    """20 jobs of one processor of two users, and one of 64; the machine has two nodes with two each."""
    jobs = [LINE.format(n=n, at=20 * n, procs=1, user=n % 2) for n in range(20)]
    jobs.append(LINE.format(n=20, at=400, procs=64, user=1))
    (folder / "trace").write_text("\n".join(["; MaxProcs: 4", "; MaxNodes: 2", *jobs]) + "\n")
    monkeypatch.chdir(folder)
    told = handedin.read("jobs", "swf", {"queue": queue})
    machines = json.loads((folder / "machines.json").read_text())
    columns = {name: told[name] for name in ("jobs", "containers", "users", "span_s", "queues", "skipped")}
    return SimulationTrace.objects.create(
        name="nasa.swf", kind="swf", added_at=timezone.now(), history=(folder / "history.gz").read_bytes(),
        machines=machines, nodes=told["machines"], **columns,
    )  # fmt: skip


def asked(operator: User, trace: SimulationTrace, own: bool, **fields: Any) -> Simulation:
    number = ask(operator, trace=trace, own_nodes=own, **fields).pk
    return Simulation.objects.select_related("base", "trace").get(pk=number)


@pytest.mark.parametrize("own", [False, True])
def test_its_jobs_are_simulated(
    operator: User, west: SubCluster, east: SubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    for sub in (west, east):
        nodes(sub, 3)
    case = traced.of(asked(operator, handed_in(tmp_path, monkeypatch), own))
    assert {name: len(machines) for name, machines in case.sub_clusters.items()} == dict.fromkeys(
        ("east", "west"), 1 if own else 3
    )
    found = answer.of(case, [case.simulation(policy, 0).run() for policy in case.policies]).result
    assert (found["jobs"], found["nodes"]) == (20, 2 if own else 6), "64 processors are more than there are"
    after = found["comparison"]["policies"][-1]
    assert after["figures"]["jobs_unfinished"]["value"]["value"] == 0
    assert {user["user"] for user in after["users"]} == {"u0", "u1"}, "which are no accounts' names"
    notes = "\n".join(found["comparison"]["notes"])
    assert "1 job is left out, since no node could ever run them" in notes
    assert ("are the trace's own, dealt among" if own else "on the nodes that there are now") in notes
    assert found["comparison"]["workload"] == "trace nasa.swf"


def test_a_sub_cluster_that_drains_gets_none_of_its_nodes(
    operator: User, west: SubCluster, east: SubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SubCluster.objects.filter(pk=east.pk).update(state=SubCluster.State.DRAINING)
    case = traced.of(asked(operator, handed_in(tmp_path, monkeypatch), True, seeds=2))
    assert (len(case.sub_clusters["west"]), case.sub_clusters["east"]) == (2, [])
    assert case.redraw is not None and len(case.redraw(1)) != 0 and any("drawn anew" in note for note in case.notes)
    SubCluster.objects.update(state=SubCluster.State.DRAINING)
    with pytest.raises(Unanswerable, match="no sub-cluster takes work now"):
        traced.of(asked(operator, SimulationTrace.objects.get(), True))


def test_what_cannot_be_simulated_says_why(
    operator: User, west: SubCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = handed_in(tmp_path, monkeypatch, "root.nobodys")
    with pytest.raises(Unanswerable, match="no node takes containers now"):
        traced.of(asked(operator, trace, False))
    nodes(west, 1)
    told = r"theirs are root\.nobodys: say where they go with queues .* hand the trace in with the option queue"
    with pytest.raises(Unanswerable, match=told):
        traced.of(asked(operator, trace, False))
    row = asked(operator, trace, False)
    trace.delete()
    with pytest.raises(Unanswerable, match="hand it in again"):
        runner._case(Simulation.objects.select_related("base", "trace").get(pk=row.pk))
