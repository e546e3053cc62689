"""A question becomes an answer, in a process of its own; whoever lost the row writes nothing."""

import datetime as dt
import os
import re
import uuid
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.policy import documents, versions
from controlplane.policy.digest import digest
from controlplane.statestore import retention
from controlplane.statestore.actions import simulationruns, simulations, subclusters
from controlplane.statestore.actions.audit import SYSTEM, Actor
from controlplane.statestore.actions.simulationruns import Claim
from controlplane.statestore.errors import Conflict, NotFound, TooMany
from controlplane.statestore.models import AuditEntry, Simulation, SubCluster
from controlplane.statestore.queries.paging import Cursor
from controlplane.statestore.queries.policy import simulations as queries
from controlplane.whatif import answer, cases, history, runner, tasks
from tests.integration.whatif.conftest import POLICY
from tests.integration.whatif.past import BEGIN, END, at, busy_hour, nodes
from tests.limits import limit
from tests.patience import let_pass, stretched, wait_until

State = Simulation.State
_PROD = {"guaranteed": 0.9, "maximum": 0.95, "children": {"etl": {}, "web": {}}}
OTHER = {"queues": {"default": {"guaranteed": 0.1, "open_to_all": True}, "prod": _PROD}}


BY_CHANCE = {"components": {"routing": {"policy": "uniform"}}}


