"""What every Store promises its leader, over Postgres and in memory alike."""

from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from controlplane.rm.changes import ENDED, NEW, TRANSITION, Changes
from controlplane.rm.claims import ClaimRequest, Counts
from controlplane.rm.driver.load import own_load
from controlplane.rm.ports import Fenced, Store, StoreDown
from controlplane.rm.rows import AskRow, CapacityRow, IntentRow, MasterSessionRow, TaskRow
from controlplane.rm.steps import guests
from controlplane.rm.steps.reports import EVENT
from controlplane.statestore.acknowledgements import NodesRun
from scheduler.lifecycle.guest import UNLOWERED, HandedTasks
from tests.integration.rm.ports import Behind, InMemory, Real
from tests.stepped import LOG_BYTES, SteppedLeader
from wire.ids import container_id
from wire.resources import NOTHING
from wire.states import ContainerState, GroupState, JobState, NodeState, TaskState

FOUR = {"count": 4, "retries": 3}


@pytest.fixture(params=[pytest.param("postgres", marks=pytest.mark.django_db(transaction=True)), "memory"])
def behind(request: pytest.FixtureRequest) -> Behind:
    return Real(request.getfixturevalue("cluster")) if request.param == "postgres" else InMemory()


def leading(cluster: Any, rounds: int = 2) -> SteppedLeader:
    leader: SteppedLeader = cluster.lead()
    for _ in range(rounds):
        cluster.nodes.step()
        leader.round()
    return leader


def begun(leader: SteppedLeader, cluster: Any, job: int, number: int) -> np.ndarray:
    """A container of the job's first group that begins now, as a row."""
    row = np.zeros(1, NEW)
    row["id"], row["sub_cluster"], row["epoch"] = container_id(1, leader.epoch, number), number, leader.epoch
    row["node"], row["job"], row["task"], row["attempt"] = cluster.ids[0], job, number, 1
    row["memory_mib"], row["vcores_milli"], row["allocated_us"] = 512, 500, leader.clock.now_us()
    return row


def ids(rows: list[IntentRow]) -> list[int]:
    return [row.id for row in rows]


def changed(at: SteppedLeader, **fields: Any) -> Changes:
    return Changes(at_us=at.clock.now_us(), number=1, **fields)


# Epochs


def test_a_leader_that_was_replaced_writes_nothing(behind: Behind) -> None:
    west = behind.west
    job, leader = west.submit(FOUR), west.lead()
    unread, before = leader.store.intents(10), behind.log(west)
    behind.replace(west)
    step = np.zeros(1, TRANSITION)
    with pytest.raises(Fenced):
        leader.store.commit(
            changed(
                leader, new=[begun(leader, west, job, 1)], transitions=[step], intents=ids(unread),
                nodes={west.ids[0]: (int(NodeState.UP), 0)},
            )
        )  # fmt: skip
    west.expire()
    after = west.lead().store
    assert (after.containers(), after.intents(10), behind.log(west)) == ([], unread, before)
    assert {row.state for row in after.nodes()} == {NodeState.REGISTERED}


def test_nor_does_it_claim_or_renew(behind: Behind) -> None:
    west, east = behind.west.lead().store, behind.east.lead().store
    behind.replace(behind.west)
    with pytest.raises(Fenced):
        west.renew()
    with pytest.raises(Fenced):
        west.claim(1, {("root.default", 0): ClaimRequest(0, 3, 5)})
    east.commit(Changes(admissions=Counts({}, recounted=1)))
    assert east.claim(1, {("root.default", 0): ClaimRequest(0, 5, 5)}) == {("root.default", 0): (0, 5)}


def test_every_leader_has_a_higher_epoch_than_the_last(behind: Behind) -> None:
    epochs = []
    for _ in range(3):
        epochs.append(behind.west.lead().epoch)
        behind.west.expire()
    assert epochs == [1, 2, 3]
    assert behind.east.lead().epoch == 1


# The round's transaction


