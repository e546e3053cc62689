"""What a drain would make wait, asked of rows written by hand, whose answer can be worked out on paper."""

import datetime as dt
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from contract.simulations import SimulationResult
from controlplane.accounts.models import User
from controlplane.policy import versions
from controlplane.statestore.actions import simulationruns, simulations
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.models import Container, Node, Simulation, SubCluster
from controlplane.statestore.queries.policy import simulations as queries
from controlplane.whatif import draining, history, runner, snapshot
from controlplane.whatif.fleet import Fleet
from simulator.workload import Machine, Submission, SubmittedGroup
from tests.integration.whatif.past import nodes

from . import past

State = Simulation.State


@pytest.fixture(autouse=True)
def _signals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.signal, "signal", lambda *_: None)


def ask(who: User, name: str, horizon_s: float = 3600, forecast: bool = False, **fields: Any) -> Simulation:
    base = versions.active()
    assert base is not None
    now = timezone.now()
    sub = SubCluster.objects.get(name=name)
    end = now + dt.timedelta(seconds=horizon_s)
    question = simulations.Question(now, end, base, base.document, sub_cluster=sub, forecast=forecast, **fields)
    return simulations.request(Actor(who.pk), question)


def answered(asked: Simulation) -> Simulation:
    claim = simulationruns.take()
    assert claim is not None and claim.number == asked.pk
    runner.run(claim)
    return Simulation.objects.get(pk=asked.pk)


def drained(asked: Simulation) -> dict[str, Any]:
    row = answered(asked)
    assert (row.state, row.message) == (State.DONE, ""), row.message
    SimulationResult.model_validate(row.result, extra="forbid")
    assert row.result is not None
    return row.result["drained"]


def told(answer: dict[str, Any], *names: str) -> list[float]:
    return [answer[name]["value"] for name in names]


def anew() -> None:
    """What runs has run for 100 s again, however long the answer before took."""
    Container.objects.update(started_at=timezone.now() - dt.timedelta(seconds=100))


FIGURES = ("jobs", "containers", "longer_jobs", "longer_containers")


