"""Containers of application masters in other sub-clusters: granted, launched, given back, told once, and kept."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.conf import LazySettings

from controlplane.statestore.actions import masters as actions
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import Container, Intent, MasterEvent, TaskGroup
from controlplane.statestore.queries.jobs import masters as queries
from tests.integration.rm.cluster import Cluster
from tests.integration.rm.federation import FAST, OPEN, Federation
from tests.integration.rm.test_rm_masters import ask, ended, events, launch, live, submit
from tests.integration.rm.test_rm_rehoming import fall_silent, reap, rounds
from tests.stepped import memory_state
from wire.ids import parse_container, sub_cluster
from wire.states import ContainerState, JobState, Want

LARGE = {"memory_mib": 512, "vcores_milli": 500}
ROOM = 47  # containers of this size, beside the master: 15 at home, 16 in each other


REAL_TIME = pytest.mark.parametrize("federation", [0.0], indirect=True)  # whoever buries knows no other


@pytest.fixture
def federation(cluster: Cluster, settings: LazySettings, request: pytest.FixtureRequest) -> Federation:
    settings.HYDRA = settings.HYDRA | {"heartbeat_s": 0.1, "lease_s": 60.0}
    made = Federation(cluster, pace_s=getattr(request, "param", 0.3))
    parts = {
        "amrmproxy": {"policy": "locality", "parameters": FAST},
        "lost_sub_clusters": {"policy": "rehome", "parameters": {"after_s": 1.0}},
    }
    cluster.policy({"default": {"guaranteed": 1.0} | OPEN}, **parts)
    made.rounds()
    return made


@pytest.fixture
def app(federation: Federation, cluster: Cluster) -> int:
    """An application whose master runs in west."""
    job = submit(cluster)
    federation.rounds(2)
    assert federation.live() == [1, 0, 0]
    return job


def by_place(f: Federation, containers: list[str]) -> list[list[str]]:
    """Those of west, east and south."""
    found = [[c for c in containers if sub_cluster(parse_container(c)) == at.sub.pk] for at in f.clusters]
    assert sum(map(len, found)) == len(containers)
    return found


def until(f: Federation, happened: Callable[[], bool]) -> None:
    """Rounds until it has, and a few more, after which nothing is under way."""
    for _ in range(100):
        rounds(f, 1)
        if happened():
            break
    assert happened()
    rounds(f, 4)


def told_once(job: int) -> None:
    """Each container was granted once, started and ended at most once, and in this order; grants are counted."""
    story: dict[str, list[str]] = {}
    counted: Counter[str] = Counter()
    for event in events(job):
        story.setdefault(event["container"], []).append(event["kind"])
        if event["kind"] == "granted":
            counted[event["ask"]] += 1
            assert event["granted"] == counted[event["ask"]]
    orders = (["granted"], ["granted", "started"], ["granted", "ended"], ["granted", "started", "ended"])
    assert all(kinds in orders for kinds in story.values()), story
    for asked in queries.asks(TaskGroup.objects.filter(job_id=job).first().job):  # type: ignore[union-attr]
        assert asked["granted"] == counted[asked["id"]]


def test_grants_of_other_sub_clusters_are_used_as_those_at_home(federation: Federation, app: int) -> None:
    f = federation
    ask(app, "slot", 40, resources=LARGE)
    f.rounds(5)
    west, east, south = by_place(f, live(app))
    assert (len(west), len(east) + len(south)) == (15, 25) and east and south
    granted = events(app, "granted")
    assert sorted(e["index"] for e in granted) == list(range(40)) and all(e["launch"] for e in granted)
    assert {e["node"][:4] for e in granted if e["container"] in east} == {"east"}
    launch(app, west[0], east[0], east[1], south[0])
    actions.allocate(app, [], [east[2], south[1]])
    f.rounds(3)
    assert {e["container"] for e in events(app, "started")} == {west[0], east[0], east[1], south[0]}
    assert ended(east[2]) == ended(south[1]) == ("KILLED", "STOPPED")
    f.clusters[1].nodes.finish(ContainerState.FAILED, {parse_container(east[0])})
    f.rounds(3)
    over = {e["container"]: (e["state"], e["reason"]) for e in events(app, "ended")}
    assert over[east[0]][0] == "FAILED" and over[east[2]] == ("KILLED", "STOPPED") and len(over) == 3
    f.rounds(2, ahead_s=31.0)
    f.rounds(3)
    assert set(live(app)) == {west[0], east[1], south[0]}, "what nobody launched is taken back everywhere"
    assert Counter(e["reason"] for e in events(app, "ended"))["UNUSED"] == 34
    told_once(app)
    assert not Intent.objects.exists() and f.waiting() == 0


def test_warnings_of_other_sub_clusters_reach_the_master(federation: Federation, cluster: Cluster) -> None:
    f, grace_s = federation, 5.0
    quick = {"interval_s": 0.3, "grace_s": grace_s, "per_round": 1.0, "dead_zone": 0.0}
    halves = {name: {"guaranteed": 0.5} | OPEN for name in ("a", "b")}
    proxy = {"policy": "locality", "parameters": FAST}
    cluster.policy(halves, amrmproxy=proxy, preemption={"policy": "owed", "parameters": quick})
    job = submit(cluster, queue="root.a")
    f.rounds(4)
    ask(job, "work", ROOM, command=["work"], resources=LARGE)
    f.rounds(5)
    _, east, _ = by_place(f, live(job))
    assert len(east) == 16
    wanted = {"count": 4, "resources": LARGE, "command": ["true"]}

    passing = f.clusters[1].submit(wanted, queue="root.b")
    until(f, lambda: len(events(job, "warned")) == 4)
    warned = {e["container"] for e in events(job, "warned")}
    assert warned < set(east) and {e["stops_in_s"] for e in events(job, "warned")} == {grace_s}
    cluster.kill(passing)
    until(f, lambda: len(events(job, "spared")) == 4)
    assert {e["container"] for e in events(job, "spared")} == warned and set(east) <= set(live(job))

    f.clusters[1].submit(wanted, queue="root.b")
    until(f, lambda: len(events(job, "ended")) == 4)
    assert {e["container"] for e in events(job, "ended")} == {e["container"] for e in events(job, "warned")[4:]}
    assert {e["reason"] for e in events(job, "ended")} == {"PREEMPTED"}
    assert len(events(job, "warned")) == 8 and len(events(job, "spared")) == 4


def test_a_lower_target_takes_back_what_waits_elsewhere(federation: Federation, app: int) -> None:
    f = federation
    ask(app, "work", 80, command=["work"], resources=LARGE)
    f.rounds(5)
    assert sum(f.live()) == ROOM + 1
    ask(app, "work", ROOM + 5, command=["work"], resources=LARGE)
    f.rounds(4)
    home = f.leaders[0]
    assert home is not None
    run = home.memory.jobs[app].groups[1].run
    assert (run.target, run.claimed + run.wanted) == (ROOM + 5, ROOM + 5)
    ask(app, "work", 1, command=["work"], resources=LARGE)
    f.rounds(4)
    assert (f.waiting(), run.wanted, run.claimed) == (0, 0, ROOM)
    assert memory_state(home.rebuilt())["jobs"] == memory_state(home.memory)["jobs"]
    for cluster in f.clusters:
        cluster.nodes.finish(ids={parse_container(c) for c in live(app)})
    f.rounds(3)
    assert not live(app)
    ask(app, "work", ROOM + 9, command=["work"], resources=LARGE)
    f.rounds(4)
    assert len(live(app)) == 9 and len(events(app, "granted")) == ROOM + 9
    told_once(app)


def test_what_is_handed_over_is_asked_back_in_part(federation: Federation, app: int) -> None:
    """While the other side is silent the home wishes; what it starts meanwhile it keeps."""
    f, east = federation, federation.clusters[1]
    ask(app, "fill", 15, command=["work"], resources=LARGE)
    f.rounds(2)
    ask(app, "work", 20, command=["work"], resources=LARGE)
    home = f.leaders[0]
    assert home is not None
    for _ in range(3):
        f.one_round(0)
    group = home.memory.jobs[app].groups[2]
    handed = sum(h.waiting for h in group.remote.values())
    assert handed == 20 and not group.run.wanted
    ask(app, "work", 12, command=["work"], resources=LARGE)
    f.one_round(0)
    assert sum(h.waiting for h in group.remote.values()) == 12
    ask(app, "work", 10, command=["work"], resources=LARGE)
    f.one_round(0)
    f.rounds(4)
    assert Counter(e["ask"] for e in events(app, "granted"))["work"] == 10
    assert (group.run.claimed, group.run.wanted) == (10, 0) and f.waiting() == 0
    ask(app, "work", 14, command=["work"], resources=LARGE)
    f.rounds(4)
    assert Counter(e["ask"] for e in events(app, "granted"))["work"] == 14
    assert memory_state(home.rebuilt())["jobs"] == memory_state(home.memory)["jobs"]
    told_once(app)
    assert east.job(app).state == JobState.RUNNING


@pytest.mark.parametrize("at", [0, 1])
def test_a_new_leader_on_either_side_knows_all_of_it(federation: Federation, app: int, at: int) -> None:
    f = federation
    ask(app, "fill", 15, command=["work"], resources=LARGE)
    f.rounds(2)
    ask(app, "slot", 20, resources=LARGE)
    f.rounds(4)
    _, east, south = by_place(f, [e["container"] for e in events(app, "granted") if e["ask"] == "slot"])
    launch(app, east[0], south[0])
    leader = f.leaders[at]
    assert leader is not None
    if at:
        f.one_round(at)
        assert memory_state(leader.rebuilt()) == memory_state(leader.memory)
        again = leader.rebuilt().masters
        assert (
            again.open_grants.keys()
            == leader.memory.masters.open_grants.keys()
            == {parse_container(c) for c in east[1:]}
        )
        assert again.launches == leader.memory.masters.launches
    f.stop(at)
    f.lead(at)
    actions.allocate(app, [], [east[1]])
    f.rounds(4)
    assert {e["container"] for e in events(app, "started") if e["ask"] == "slot"} == {east[0], south[0]}
    assert ended(east[1]) == ("KILLED", "STOPPED")
    ask(app, "late", 3, command=["work"], resources=LARGE)
    f.rounds(4)
    assert Counter(e["ask"] for e in events(app, "granted"))["late"] == 3, "a group it had not heard of before"
    told_once(app)


def test_the_end_of_the_job_ends_all_of_it(federation: Federation, app: int) -> None:
    f = federation
    ask(app, "work", 80, command=["work"], resources=LARGE)
    ask(app, "slot", 5, resources=LARGE)
    f.rounds(4)
    actions.finish(app, JobState.SUCCEEDED, "enough")
    f.rounds(4)
    assert f.live() == [1, 0, 0] and f.west.job(app).state == JobState.RUNNING
    f.west.nodes.finish()
    f.rounds(3)
    assert (f.west.job(app).state, f.west.job(app).message) == (JobState.SUCCEEDED, "enough")
    assert not f.west.rows("SELECT 1 FROM statestore_ask") and not f.west.rows("SELECT 1 FROM statestore_report")


@REAL_TIME
def test_the_home_is_lost_and_what_runs_elsewhere_is_kept_and_obeys(federation: Federation, app: int) -> None:
    f = federation
    ask(app, "slot", 40, resources=LARGE)
    until(f, lambda: len(live(app)) == 40)
    west, east, south = by_place(f, live(app))
    launch(app, east[0], south[0])
    f.rounds(2)
    fall_silent(f, 0)
    reap(f)
    launch(app, east[1], south[1])
    actions.allocate(app, [], [east[2], south[2]])
    until(f, lambda: len(events(app, "started")) == 4)
    assert f.west.job(app).home_id != f.west.sub.pk
    (master,) = Container.objects.filter(job_id=app, group_no=0)
    assert master.attempt == 2
    gone = {e["container"]: e for e in events(app, "ended")}
    assert gone.keys() == {*west, east[2], south[2]}
    assert {gone[c]["reason"] for c in west} == {"NODE_LOST"} and "is lost" in gone[west[0]]["message"]
    assert {e["container"] for e in events(app, "started")} == {*east[:2], *south[:2]}
    assert {c["container"] for c in queries.containers(app)} == set(live(app)) == {*east, *south} - gone.keys()
    ask(app, "slot", 42, resources=LARGE)
    until(f, lambda: len(events(app, "granted")) == 42)
    told_once(app)
    actions.finish(app, JobState.SUCCEEDED, "")
    rounds(f, 4)
    for cluster in f.clusters[1:]:
        cluster.nodes.finish()
    rounds(f, 4)
    assert f.west.job(app).state == JobState.SUCCEEDED


@REAL_TIME
def test_another_sub_cluster_is_lost_and_its_grants_end(federation: Federation, app: int) -> None:
    f = federation
    ask(app, "slot", 47, resources=LARGE)
    until(f, lambda: len(live(app)) == 47)
    _, east, _ = by_place(f, live(app))
    assert len(east) == 16
    launch(app, *east[:3])
    f.rounds(2)
    fall_silent(f, 1)
    reap(f)
    rounds(f, 3)
    gone = {e["container"]: e for e in events(app, "ended")}
    assert gone.keys() == set(east) and {e["reason"] for e in gone.values()} == {"NODE_LOST"}
    assert all(e["message"].startswith("its sub-cluster is lost") for e in gone.values())
    assert f.west.job(app).home_id == f.west.sub.pk and len(live(app)) == 31
    told_once(app)


def test_a_sub_cluster_that_is_emptied_lets_its_masters_go_elsewhere(federation: Federation, app: int) -> None:
    f = federation
    subclusters.drain(SYSTEM, f.west.sub, 5, "the hall is sold")
    f.rounds(4, ahead_s=2.0)
    f.rounds(4)
    (master,) = Container.objects.filter(job_id=app, group_no=0)
    assert (master.attempt, master.sub_cluster_id != f.west.sub.pk) == (2, True)
    ask(app, "work", 3, command=["work"], resources=LARGE)
    f.rounds(4)
    assert len(live(app)) == 3 and f.live()[0] == 0
    actions.finish(app, JobState.SUCCEEDED, "moved")
    f.rounds(3)
    assert not live(app) and Container.objects.filter(job_id=app).exists(), "its master may still write its results"
    for cluster in f.clusters:
        cluster.nodes.finish()
    f.rounds(3)
    assert (f.west.job(app).state, f.west.job(app).message) == (JobState.SUCCEEDED, "moved")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_whatever_happens_each_thing_is_told_once(federation: Federation, app: int, seed: int) -> None:
    f, rng, target = federation, np.random.default_rng(seed), {"slot": 0, "work": 0}
    for _ in range(40):
        _act(f, app, rng, target)
        at = int(rng.integers(0, 3))
        for _ in range(int(rng.integers(1, 3))):
            f.one_round(at)
    for cluster in f.clusters:
        cluster.nodes.finish(ids={parse_container(c) for c in live(app)})
    f.rounds(8, ahead_s=5.0)
    f.rounds(8)
    told_once(app)
    counted = Counter(e["ask"] for e in events(app, "granted"))
    home = f.leaders[0]
    assert home is not None
    for group in home.memory.jobs[app].groups[1:]:
        begun = counted[group.run.name]
        assert begun >= min(target[group.run.name], group.run.claimed) and group.run.claimed == begun
    live_now = {e["container"] for e in events(app, "granted")} - {e["container"] for e in events(app, "ended")}
    assert live_now == set(live(app))
    assert MasterEvent.objects.filter(job_id=app).count() == home.memory.jobs[app].application.last_event  # type: ignore[union-attr]


def _act(f: Federation, app: int, rng: np.random.Generator, target: dict[str, Any]) -> None:
    """Something that a master, its containers or a leader may do at any moment."""
    held = [e["container"] for e in events(app, "granted") if e["launch"]]
    known = {c["container"]: c for c in queries.containers(app)}
    free = [c for c in held if c in known and not known[c]["launched"]]
    match int(rng.integers(0, 8)):
        case 0 | 1 | 2:
            name = ["slot", "work"][int(rng.integers(0, 2))]
            target[name] = max(0, target[name] + int(rng.integers(-15, 25)))
            ask(app, name, target[name], resources=LARGE, **({"command": ["work"]} if name == "work" else {}))
        case 3 | 4 if free:
            launch(app, *rng.choice(free, min(3, len(free)), replace=False).tolist())
        case 5 if known:
            actions.allocate(app, [], rng.choice(sorted(known), min(3, len(known)), replace=False).tolist())
        case 6:
            some = {parse_container(c) for c in known if rng.random() < 0.3}
            f.clusters[int(rng.integers(0, 3))].nodes.finish(ids=some)
        case 7:
            at = int(rng.integers(0, 3))
            f.stop(at)
            f.lead(at)


def test_a_released_container_elsewhere_stops(federation: Federation, app: int) -> None:
    f = federation
    ask(app, "work", 30, command=["work"], resources=LARGE)
    f.rounds(4)
    _, east, south = by_place(f, live(app))
    there = (east or south)[0]
    actions.allocate(app, [], [there, "c-1-1-4000000000"])
    assert set(Intent.objects.values_list("sub_cluster_id", "kind")) == {
        (sub_cluster(parse_container(there)), "containers")
    }
    holder = f.leaders[1 if east else 2]
    assert holder is not None
    f.one_round(1 if east else 2)
    slot = int(holder.memory.containers.slots_of(np.array([parse_container(there)]))[0])
    assert slot < 0 or holder.memory.containers.want[slot] == Want.STOP
    f.rounds(3)
    assert [e["container"] for e in events(app, "ended")] == [there]