def test_what_was_committed_is_what_is_read(behind: Behind) -> None:
    west = behind.west
    leader = leading(west)
    job = west.submit(FOUR)
    leader.round()
    west.nodes.step()
    leader.round()
    first, second, *_ = [row.id for row in leader.store.containers()]
    west.nodes.finish(ids={first})
    west.nodes.finish(ContainerState.FAILED, ids={second})
    west.nodes.step()
    leader.clock.ahead_s += 0.01  # less than any back-off
    leader.round()
    store, jobs = leader.store, leader.memory.jobs
    live = store.containers()
    assert [row.id for row in live] == sorted(row.id for row in live)
    assert {(job, 0, 2), (job, 0, 3)} <= {
        (row.job_id, row.group_no, row.task) for row in live if row.state == ContainerState.RUNNING
    }
    assert all(row.started_at is None or row.allocated_at <= row.started_at for row in live)
    known = {row.task: row for row in store.tasks(jobs)}
    assert known[0] == TaskRow(job, 0, 0, TaskState.SUCCEEDED, attempts=1, failures=0)
    assert known[1]._replace(attempts=0) == TaskRow(job, 0, 1, TaskState.PENDING, attempts=0, failures=1)
    (end,) = store.last_ends(jobs)
    assert (end.job_id, end.group_no, end.task, end.state) == (job, 0, 1, ContainerState.FAILED)
    (group,) = store.groups(jobs)
    assert (group.job_id, group.no, group.state, group.has_reason) == (job, 0, GroupState.RUNNING, False)
    (row,) = store.live_jobs()
    assert (row.id, row.state, row.home_id) == (job, JobState.RUNNING, leader.rounds.sub)
    assert row.admitted_at <= row.started_at
    assert store.live_jobs({job, job + 1}) == [row._replace(spec={})], "of what is known no specification is read"


def test_what_is_asked_of_services_is_kept_with_the_round_and_told_to_whom_it_concerns(behind: Behind) -> None:
    west = behind.west
    leader = leading(west)
    job = west.submit(FOUR | {"retries": 0}, kind="service")
    leader.round()
    west.nodes.step()
    leader.round()
    store, entry, east = leader.store, leader.memory.jobs[job], behind.east.lead()
    rows = [row for row in store.serving([job, job + 1]) if row.job_id == job]
    assert sorted((row.task, row.attempt, row.healthy) for row in rows) == [(task, 1, None) for task in range(4)]
    assert store.serving([]) == [] and store.revisions(job) == [] and store.live_jobs()[0].services is None
    assert all(0 < row.started_us <= leader.clock.now_us() for row in rows)
    group = entry.groups[0]
    group.run.scale(6)
    group.asked_us = 7
    group.restarts.add([(0, 1), (1, 1)], one_by_one=True)
    group.restarts.by = "ann"
    handed = HandedTasks()
    handed.append(np.arange(1), np.ones(1, np.int16))
    asks = {(job, 0, east.rounds.sub): (handed, False)}
    store.commit(changed(leader, services={job: entry}, asks=asks))
    said = {"count": 6, "asked_us": 7, "now": [], "queue": [[0, 2, 1]], "unsure": [], "width": 1, "by": "ann"}
    assert store.live_jobs({job})[0].services == {"0": said}
    ask = east.store.asks_here()[0]
    assert (ask.service, ask.revision) == (said, 1)
    entry.revision, spec = 2, store.live_jobs()[0].spec
    kept = [{"revision": 2, "spec": spec | {"tags": ["new"]}, "size": 5}]
    store.commit(changed(leader, services={job: entry}, revisions={job: kept}))
    assert store.revisions(job) == kept and east.store.asks_here()[0].revision == 2
    assert store.live_jobs({job})[0].spec["tags"] == ["new"], "one that was updated is read anew"


def test_transitions_are_numbered_without_gaps_in_each_sub_cluster(behind: Behind) -> None:
    for cluster in (behind.west, behind.east):
        leader = leading(cluster)
        jobs = [cluster.submit(FOUR) for _ in range(2)]
        cluster.play(leader, *jobs)
        log = behind.log(cluster)
        assert [first for first, _, _ in log] == [1, *(last + 1 for _, last, _ in log[:-1])]
        assert all(len(steps) == last - first + 1 for first, last, steps in log)
        steps = np.concatenate([steps for _, _, steps in log])
        assert len(np.unique(steps["container"])) == 8 and (steps["new"] >= ContainerState.SUCCEEDED).sum() == 8