def test_what_waits_is_what_one_works_out_by_hand(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(west, 1)
    nodes(east, 1)
    here, there = Node.objects.get(name="west-1"), Node.objects.get(name="east-1")
    past.live(west, operator, [{"count": 3, "estimated_duration_s": 400.0}], [(0, 3, here)])  # until 300
    past.live(east, operator, [{"count": 4, "estimated_duration_s": 300.0}], [(0, 4, there)])  # until 200
    waits = past.live(east, operator, [{"count": 3, "estimated_duration_s": 50.0}])
    # As it is: one starts in west at once, and one each time it ends, at 50 and at 100.
    # Drained: the same, since east gives nothing before 200. So nothing is changed by this alone.
    found = drained(ask(operator, "east"))
    assert told(found, *FIGURES) == [0, 0, 0, 0] and found["running"] == 4 and found["services"] == 0
    assert found["empty_s"]["value"] == pytest.approx(200, abs=3) and found["left"] == 0
    # Two full sub-clusters: as it is, tasks start at 200 where east ends; drained, at 300 where west does.
    past.live(west, operator, [{"count": 1, "estimated_duration_s": 400.0}], [(0, 1, here)])
    anew()
    found = drained(ask(operator, "east"))
    assert told(found, *FIGURES) == [0, 0, 1, 3]
    assert found["wait_mean_s"]["value"] == pytest.approx(100, abs=3)
    (row,) = found["live"]
    assert (row["job"], row["name"], row["owner"], row["containers"], row["open"]) == (
        waits, "recorded", "operator", 3, False
    )  # fmt: skip
    assert row["wait_s"] == pytest.approx(100, abs=3) and found["total_live"] == 1 and found["never"] == []
    assert [(q["queue"], q["jobs"], q["containers"]) for q in found["queues"]] == [("root.default", 1, 3)]


def test_what_still_runs_at_the_deadline_begins_elsewhere(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(west, 1)
    nodes(east, 1, labels={"zone": "lab"})
    here, there = Node.objects.get(name="west-1"), Node.objects.get(name="east-1")
    past.live(west, operator, [{"count": 4, "estimated_duration_s": 190.0}], [(0, 4, here)])  # until 90
    past.live(east, operator, [{"count": 1, "estimated_duration_s": 120.0}], [(0, 1, there)])  # until 20
    job = past.live(east, operator, [{"count": 2, "estimated_duration_s": 300.0}], [(0, 2, there)])  # until 200
    tied = past.live(
        east, operator, [{"count": 1, "node_labels": "zone == lab", "estimated_duration_s": 300.0}], [(0, 1, there)]
    )
    found = drained(ask(operator, "east", deadline_s=60.0))
    assert found["deadline_s"] == 60 and found["empty_s"]["value"] == pytest.approx(60, abs=5)
    # Three are stopped after 160 s each; two begin again where 30 s later there is room, one has no place any more.
    assert found["lost_core_hours"]["value"] == pytest.approx(3 * 160 / 3600, rel=0.05)
    waits = {row["job"]: row["wait_s"] for row in found["live"]}
    assert waits.keys() == {job, tied} and waits[job] == pytest.approx(30, abs=5) and waits[tied] > 3600
    assert [(n["job"], n["containers"]) for n in found["never"]] == [(tied, 1)]
    SubCluster.objects.filter(name="west").update(state="draining", deadline=timezone.now() + dt.timedelta(seconds=30))
    north = SubCluster.objects.create(name="north", state="running")
    nodes(north, 2)
    anew()
    also = drained(ask(operator, "east", deadline_s=60.0))
    assert also["lost_core_hours"]["value"] == pytest.approx(3 * 160 / 3600, rel=0.05), "what west stops is not counted"
    SubCluster.objects.filter(name="west").update(state="running", deadline=None)
    anew()
    found = drained(ask(operator, "east"))
    assert found["deadline_s"] is None and found["lost_core_hours"]["value"] == 0 and found["never"] == []
    assert found["empty_s"]["value"] == pytest.approx(200, abs=3)


def test_one_that_is_not_empty_in_time_says_when_that_was(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(west, 1)
    nodes(east, 1)
    there = Node.objects.get(name="east-1")
    past.live(east, operator, [{"count": 2, "estimated_duration_s": 4000.0}], [(0, 2, there)])
    found = drained(ask(operator, "east", horizon_s=600))
    assert found["empty_s"]["value"] is None and (found["left"], found["seen_s"]) == (2, 750)


def test_who_can_start_nowhere_else_is_named(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(west, 1)
    nodes(east, 1, labels={"zone": "lab"}, gpus=1)
    there = Node.objects.get(name="east-1")
    picky = past.live(
        east, operator, [{"count": 2, "name": "near", "node_labels": "zone == lab", "estimated_duration_s": 60.0}]
    )
    stays = past.live(east, operator, [{"node_labels": "zone == lab", "estimated_duration_s": 300.0}], [(0, 1, there)])
    web = past.live(
        east, operator, [{"count": 1, "name": "web", "node_labels": "zone == lab"}], [(0, 1, there)], kind="service"
    )
    lost = past.live(west, operator, [{"node_labels": "zone == nowhere"}])
    found = drained(ask(operator, "east"))
    assert {(n["job"], n["group"], n["containers"]) for n in found["never"]} == {(picky, "near", 2), (web, "web", 1)}
    assert all(n["why"] == "no node elsewhere matches: zone == lab" for n in found["never"])
    assert (found["total_never"], found["never_jobs"]) == (2, 2) and {stays, lost}.isdisjoint(
        {n["job"] for n in found["never"]}
    )
    by_job = {row["job"]: row for row in found["live"]}
    assert by_job.keys() == {picky, web} and by_job[picky]["open"] and by_job[picky]["wait_s"] > 3600
    assert (found["running"], found["services"]) == (2, 1) and told(found, *FIGURES) == [2, 3, 0, 0]


def test_services_leave_guests_stay_and_what_follows_waits(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(west, 1)
    nodes(east, 1)
    here, there = Node.objects.get(name="west-1"), Node.objects.get(name="east-1")
    past.live(west, operator, [{"count": 2}], [(0, 2, there)], kind="service")  # guests, and they leave
    past.live(west, operator, [{"count": 4, "estimated_duration_s": 250.0}], [(0, 4, here)])  # until 150
    chain = [{"count": 2, "name": "map", "estimated_duration_s": 160.0},
             {"count": 1, "name": "reduce", "after": ["map"], "estimated_duration_s": 10.0}]  # fmt: skip
    job = past.live(west, operator, chain, [(0, 2, there)])  # until 60; then the last task has to go somewhere
    found = drained(ask(operator, "east"))
    assert (found["running"], found["services"]) == (4, 2)
    # One of the service's two tasks leaves at once, and waits; the other leaves when the first serves again.
    assert found["empty_s"]["value"] == pytest.approx(150, abs=3)
    assert told(found, *FIGURES) == [2, 2, 0, 0], "a task of the service, and the one that follows"
    by_job = {row["job"]: row for row in found["live"]}
    assert by_job.pop(job)["wait_s"] == pytest.approx(90, abs=3)
    assert [row["wait_s"] for row in by_job.values()] == pytest.approx([150], abs=3)


def test_the_jobs_of_the_last_hour_come_again(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(west, 1, vcores_milli=1000)
    nodes(east, 1, vcores_milli=1000)
    hour = timezone.now() - dt.timedelta(hours=1)
    for minute in range(1, 60, 2):  # two tasks of 90 s every two minutes: too much for one node of one core
        at = (hour - past.BEGIN).total_seconds() + 60 * minute
        row = past.job(west, operator, at, [{"count": 2}], ended=at + 90)
        past.attempts(row, *(past.Attempt(i, at, at + 90) for i in (0, 1)))
    row = answered(ask(operator, "east", 1440, forecast=True))
    assert row.result is not None and row.result["jobs"] == 12 and row.result["containers"] == 24
    notes = row.result["comparison"]["notes"]
    assert "The 30 jobs of the last hour are taken to come again in every hour, as before." in notes
    before, after = row.result["comparison"]["policies"]
    assert (before["policy"], after["policy"]) == ("as it is", "east drained")
    # One node falls behind by 60 s with every job: ten of twelve start within 1800 s, after 0, 60, 120 ... s; the
    # others have waited since they came, at 1260 and 1380 s. In all 3,660 s.
    found = row.result["drained"]
    assert found["jobs"]["value"] == pytest.approx(12, abs=1) and found["live"] == [] and found["total_live"] == 0
    assert after["figures"]["wait_mean_s"]["value"]["value"] == pytest.approx(3_660 / 12, rel=0.01)
    assert before["figures"]["wait_mean_s"]["value"]["value"] < 5 and found["empty_s"]["value"] == 0.0
    _, page = queries.report(row.pk) or ("", None)
    assert page is not None and b"What draining east would do" in page and b"east would be empty after 0.0 s" in page


def test_other_hours_like_the_last_tell_how_far_the_answer_may_be_off(
    operator: User, west: SubCluster, east: SubCluster
) -> None:
    nodes(west, 1)
    nodes(east, 1)
    now = timezone.now()
    for n in range(30):  # most of them late in the quarter of an hour
        row = past.job(west, operator, 0, [{"count": 3, "estimated_duration_s": 50.0}])
        row.submitted_at = now - dt.timedelta(seconds=3600 - 875 * (n / 30) ** 0.5)
        row.save()
    row = answered(ask(operator, "east", 900, forecast=True, seeds=4))
    found = row.result["drained"]
    wait = found["wait_mean_s"]
    assert wait["count"] == 4 and wait["low"] < wait["value"] < wait["high"]
    assert any("the jobs are drawn anew" in note for note in row.result["comparison"]["notes"])


def test_a_sample_is_told_as_what_it_stands_for(
    operator: User, west: SubCluster, east: SubCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only one of ten nodes elsewhere has the label; in a sample it may not be there."""
    nodes(west, 9)
    nodes(east, 10)
    Node.objects.filter(name="west-9").update(labels={"rare": "yes"})
    rare = {"count": 1, "estimated_duration_s": 90.0, "node_labels": "rare == yes"}
    for node in Node.objects.filter(sub_cluster=east):
        past.live(east, operator, [{"count": 4, "estimated_duration_s": 400.0}, rare], [(0, 4, node)])
    whole = drained(ask(operator, "east", 1000))
    anew()
    monkeypatch.setattr(history, "CONTAINERS_MOST", 25)
    part = drained(ask(operator, "east", 1000))
    assert whole["running"] == part["running"] == 40
    assert whole["total_never"] == part["total_never"] == 0
    for name in ("containers", "jobs"):
        assert part[name]["value"] == pytest.approx(whole[name]["value"], rel=0.7), name


def test_asking_changes_nothing_but_its_own_row(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(west, 1)
    nodes(east, 1)
    past.live(east, operator, [{"count": 3, "estimated_duration_s": 300.0}], [(0, 2, Node.objects.get(name="east-1"))])
    asked = ask(operator, "east", 600)
    before = _everything()
    drained(asked)
    assert _everything() == before


def _everything() -> dict[str, list[Any]]:
    """All rows of all tables but the simulations'."""
    tables = [name for name in connection.introspection.table_names() if name != "statestore_simulation"]
    with connection.cursor() as cursor:
        found = {}
        for name in tables:
            cursor.execute(f'SELECT t::text FROM "{name}" t ORDER BY 1')
            found[name] = cursor.fetchall()
    return found


def test_what_operators_closed_keeps_what_it_runs(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(west, 2)
    nodes(east, 1)
    Node.objects.filter(name="west-2").update(duty="cordoned")
    closed = Node.objects.get(name="west-2")
    past.live(west, operator, [{"estimated_duration_s": 300.0}], [(0, 1, closed)])
    past.live(east, operator, [{"count": 5, "estimated_duration_s": 60.0}])
    row = answered(ask(operator, "east", 600))
    assert row.result is not None and row.result["nodes"] == 3
    # Four of the five find a core in west at once, and the cordoned node takes none.
    assert told(row.result["drained"], *FIGURES) == [1, 1, 0, 0]
    assert row.result["drained"]["wait_mean_s"]["value"] == pytest.approx(60, abs=3)


def test_what_cannot_be_answered_any_more_is_told(operator: User, west: SubCluster, east: SubCluster) -> None:
    nodes(east, 1)
    past.live(east, operator, [{}])
    row = answered(ask(operator, "east"))
    assert row.state == State.FAILED and "no other sub-cluster that takes work has an open node" in row.message
    asked = ask(operator, "east")
    SubCluster.objects.filter(name="east").update(state="draining")
    row = answered(asked)
    assert row.state == State.FAILED and "is draining by now" in row.message
    SubCluster.objects.filter(name="east").update(state="running")
    nodes(west, 1)
    past.Job.objects.all().delete()
    row = answered(ask(operator, "east", forecast=True))
    assert row.state == State.FAILED and "nothing is live" in row.message


def test_where_no_room_is_known_containers_take_another_machine() -> None:
    """As in a sample."""
    machines = Fleet({"west": [Machine("w1", 1024, 1000, 1), Machine("w2", 1024, 2000, 2)]}, {"west": [11, 12]}, {})
    seats = snapshot.MachineAssigner(machines)
    seats.names = {1: "west"}
    kind = SubmittedGroup(1, 256, 1000, np.array([1.0]), gpus=1)
    assert seats.reserve(1, 12, 0b10, kind) == ("west", 1, 0b10) and seats.reserve(1, 13, 1, kind) is None
    assert [seats.find(1, kind) for _ in range(3)] == [("west", 0, 1), ("west", 1, 1), None]
    assert seats.find(2, kind) is None


def test_repeated_jobs_come_as_they_came() -> None:
    jobs = [Submission(at_s, "root.default", "u1", ()) for at_s in (10.0, 3000.0)]
    assert [job.at_s for job in draining.repeated(jobs, 7200)] == [10.0, 3000.0, 3610.0, 6600.0]
    assert [job.at_s for job in draining.repeated(jobs, 60)] == [10.0] and not list(draining.repeated([], 60))


def test_how_long_what_runs_goes_on() -> None:
    ran_s = np.array([1.0, 50.0, 150.0, 500.0])
    assert history.expected_run_s(ran_s, 100.0, 200.0).tolist() == [100.0, 100.0, 200.0, 1000.0]
    assert history.expected_run_s(ran_s, 0.0, 0.0).tolist() == [60.0, 100.0, 300.0, 1000.0]