def ask(who: User, end: dt.datetime = END, document: Any = OTHER, **fields: Any) -> Simulation:
    found = versions.active()
    assert found is not None
    full, _ = documents.validate(document)
    question = simulations.Question(BEGIN, end, found, full, digest(full), **fields)
    return simulations.request(Actor(who.pk), question)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runners find the test database and are as important as their test; none is left."""
    named = urlsplit(os.environ["DATABASE_URL"])._replace(path="/" + connection.settings_dict["NAME"])
    monkeypatch.setenv("DATABASE_URL", named.geturl())
    monkeypatch.setattr(tasks, "NICE", "0")  # other tests beside this one would leave it next to nothing
    yield
    for each in tasks._runners:
        each.process.kill()
        each.process.wait()
        assert each.process.stdin is not None
        each.process.stdin.close()
    tasks._runners.clear()


def until(number: int, *states: str, seconds: float = 60, offering: bool = True) -> Simulation:
    def found() -> Simulation | None:
        if offering:
            tasks.offer()
        row = Simulation.objects.get(pk=number)
        return row if row.state in states else None

    return wait_until(found, seconds, f"simulation {number} is {' or '.join(states)}", 0.2)


def test_a_question_is_answered(operator: User, west: SubCluster, processes: None) -> None:
    east = subclusters.create(SYSTEM, "east")
    SubCluster.objects.filter(pk=east.pk).update(state="running")
    for sub in (west, east):
        nodes(sub, 1, vcores_milli=1000)
    versions.publish(SYSTEM, POLICY | BY_CHANCE, "sends jobs by chance")
    busy_hour(west, operator, 180, ("root.default", "root.prod.etl"))
    asked = ask(operator, at(100), seeds=2)
    row = until(asked.pk, State.DONE, State.FAILED)
    assert (row.state, row.message, row.progress, row.token) == (State.DONE, "", 1.0, None)
    result = row.result
    assert result is not None and (result["jobs"], result["containers"], result["nodes"]) == (6, 24, 2)
    before, after = result["comparison"]["policies"]
    assert (before["policy"], after["policy"]) == (f"version {row.base_id}, in force", "proposed")
    assert after["seeds"] == [0, 1] and before["figures"]["jobs"]["value"]["over"] == "seeds"
    assert {q["queue"] for q in after["queues"]} == {"root.default", "root.prod.etl", "root.prod.web"}
    users = {user["user"]: user["figures"] for user in after["users"]}
    assert list(users) == ["operator"] and result["comparison"]["total_users"] == 1, "accounts have their own names"
    assert users["operator"]["jobs"]["value"]["value"] == after["figures"]["jobs"]["value"]["value"]
    assert users["operator"]["wait_mean_s"]["change"]["over"] == "pairs of seeds"
    shares = sum(queue["figures"]["share_held"]["value"]["value"] for queue in after["queues"])
    assert users["operator"]["share_held"]["value"]["value"] == pytest.approx(shares, rel=0.02) and shares > 0
    assert set(result["figures"]["by_user"]) == set(users["operator"])
    assert [run["seed"] for run in result["runs"]] == [0, 1, 0, 1] and result["runs"][1]["periods"] is None
    state, page = queries.report(row.pk) or ("", None)
    assert state == "done" and page is not None and b"What proposed would have done" in page and b"<script" not in page
    case = cases.of(row)
    again = [case.simulation(policy, 0).run() for policy in case.policies]
    told = [(run["lifecycles"], run["rounds"]) for run in result["runs"] if run["seed"] == 0]
    assert [(run.lifecycles, run.rounds) for run in again] == told, "a seed says everything, in whatever process"


def test_jobs_of_queues_that_a_policy_renames_are_compared(operator: User, west: SubCluster) -> None:
    nodes(west, 1, vcores_milli=1000)
    busy_hour(west, operator, 20, ("root.default", "root.prod.etl"))
    prod = {"guaranteed": 0.9, "children": {"nightly": {}}}
    renamed = {"queues": {"default": {"guaranteed": 0.1, "open_to_all": True}, "prod": prod}}
    row = ask(operator, document=renamed, seeds=1, queues={"root.prod.etl": "root.prod.nightly"})
    case = cases.of(row)
    result = answer.of(case, [case.simulation(policy, 0).run() for policy in case.policies]).result
    before, after = ({q["queue"]: q["figures"]["jobs"]["value"]["value"] for q in policy["queues"]}
                     for policy in result["comparison"]["policies"])  # fmt: skip
    same = "root.prod.etl → root.prod.nightly"
    assert (before[same], after[same]) == (10, 10) and result["jobs"] == 20, "it is one queue by two names"
    assert "root.prod.nightly" not in before and before["root.prod.web"] == 0 and after["root.prod.web"] is None
    assert (
        "Under proposed 10 jobs go, as asked, from root.prod.etl to root.prod.nightly." in result["comparison"]["notes"]
    )
    assert queries.one(row.pk)["queues"] == {"root.prod.etl": "root.prod.nightly"}  # type: ignore[index]
    merged = cases.of(ask(operator, document=renamed, seeds=1, queues={"root.prod.etl": "root.default"}))
    result = answer.of(merged, [merged.simulation(policy, 0).run() for policy in merged.policies]).result
    (found,) = (
        q["figures"]["jobs"] for q in result["comparison"]["policies"][1]["queues"] if q["queue"] == "root.default"
    )
    assert (found["value"]["value"], found["change"]["value"]) == (20, None)
    left_out = cases.of(ask(operator, document=renamed))
    assert len(left_out.jobs) == 10 and "Say where they go" in left_out.notes[0]


def test_samples_of_a_large_history_tell_how_far_they_may_be_off(
    operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes(west, 1)
    busy_hour(west, operator, 60)
    monkeypatch.setattr(history, "JOBS_MOST", 30)
    case = cases.of(ask(operator, seeds=1))
    assert (case.samples, case.sample, case.seeds(1)) == (3, 1 / 6, range(3))
    runs = [case.simulation(policy, seed).run() for policy in case.policies for seed in case.seeds(1)]
    assert len({tuple(run.jobs["number"]) for run in runs}) == 3, "each seed has a sample of its own"
    compared = answer.compared(case, runs)
    assert compared.policies[0].figures["wait_mean_s"].value.count == 3
    (error,) = (note for note in compared.notes if note.startswith("How far samples may be off"))
    assert re.search(r"version \d+, in force: .* \(.*\); proposed: ", error), error


def test_a_sub_cluster_that_drains_now_takes_no_work(operator: User, west: SubCluster, east: SubCluster) -> None:
    for sub in (west, east):
        nodes(sub, 1)
    versions.publish(SYSTEM, POLICY | BY_CHANCE, "sends jobs by chance")
    busy_hour(west, operator, 40, ("root.default", "root.prod.etl"))
    SubCluster.objects.filter(pk=east.pk).update(state=SubCluster.State.DRAINING)
    case = cases.of(ask(operator))
    assert any(note.startswith("east is being drained now") for note in case.notes)
    for policy in case.policies:
        simulation, ran = case.simulation(policy, 0), Counter[int]()
        simulation.listeners.append(lambda sub, c, ran=ran: ran.update({sub: sum(map(len, c.new))}))
        run = simulation.run()
        numbers = {own.name: sub for sub, own in simulation.rows.subs.items()}
        assert run.emptied == {"east": 0.0} and ran[numbers["east"]] == 0 and ran[numbers["west"]] == 160
    SubCluster.objects.filter(pk=west.pk).update(state=SubCluster.State.DRAINING)
    with pytest.raises(cases.Unanswerable, match="no node takes containers now"):
        cases.of(ask(operator))


@pytest.mark.faults
def test_one_that_is_cancelled_stops_soon_and_writes_nothing(
    operator: User, west: SubCluster, processes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes(west, 4)
    busy_hour(west, operator, 400)
    asked = ask(operator, seeds=10)
    tasks.offer()
    (started,) = tasks._runners
    running = until(asked.pk, State.RUNNING, offering=False)
    while running.simulated_s == 0:
        assert started.process.poll() is None
        running = until(asked.pk, State.RUNNING, offering=False)
        let_pass(0.1)
    simulations.cancel(Actor(operator.pk), asked.pk)
    with limit("a running simulation is cancelled: its process ends", 5):
        assert started.process.wait(stretched(60)) == 0
    row = Simulation.objects.get(pk=asked.pk)
    assert (row.state, row.result, row.page) == (State.CANCELLED, None, None)
    simulations.cancel(Actor(operator.pk), asked.pk)
    actions = AuditEntry.objects.filter(target=f"simulation/{asked.pk}").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["simulation.request", "simulation.cancel"]


def test_a_killed_runner_is_replaced_once(operator: User, west: SubCluster, processes: None) -> None:
    asked = ask(operator, seeds=10)
    for attempt in (1, 2):
        tasks.offer()
        (started,) = tasks._runners
        assert Simulation.objects.get(pk=asked.pk).attempts == attempt
        started.process.kill()
        started.process.wait()
    tasks.offer()
    row = Simulation.objects.get(pk=asked.pk)
    assert row.state == State.FAILED and row.message == simulationruns.LOST and not tasks._runners


def test_a_runner_whose_worker_has_gone_gives_its_row_back(operator: User, west: SubCluster, processes: None) -> None:
    asked = ask(operator, seeds=10)
    tasks.offer()
    (started,) = tasks._runners
    assert started.process.stdin is not None
    started.process.stdin.close()
    assert started.process.wait(stretched(60)) == 0
    row = Simulation.objects.get(pk=asked.pk)
    assert (row.state, row.attempts, row.token) == (State.QUEUED, 0, None)


def test_a_silent_runner_loses_its_row_and_cannot_write(operator: User, west: SubCluster) -> None:
    asked = ask(operator)
    old = simulationruns.take()
    assert old is not None and simulationruns.beat(old, progress=0.5) and not simulationruns.recover()
    Simulation.objects.filter(pk=asked.pk).update(beat_at=F("beat_at") - dt.timedelta(seconds=60))
    assert simulationruns.recover()
    assert not simulationruns.beat(old, progress=0.9) and not simulationruns.finish(old, {}, b"", 1.0)
    new = simulationruns.take()
    assert new is not None and new.token != old.token
    assert not simulationruns.fail(old, "late") and not simulationruns.give_back(old) and not simulationruns.lost(old)
    row = Simulation.objects.get(pk=asked.pk)
    assert (row.state, row.attempts, row.progress, row.message) == (State.RUNNING, 2, 0.0, "")
    Simulation.objects.filter(pk=asked.pk).update(beat_at=F("beat_at") - dt.timedelta(seconds=60))
    assert simulationruns.recover() and not simulationruns.take()
    assert Simulation.objects.get(pk=asked.pk).state == State.FAILED


def test_two_run_at_a_time_and_five_wait_per_account(operator: User, west: SubCluster) -> None:
    asked = [ask(operator).pk for _ in range(5)]
    with pytest.raises(TooMany):
        ask(operator)
    first, second = simulationruns.take(), simulationruns.take()
    assert first is not None and second is not None and [first.number, second.number] == asked[:2]
    assert simulationruns.take() is None
    simulations.cancel(Actor(operator.pk), asked[0])
    third = simulationruns.take()
    assert third is not None and third.number == asked[2]
    assert simulationruns.fail(third, "for some reason")
    with pytest.raises(Conflict):
        simulations.cancel(Actor(operator.pk), asked[2])
    with pytest.raises(NotFound):
        simulations.cancel(Actor(operator.pk), 2**40)


def test_one_who_asks_much_does_not_keep_others_waiting(operator: User, west: SubCluster) -> None:
    mine, other = [ask(operator).pk for _ in range(4)], User.objects.create_user("other", "other-secret-4")
    first, second = simulationruns.take(), simulationruns.take()
    theirs = ask(other).pk
    assert first is not None and second is not None
    assert simulationruns.fail(first, "for some reason")
    taken = simulationruns.take()
    assert taken is not None and taken.number == theirs
    assert simulationruns.fail(second, "for some reason")
    taken = simulationruns.take()
    assert taken is not None and taken.number == mine[2]


def test_older_answers_go(operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulations, "KEPT_EACH", 3)
    monkeypatch.setattr(simulations, "KEPT_ALL", 2)
    for _ in range(6):
        row = ask(operator)
        simulations.cancel(Actor(operator.pk), row.pk)
    waits = ask(operator).pk
    assert Simulation.objects.filter(state=State.CANCELLED).count() == 2
    retention.run()
    assert Simulation.objects.get(state=State.QUEUED).pk == waits


def test_the_newest_answer_about_a_version_stays(
    operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulations, "KEPT_EACH", 2)
    monkeypatch.setattr(simulations, "KEPT_ALL", 2)
    done = {"state": State.DONE, "result": {}, "page": b""}
    old, new = ask(operator).pk, ask(operator).pk
    Simulation.objects.filter(pk__in=(old, new)).update(**done)
    other = ask(operator, document=POLICY).pk
    Simulation.objects.filter(pk=other).update(**done)
    version = versions.publish(SYSTEM, OTHER, "as simulated")
    assert version.digest == digest(OTHER) == versions.digest_of(version)
    never = OTHER | {"queues": {"default": {"guaranteed": 0.3}}}
    pushed_never = [ask(operator, document=never).pk for _ in range(3)]
    Simulation.objects.filter(pk__in=pushed_never).update(**done)
    simulations.cancel(Actor(operator.pk), ask(operator).pk)
    retention.run()
    kept = set(Simulation.objects.values_list("pk", flat=True))
    assert {new, other, pushed_never[2]} < kept and len(kept) == 4, "and the newest two of all others"
    assert not kept & {old, *pushed_never[:2]}
    found = queries.listed(Cursor(), 10, (version.pk, version.digest))
    assert [row["id"] for row in found.results if row["state"] == State.DONE] == [new]


@pytest.mark.parametrize(
    ("fill", "words"),
    [(False, "no node takes containers now"), (True, "no job ran in this window")],
)
def test_what_cannot_be_answered_is_told_in_words(
    operator: User, west: SubCluster, fill: bool, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner.signal, "signal", lambda *_: None)
    if fill:
        nodes(west, 1)
    asked = ask(operator)
    claim = simulationruns.take()
    assert claim is not None
    runner.run(claim)
    row = Simulation.objects.get(pk=asked.pk)
    assert row.state == State.FAILED and words in row.message


def test_a_policy_that_fits_the_sub_clusters_no_more_is_told(
    operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner.signal, "signal", lambda *_: None)
    nodes(west, 1)
    busy_hour(west, operator, 3)
    asked = ask(operator)
    gone = asked.document | {
        "queues": {"default": {"federation": {"router": {"policy": "weighted", "weights": {"gone": 1}}}}}
    }
    Simulation.objects.filter(pk=asked.pk).update(document=gone)
    claim = simulationruns.take()
    assert claim is not None
    runner.run(claim)
    row = Simulation.objects.get(pk=asked.pk)
    assert row.state == State.FAILED and row.message


def _small(sub: SubCluster, who: User, monkeypatch: pytest.MonkeyPatch) -> tuple[Simulation, Claim]:
    """A question of few jobs, whose runner is this process."""
    monkeypatch.setattr(runner.signal, "signal", lambda *_: None)
    nodes(sub, 1)
    busy_hour(sub, who, 3)
    asked, claim = ask(who), simulationruns.take()
    assert claim is not None
    return asked, claim


@pytest.mark.parametrize("phase", [cases, answer])
def test_a_runner_is_seen_to_live_while_it_reads_and_compares(
    operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch, phase: ModuleType
) -> None:
    asked, claim = _small(west, operator, monkeypatch)

    def takes_long(*_: Any) -> None:
        def beat() -> dt.datetime | None:
            return Simulation.objects.get(pk=asked.pk).beat_at

        first = beat()
        wait_until(lambda: beat() != first or None, 30, "the runner says that it lives")
        raise cases.Unanswerable("it lives")

    monkeypatch.setattr(phase, "of", takes_long)
    runner.run(claim)
    row = Simulation.objects.get(pk=asked.pk)
    assert (row.state, row.message) == (State.FAILED, "it lives")


@pytest.mark.faults
@pytest.mark.parametrize("phase", [cases, answer])
def test_one_that_is_cancelled_while_it_reads_or_compares_stops_soon(
    operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch, phase: ModuleType
) -> None:
    asked, claim = _small(west, operator, monkeypatch)

    def never_ends(*_: Any) -> None:
        simulations.cancel(Actor(operator.pk), asked.pk)
        let_pass(600)

    monkeypatch.setattr(phase, "of", never_ends)
    with limit("a simulation that is cancelled while it reads or compares: its process ends", 20):
        runner.run(claim)
    assert Simulation.objects.get(pk=asked.pk).state == State.CANCELLED


def test_one_that_takes_too_long_makes_way(operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, claim = _small(west, operator, monkeypatch)
    monkeypatch.setattr(runner, "LONGEST_S", 0.5)
    monkeypatch.setattr(cases, "of", lambda _: let_pass(600))
    runner.run(claim)
    row = Simulation.objects.get(pk=asked.pk)
    assert (row.state, row.message) == (State.FAILED, runner.TOO_LONG)


def test_what_ends_without_a_word_is_no_answer(
    operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, claim = _small(west, operator, monkeypatch)
    monkeypatch.setattr(cases, "of", lambda _: os._exit(9))
    with pytest.raises(runner.Died, match="status 9"):
        runner.run(claim)
    assert Simulation.objects.get(pk=asked.pk).state == State.RUNNING, "whoever started it gives it to another"


def test_what_would_fail_again_is_told_at_once(
    operator: User, west: SubCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_hour(west, operator, 4)
    asked = ask(operator)

    def broken(_: Simulation) -> None:
        raise TypeError("a defect")

    monkeypatch.setattr(runner, "_case", broken)
    claim = simulationruns.take()
    assert claim is not None
    runner.run(claim)
    row = Simulation.objects.get(pk=asked.pk)
    assert (row.state, row.message) == (
        State.FAILED, "the simulator failed (TypeError); the log of the worker says where",
    )  # fmt: skip


def test_a_claim_of_nobody_changes_nothing(operator: User, west: SubCluster) -> None:
    asked = ask(operator)
    runner.RunProgress(Claim(asked.pk, uuid.uuid4()), None)
    with pytest.raises(runner.Stopped):
        runner.RunProgress(Claim(asked.pk, uuid.uuid4()), None).look(0.5, 1.0)
    assert Simulation.objects.get(pk=asked.pk).state == State.QUEUED and asked.requested_at <= timezone.now()