def test_a_container_that_ends_must_have_a_row_or_nothing_is_written(behind: Behind) -> None:
    west = behind.west
    job, leader = west.submit(FOUR), west.lead()
    store, unread = leader.store, leader.store.intents(10)
    gone = np.zeros(1, ENDED)
    row = begun(leader, west, job, 2)
    for name in NEW.names or ():
        gone[name] = row[name]
    gone["state"], gone["finished_us"] = ContainerState.FAILED, leader.clock.now_us()
    with pytest.raises(StoreDown):
        store.commit(changed(leader, new=[begun(leader, west, job, 1)], ended=[gone], intents=ids(unread)))
    west.expire()
    again = west.lead().store
    assert (again.containers(), again.intents(10)) == ([], unread)


def test_intents_are_read_in_their_order_by_whom_they_concern_until_they_are_done(behind: Behind) -> None:
    west, east = behind.west, behind.east
    mine = [west.submit({}) for _ in range(3)]
    other = east.submit({})
    store = west.lead().store
    submits = [row for row in store.intents(100) if row.kind == "submit"]
    assert [row.job_id for row in submits] == mine
    everything = store.intents(100)
    assert store.intents(2) == everything[:2]
    store.commit(Changes(intents=ids(everything[:2])))
    assert store.intents(100) == everything[2:]
    assert [row.job_id for row in east.lead().store.intents(100) if row.kind == "submit"] == [other]


def test_nodes_stay_as_they_were_written(behind: Behind) -> None:
    west = behind.west
    store = west.lead().store
    store.commit(Changes(nodes={west.ids[1]: (int(NodeState.LOST), 0)}))
    assert [(row.id, row.state) for row in store.nodes()] == [
        (west.ids[0], NodeState.REGISTERED), (west.ids[1], NodeState.LOST),
    ]  # fmt: skip
    elsewhere = behind.east.lead().store
    assert [row.name for row in elsewhere.elsewhere(singly=True)] == ["n0"]
    assert elsewhere.elsewhere(singly=False) == [CapacityRow(True, "", "", {}, 4096, 4000, 2, *NOTHING[3:])]
    assert {row.name for row in elsewhere.places_elsewhere()} == {"n0"}


def test_a_policy_is_read_whole_by_its_version(behind: Behind) -> None:
    west = behind.west
    before = west.lead().store.queues()[0]
    west.policy({"b": {"children": {"z": {}, "y": {}}}, "a": {}}, placement={"policy": "pack"})
    store = behind.east.lead().store
    version, queues = store.queues()
    assert version > before
    assert {row.path: row.leaf for row in queues} == {
        "root": False, "root.a": True, "root.b": False, "root.b.y": True, "root.b.z": True,
    }  # fmt: skip
    told = store.policy(version)
    assert told is not None and told.components is not None
    assert (told.target, told.partitions) == (version, {}) and told.pushed_us > 0
    assert told.components["placement"]["policy"] == "pack"
    assert store.policy(version + 1) is None


def test_a_sub_cluster_that_is_drained_is_a_window_over_all_its_nodes(behind: Behind) -> None:
    west, east = behind.west.lead().store, behind.east.lead().store
    behind.drain(behind.west)
    (window,) = west.windows()
    assert (window.node, window.rack, window.labels) == ("", "", "")
    assert window.starts_us - window.lead_s * 1_000_000 <= 0, "it has begun to close"
    assert east.windows() == []


def test_what_serves_elsewhere_counts_where_it_stays(behind: Behind) -> None:
    west, east = behind.west, behind.east
    job, leaders = west.submit({"count": 3}, kind="service"), (west.lead(), east.lead())
    for leader, cluster, running in zip(leaders, (west, east), (1, 2), strict=True):
        rows = np.concatenate([begun(leader, cluster, job, 10 * leader.rounds.sub + n) for n in range(running)])
        rows["state"], rows["sub_cluster"] = ContainerState.RUNNING, leader.rounds.sub
        leader.store.commit(changed(leader, new=[rows]))
    stores = [leader.store for leader in leaders]
    assert [store.serving_elsewhere([job]) for store in stores] == [{(job, 0): 2}, {(job, 0): 1}]
    assert [len(store.remote_containers([job])) for store in stores] == [2, 1]
    behind.drain(west)
    assert stores[1].serving_elsewhere([job]) == {(job, 0): 0}, "what leaves there does not count"
    behind.drain(east)
    assert [store.serving_elsewhere([job]) for store in stores] == [{(job, 0): 2}, {(job, 0): 0}], (
        "the first goes first"
    )


# Tasks handed over


def handed(behind: Behind, count: int = 3) -> tuple[Store, Store, int, int, int]:
    """West has handed so many tasks to east: their stores, the job, and the numbers of west and east."""
    west, east = behind.west.lead(), behind.east.lead()
    job = behind.west.submit(FOUR)
    hand(west.store, job, east.rounds.sub, count)
    return west.store, east.store, job, west.rounds.sub, east.rounds.sub


def hand(store: Store, job: int, sub: int, target: int, wish: int = UNLOWERED) -> None:
    tasks = np.arange(target, dtype=np.int32), np.ones(target, np.int16)
    store.commit(Changes(asks={(job, 0, sub): (HandedTasks(0, target, 0, wish, *tasks), False)}))


def answer(store: Store, row: AskRow, taken: int, lowered: int | None = None) -> None:
    job = row.job_id
    group = guests.restored([row], {job: store.jobs([job])[0]}, LOG_BYTES)[job].groups[0]
    group.run.handed.taken, group.ask_version = taken, row.version
    group.run.handed.target = row.target if lowered is None else lowered
    gave = [] if lowered is None else [(job, 0, lowered)]
    store.commit(Changes(guests={(job, 0): group}, taken={(job, 0)}, lowered=gave))


def test_an_ask_is_unread_until_it_was_answered_and_again_when_it_has_changed(behind: Behind) -> None:
    west, east, job, home, there = handed(behind)
    (ask,) = east.unread_asks(10)
    told = attrgetter("job_id", "group_no", "home_id", "target", "taken", "version", "acknowledged")
    assert told(ask) == (job, 0, home, 3, 0, 1, 0)
    answer(east, ask, taken=1)
    assert east.unread_asks(10) == []
    (seen,) = west.remote_asks([job])
    assert (seen.sub_cluster_id, seen.target, seen.taken) == (there, 3, 1)
    hand(west, job, there, 4)
    (ask,) = east.unread_asks(10)
    assert told(ask) == (job, 0, home, 4, 1, 2, 1)
    assert east.asks_here() == [ask] and west.asks_here() == []


def test_what_is_asked_back_stays_the_others_until_it_has_agreed(behind: Behind) -> None:
    west, east, job, _, there = handed(behind)
    hand(west, job, there, 3, wish=1)
    (ask,) = east.unread_asks(10)
    assert (ask.target, ask.wish) == (3, 1)
    answer(east, ask, taken=1, lowered=1)
    (seen,) = west.remote_asks([job])
    assert (seen.target, seen.taken, seen.wish) == (1, 1, UNLOWERED)
    (report,) = west.reports(10)
    assert (report.job_id, report.sub_cluster_id, report.group_no, report.target) == (job, there, 0, 1)


def test_nothing_is_started_of_an_ask_that_was_taken_back(behind: Behind) -> None:
    west, east, job, _, there = handed(behind)
    (ask,) = east.unread_asks(10)
    hand(west, job, there, 3, wish=0)
    assert west.withdraw([(job, 0, there)]) == [], "somebody leads there, and is asked"
    behind.east.expire()
    assert west.withdraw([(job, 0, there)]) == [(job, 0, there, 0)]
    with pytest.raises(StoreDown):
        answer(east, ask, taken=2)
    assert [row.taken for row in west.remote_asks([job])] == [0]


@pytest.mark.parametrize("read", [True, False])
def test_asks_go_with_their_jobs_end_and_who_has_not_read_all_is_told(behind: Behind, read: bool) -> None:
    leader, east = leading(behind.west), behind.east.lead()
    job, there = behind.west.submit(FOUR), east.rounds.sub
    leader.round()
    hand(leader.store, job, there, 3)
    if read:
        answer(east.store, *east.store.unread_asks(10), taken=0)
    entry = leader.memory.jobs[job]
    entry.finished_us, entry.groups[0].remote[there] = leader.clock.now_us(), HandedTasks()
    leader.store.commit(changed(leader, jobs={job: entry}))
    assert east.store.asks_here() == []
    told = [(row.job_id, row.payload) for row in east.store.intents(100) if row.kind == "kill"]
    assert told == ([] if read else [(job, {"ended": True})])


def test_a_job_that_moves_is_as_it_was_submitted(behind: Behind) -> None:
    leader, east = leading(behind.west), behind.east.lead()
    job = behind.west.submit(FOUR | {"resources": {"memory_mib": 9000, "vcores_milli": 1}})
    for _ in range(2):
        leader.round()
    store, home = leader.store, east.rounds.sub
    assert (store.jobs([job])[0].state, store.groups([job])[0].state) == (JobState.ADMITTED, GroupState.PENDING)
    store.commit(Changes(rehomed={job: home}))
    (row,), (group,) = east.store.jobs([job]), east.store.groups([job])
    assert (row.home_id, row.state, row.admitted_at, row.started_at) == (home, JobState.SUBMITTED, None, None)
    assert (group.state, group.has_reason) == (GroupState.WAITING, False)
    assert [row.job_id for row in east.store.intents(100) if row.kind == "submit"] == [job]
    assert store.live_jobs() == [] and east.store.live_jobs() == [], "its submit tells of it"
    with pytest.raises(StoreDown, match="1 jobs were to get another home, and 0 could"):
        store.commit(Changes(rehomed={job: home}))


def test_reports_reach_the_home_in_their_order_and_once(behind: Behind) -> None:
    west, east, job, _, _ = handed(behind)
    other = behind.west.submit(FOUR)
    event = np.zeros(1, EVENT)
    for number in (job, other):
        event["container"] = number
        told = {number: [(0, 1, "started", {"task": 0})]} if number == job else {}
        east.commit(Changes(reports={number: [event.copy()]}, home_events=told))
    first, second = west.reports(10)
    assert (first.job_id, second.job_id) == (job, other)
    assert [np.frombuffer(row.events, EVENT)["container"].item() for row in (first, second)] == [job, other]
    assert ([list(each) for each in first.master_events or ()], second.master_events) == (
        [[0, 1, "started", {"task": 0}]],
        None,
    )
    west.forward_reports([first.id])
    assert west.reports(1) == [first], "its home is here"
    west.commit(Changes(reports_read=[first.id]))
    assert west.reports(10) == [second] and east.reports(10) == []


# What sub-clusters share


def test_claims_never_admit_more_than_all_may_have(behind: Behind) -> None:
    west, east = behind.west.lead().store, behind.east.lead().store
    key = ("root.default", 0)
    for store in (west, east):
        store.commit(Changes(admissions=Counts({}, recounted=1)))
    assert west.claim(1, {key: ClaimRequest(0, 3, 5)}) == {key: (0, 3)}
    assert east.claim(1, {key: ClaimRequest(0, 4, 5)}) == {key: (3, 2)}
    assert west.claim(1, {key: ClaimRequest(3, 5, 5)}) == {key: (2, 3)}, "what it has it keeps"
    assert (west.admitted_elsewhere(1, [key]), east.admitted_elsewhere(1, [key])) == ({key: 2}, {key: 3})
    west.commit(Changes(admissions=Counts({key: 1})))
    assert east.claim(1, {key: ClaimRequest(2, 9, 5)}) == {key: (1, 4)}
    west.commit(Changes(admissions=Counts({key: 0})))
    assert east.admitted_elsewhere(1, [key]) == {key: 0}


def test_who_has_not_counted_is_granted_nothing_more(behind: Behind) -> None:
    """Jobs may have moved there that its leader does not know of yet."""
    west, key = behind.west.lead().store, ("root.default", 0)
    assert west.claim(1, {key: ClaimRequest(1, 3, 5)}) == {key: (0, 1)}
    west.commit(Changes(admissions=Counts({key: 1}, recounted=1)))
    assert west.claim(1, {key: ClaimRequest(1, 3, 5)}) == {key: (0, 3)}


def test_who_has_not_counted_under_the_policy_is_counted_by_its_jobs(behind: Behind) -> None:
    leader = leading(behind.west)
    behind.west.submit(FOUR)
    leader.round()
    east, version = behind.east.lead().store, leader.store.queues()[0] + 1
    wanted = [("root.default", 0), ("root", 0), ("root.def", 0), ("root.default", 10**9)]
    assert list(east.admitted_elsewhere(version, wanted).values()) == [1, 1, 0, 0]


def test_loads_are_told_to_all_and_never_by_an_earlier_leader(behind: Behind) -> None:
    first, east = leading(behind.west), behind.east.lead()
    behind.replace(behind.west)
    behind.west.expire()
    second = behind.west.lead()
    sub = second.rounds.sub
    before, after = own_load(first.memory, sub), own_load(second.memory, sub)
    first.store.put_load(before)
    second.store.put_load(after)
    with pytest.raises(Fenced):
        first.store.put_load(before)
    (told,) = east.store.loads()
    assert (told.sub_cluster, told.epoch, told.led, told.nodes_up) == (sub, second.epoch, True, after.nodes_up)
    assert (told.capacity == after.capacity).all() and (told.free == after.free).all()
    assert set(told.queues) == set(after.queues) and east.store.loads(queues=False)[0].queues == {}


def test_shares_are_read_whole_once_and_then_by_their_age(behind: Behind) -> None:
    store = behind.west.lead().store
    assert store.shares(0) is None
    table = ["root.default"], np.arange(9, dtype=np.int64)[None]
    behind.assign(behind.west, 7, {"": table})
    found = store.shares(0)
    assert found is not None and found.version == 7 and found.tables is not None
    paths, numbers = found.tables[""]
    assert paths == table[0] and (numbers == table[1]).all()
    known = store.shares(7)
    assert known is not None and (known.version, known.tables) == (7, None)


def test_what_a_leader_runs_is_not_overwritten_by_an_earlier_one(behind: Behind) -> None:
    first = behind.west.lead()
    behind.replace(behind.west)
    first.store.acknowledge(1, 0, NodesRun({1: 2}))
    behind.west.expire()
    second = behind.west.lead()
    second.store.acknowledge(2, 0, NodesRun({2: 2}))
    with pytest.raises((Fenced, StoreDown)):
        first.store.acknowledge(1, 0, NodesRun({1: 2}))


# Application masters


def test_what_masters_want_is_read_whole_or_as_far_as_it_is_named(behind: Behind) -> None:
    job, store = behind.west.submit({}), behind.west.lead().store
    behind.want(job, 1, 5)
    behind.want(job, 2, 7)
    found = store.masters([job])
    assert [(row.job_id, row.no, row.target, row.started) for row in found.asks] == [
        (job, 1, 5, 0), (job, 2, 7, 0),
    ]  # fmt: skip
    assert found.sessions == [MasterSessionRow(job, None, "", last_event=0)]
    store.commit(Changes(master_events=[(job, number, 1_000_000, "granted", {}) for number in (1, 2)]))
    assert store.masters([job]).sessions[0].last_event == 2
    assert [row.no for row in store.some_masters({job: 2}, [], [], []).asks] == [2]
    assert [row.no for row in store.some_masters({job: 3}, [(job, 1)], [], []).asks] == [1]
    assert store.some_masters({job: 3}, [], [], [job]).sessions[0].last_event == 2
