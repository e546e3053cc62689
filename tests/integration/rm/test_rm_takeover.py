"""Two leaders, lost answers, lost nodes: one of them counts, and nothing counts twice."""

import psycopg
import pytest

from controlplane.rm.adapters.bus import RedisBus
from controlplane.rm.ports import BusDown, Fenced, StoreDown
from controlplane.statestore.membership import conninfo, take
from controlplane.statestore.models import Container, JobEvent, Lease, Node, TaskGroup
from tests import invariants
from tests.integration.rm.cluster import LEASE_S, Cluster, Leading
from tests.patience import wait_until
from tests.stepped import memory_state
from wire import keys
from wire.states import ContainerState, JobState, NodeState

DIGEST = """
SELECT md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), '')) FROM (
    SELECT 'c', to_jsonb(x) FROM statestore_container x UNION ALL
    SELECT 'h', to_jsonb(x) FROM statestore_container_history x UNION ALL
    SELECT 't', to_jsonb(x) FROM statestore_task x UNION ALL
    SELECT 'r', to_jsonb(x) FROM statestore_round x UNION ALL
    SELECT 'j', to_jsonb(x) FROM statestore_job x UNION ALL
    SELECT 'g', to_jsonb(x) FROM statestore_taskgroup x UNION ALL
    SELECT 'n', to_jsonb(x) FROM statestore_node x UNION ALL
    SELECT 'i', to_jsonb(x) FROM statestore_intent x UNION ALL
    SELECT 'l', to_jsonb(x) FROM statestore_lease x) t
"""


def running(cluster: Cluster, *jobs: dict, **more) -> tuple[Leading, int]:
    """A leader with one job whose containers run on both nodes."""
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit(*(jobs or ({"count": 6},)), **more)
    leader.round()
    cluster.nodes.step()
    leader.round()
    return leader, job


def hide(leader: Leading) -> None:
    """Keep a successor from ending this leader's session, so that only the fence stands between them."""
    leader.leadership.connection.execute("SET application_name = 'hidden'")


def test_one_leads_and_the_epoch_rises_only_with_a_new_holder(cluster: Cluster) -> None:
    first = take(cluster.sub.pk, "a", LEASE_S)
    assert first is not None
    assert first.epoch == 1
    assert take(cluster.sub.pk, "b", LEASE_S) is None
    assert Lease.objects.get().epoch == 1
    first.release()
    first.release()  # twice is once
    second = take(cluster.sub.pk, "b", LEASE_S)
    assert second is not None
    assert (second.epoch, Lease.objects.get().holder) == (2, "b")
    cluster.expire()
    third = take(cluster.sub.pk, "c", LEASE_S)
    assert third is not None
    assert third.epoch == 3
    with pytest.raises(psycopg.OperationalError):  # its session was ended
        second.connection.execute("SELECT 1")
    second.release()
    assert take(cluster.sub.pk, "d", LEASE_S) is None, "releasing a lost post frees nothing"
    third.release()


def test_after_a_take_over_the_old_leader_changes_nothing(cluster: Cluster) -> None:
    old, job = running(cluster)
    hide(old)
    cluster.expire()
    new = cluster.lead()
    assert memory_state(new.memory) == memory_state(old.memory)
    new.round()
    before = cluster.one(DIGEST)
    cluster.nodes.finish()
    cluster.nodes.step()
    for _ in range(2):
        with pytest.raises(Fenced):
            old.round()
        old.leadership.connection.rollback()
    with pytest.raises(Fenced):
        old.store.renew()
    old.leadership.release()
    assert cluster.one(DIGEST) == before, "not one row"
    cluster.play(new, job)
    assert cluster.rows("SELECT state, count(*) FROM statestore_container_history GROUP BY 1") == [(10, 6)]
    assert cluster.rows("SELECT DISTINCT epoch FROM statestore_round ORDER BY 1") == [(1,), (2,)]


def test_rows_copied_before_the_take_over_do_not_survive_the_fence(cluster: Cluster) -> None:
    """The old leader was stopped between its rows and its fence."""
    old, job = running(cluster)
    hide(old)
    cluster.submit({"count": 2})
    before = cluster.one("SELECT count(*) FROM statestore_container")
    successor: list[Leading] = []

    class Slow:
        """The session, with a stop just before the last message."""

        def __init__(self, real: psycopg.Connection) -> None:
            self.real = real

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

        def execute(self, sql, *values):
            if b"statestore_fence" in (sql if isinstance(sql, bytes) else b""):
                cluster.expire()
                successor.append(cluster.lead())
            return self.real.execute(sql, *values)

    old.store.connection = Slow(old.store.connection)
    with pytest.raises(Fenced):
        old.round()
    old.leadership.connection.rollback()
    assert cluster.one("SELECT count(*) FROM statestore_container") == before
    successor[0].round()
    assert cluster.one("SELECT count(*) FROM statestore_container") == before + 2, "placed once, by the successor"
    assert cluster.one("SELECT max(epoch) FROM statestore_container") == 2
    cluster.play(successor[0], job)


def test_a_successor_ends_the_session_of_a_stopped_leader(cluster: Cluster) -> None:
    old, job = running(cluster)
    old.leadership.connection.execute("BEGIN")
    old.leadership.connection.execute("SELECT * FROM statestore_lease FOR UPDATE")  # it would block everybody
    # The row's own time has to run out while it is locked.
    with psycopg.connect(conninfo("test"), autocommit=True) as other:
        other.execute("SET lock_timeout = '50ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            other.execute("UPDATE statestore_lease SET expires_at = NULL")
    old.leadership.connection.rollback()
    cluster.expire()
    old.leadership.connection.execute("BEGIN")
    old.leadership.connection.execute("SELECT * FROM statestore_lease FOR UPDATE")
    new = cluster.lead()
    assert new.epoch == 2
    with pytest.raises(StoreDown):
        old.round()
    cluster.play(new, job)


def test_a_leader_stopped_inside_a_transaction_comes_back_to_a_closed_session(cluster: Cluster) -> None:
    old, job = running(cluster)
    old.leadership.connection.execute("SET idle_in_transaction_session_timeout = '20ms'")
    pid = old.leadership.connection.info.backend_pid
    old.leadership.connection.execute("BEGIN")
    wait_until(lambda: not cluster.rows(f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid}"), 10, "session ended")
    with pytest.raises(StoreDown):
        old.store.renew()
    cluster.expire()
    cluster.play(cluster.lead(), job)


def test_nodes_and_redis_refuse_a_lower_epoch(cluster: Cluster) -> None:
    old, job = running(cluster)
    cluster.expire()
    new = cluster.lead()
    new.round()
    cluster.nodes.step()
    with pytest.raises(Fenced):
        old.bus.publish({cluster.ids[0]: b"old"}, {})
    raw = new.bus._redis.get(keys.desired(cluster.sub.pk, cluster.ids[0]))
    assert raw != b"old"
    assert set(cluster.nodes.head["epoch"].tolist()) == {2}
    cluster.play(new, job)


@pytest.mark.parametrize("written", [False, True])
def test_a_commit_of_which_nobody_knows_the_outcome(cluster: Cluster, written: bool) -> None:
    """The session breaks in the middle of COMMIT: before it reached Postgres, or before the answer came."""
    old, job = running(cluster)
    cluster.submit({"count": 2})
    cluster.nodes.finish()
    cluster.nodes.step()

    class Breaking:
        def __init__(self, real: psycopg.Connection) -> None:
            self.real = real

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

        def execute(self, sql, *values):
            last = isinstance(sql, bytes) and b"COMMIT" in sql
            if last and written:
                self.real.execute(sql, *values)
            if last:
                self.real.close()
            return self.real.execute(sql, *values)

    old.store.connection = Breaking(old.store.connection)
    redis, told = old.bus._redis, [keys.desired(cluster.sub.pk, node) for node in cluster.ids]
    before = redis.mget(told)
    with pytest.raises(StoreDown):
        old.round()
    assert redis.mget(told) == before, "nodes are told of nothing that may not be committed"
    assert cluster.one("SELECT count(*) FROM statestore_container_history") == (6 if written else 0)
    cluster.expire()
    new = cluster.lead()
    new.round()
    cluster.nodes.step()
    assert cluster.one("SELECT count(*) FROM statestore_container_history") == 6
    cluster.play(new, job)
    cluster.play(new, job + 1)
    assert cluster.one("SELECT count(*) FROM statestore_container_history") == 8


def test_take_overs_at_every_step_leave_the_result_of_a_clean_run(cluster: Cluster) -> None:
    job = cluster.submit({"count": 5, "retries": 1}, {"name": "sum", "after": ["g0"]})
    victim: set[int] = set()
    for _ in range(30):
        leader = cluster.lead()
        assert leader.epoch == len(cluster.leaders)
        leader.round()
        leader.close()
        cluster.nodes.step()
        leader = cluster.lead()
        leader.round()
        leader.close()
        if not victim and cluster.nodes.all_held():
            victim = {min(cluster.nodes.all_held())}
            cluster.nodes.finish(ContainerState.FAILED, victim)
        cluster.nodes.finish()
        cluster.nodes.step()
        if cluster.job(job).state >= 10:
            break
    assert cluster.job(job).state == JobState.SUCCEEDED
    assert cluster.rows("SELECT state, count(*) FROM statestore_container_history GROUP BY 1 ORDER BY 1") == [
        (10, 6),
        (11, 1),
    ]
    assert TaskGroup.objects.get(job_id=job, no=0).retried == 1
    epochs = cluster.rows("SELECT epoch FROM statestore_round ORDER BY first_seq")
    assert epochs == sorted(epochs)


def test_what_a_leader_did_not_write_of_a_group_its_successor_writes(cluster: Cluster) -> None:
    """Counters of a running group are written once a second: here the last containers start within it."""
    half = {"resources": {"memory_mib": 2048, "vcores_milli": 1000}}
    leader, job = running(cluster, half | {"count": 6}, kind="service")
    for _ in range(3):
        leader.clock.ahead_s += 2.0
        leader.round()
    before = TaskGroup.objects.get(job_id=job)
    assert (before.running, before.reason["code"]) == (4, "no_room")
    (group,) = leader.memory.jobs[job].groups
    group.written_at = leader.clock.monotonic()
    cluster.ids.append(cluster.add_node("n2"))
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert (len(group.slots), TaskGroup.objects.get(job_id=job).running) == (6, 4)
    leader.close()
    successor = cluster.lead()
    successor.round()  # which places; what was left is looked for when it is over
    successor.round()
    after = TaskGroup.objects.get(job_id=job)
    assert (after.running, after.reason) == (6, None)
    cluster.kill(job)
    cluster.play(successor, job)


def test_times_do_not_go_back_with_a_new_leader(cluster: Cluster) -> None:
    big = {"resources": {"memory_mib": 4096, "vcores_milli": 1}, "retries": 3}
    old, job = running(cluster, {"count": 1}, big | {"count": 5, "name": "big"})
    cluster.nodes.finish(ids={min(cluster.nodes.all_held())})
    cluster.nodes.step()
    old.round()
    old.clock.ahead_s += 2
    started = list(TaskGroup.objects.order_by("no").values_list("started_at", "finished_at"))
    assert None not in (*started[0], started[1][0])
    old.close()
    new = cluster.lead()
    new.clock.ahead_s += 100
    cluster.nodes.step()
    new.round()
    cluster.nodes.step()
    cluster.nodes.finish(ContainerState.FAILED)
    cluster.nodes.step()
    new.clock.ahead_s += 2  # counters of a running group are written once a second
    new.round()
    assert list(TaskGroup.objects.order_by("no").values_list("started_at", "finished_at")) == started
    cluster.play(new, job)
    assert list(TaskGroup.objects.order_by("no").values_list("started_at", flat=True)) == [s for s, _ in started]


def test_a_job_being_killed_over_a_take_over_starts_nothing_and_ends(cluster: Cluster) -> None:
    old, job = running(cluster, {"count": 30, "resources": {"memory_mib": 1024, "vcores_milli": 1}})
    cluster.kill(job)
    old.round()
    old.close()
    new = cluster.lead()
    assert new.round().placed == 0
    cluster.nodes.step()
    assert new.round().placed == 0
    assert cluster.job(job).state == JobState.KILLED
    assert cluster.one("SELECT count(*) FROM statestore_container_history") == 8


def test_a_lost_nodes_containers_are_lost_once_and_run_elsewhere(cluster: Cluster) -> None:
    leader, job = running(cluster)
    lost, other = cluster.ids
    cut = set(cluster.nodes.holds(lost))
    assert len(cut) == 3
    report = leader.round(lost)
    assert (report.ended, report.placed) == (3, 3), "placed again in the same round"
    assert Node.objects.get(pk=lost).state == NodeState.LOST
    for _ in range(2):
        cluster.nodes.step(lost)
        assert leader.round(lost).ended == 0
    assert cluster.rows("SELECT id, state, reason FROM statestore_container_history ORDER BY 1") == [
        (c, ContainerState.LOST, 10) for c in sorted(cut)
    ]
    assert cluster.rows("SELECT DISTINCT node_id FROM statestore_container") == [(other,)]
    assert cluster.rows("SELECT DISTINCT attempts, failures FROM statestore_task") == [(1, 0)]
    assert JobEvent.objects.filter(kind="retry").count() == 3
    # It comes back with its containers alive, and even says that they have succeeded.
    cluster.nodes.finish(ids=cut)
    cluster.nodes._report(set(), {lost})
    assert leader.round().ended == 0
    cluster.nodes._report(set(), {lost})
    leader.round()
    assert Node.objects.get(pk=lost).state == NodeState.UP
    cluster.nodes.step()
    assert not cut & set(cluster.nodes.all_held()), "told to forget them"
    cluster.play(leader, job)
    assert cluster.rows("SELECT state, count(*) FROM statestore_container_history GROUP BY 1 ORDER BY 1") == [
        (10, 6),
        (13, 3),
    ]


def test_a_node_that_reports_in_the_round_that_judges_it_is_not_lost(cluster: Cluster) -> None:
    leader, job = running(cluster)
    cluster.nodes.step()
    assert leader.round(*cluster.ids).ended == 0
    assert set(Node.objects.values_list("state", flat=True)) == {NodeState.UP}
    cluster.play(leader, job)


def test_an_old_status_does_not_bring_a_lost_node_back(cluster: Cluster) -> None:
    """Redis keeps the last word of a dead node; a new leader reads it for the first time."""
    old, job = running(cluster)
    lost = cluster.ids[0]
    old.round(lost)
    old.close()
    new = cluster.lead()
    for _ in range(3):
        new.round()
        cluster.nodes.step(lost)
    assert Node.objects.get(pk=lost).state == NodeState.LOST
    assert cluster.one(f"SELECT count(*) FROM statestore_container WHERE node_id = {lost}") == 0
    cluster.nodes.step()
    new.round()
    assert Node.objects.get(pk=lost).state == NodeState.UP
    cluster.play(new, job)


def test_a_container_its_node_no_longer_knows_has_vanished(cluster: Cluster) -> None:
    leader, job = running(cluster)
    node = cluster.ids[0]
    gone = min(cluster.nodes.holds(node))
    cluster.nodes.lose(node, gone)
    cluster.nodes._report(set(), {node})
    report = leader.round()
    assert (report.ended, report.placed) == (1, 1)
    assert cluster.rows("SELECT id, state, reason FROM statestore_container_history") == [(gone, 13, 11)]
    cluster.play(leader, job)


def test_a_container_the_node_has_not_been_told_of_has_not_vanished(cluster: Cluster) -> None:
    leader, job = running(cluster)
    cluster.submit({"count": 4})
    assert leader.round().placed == 4
    for _ in range(3):  # reports that still speak of the older document
        cluster.nodes._report(set(), set(cluster.ids))
        assert leader.round().ended == 0
    cluster.play(leader, job, job + 1)
    assert cluster.rows("SELECT DISTINCT state FROM statestore_container_history") == [(10,)]


def test_a_decommissioned_node_loses_everything_and_may_join_again(cluster: Cluster) -> None:
    leader, job = running(cluster)
    gone = cluster.ids[0]
    cluster.decommission(gone)
    assert leader.round().ended == 3
    assert Node.objects.get(pk=gone).state == NodeState.DECOMMISSIONED
    cluster.nodes._report(set(), {gone})
    leader.round()
    assert Node.objects.get(pk=gone).state == NodeState.DECOMMISSIONED, "whatever it says"
    assert cluster.one(f"SELECT count(*) FROM statestore_container WHERE node_id = {gone}") == 0
    assert cluster.add_node("n0") == gone
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert Node.objects.get(pk=gone).state == NodeState.UP
    assert memory_state(leader.rebuilt()) == memory_state(leader.memory)
    cluster.play(leader, job)


def test_what_redis_has_lost_is_put_again(cluster: Cluster) -> None:
    leader, job = running(cluster)
    before, restored = cluster.nodes.all_held(), leader.restored
    redis = leader.bus._redis
    redis.delete(keys.leader_epoch(cluster.sub.pk), *(keys.desired(cluster.sub.pk, n) for n in cluster.ids))
    for name in redis.keys(keys.template(cluster.sub.pk, "*")):
        redis.delete(name)
    cluster.nodes.step()
    assert cluster.nodes.all_held() == before, "an absent document stops nothing"
    second = cluster.submit({"count": 1})
    leader.round()
    assert leader.restored == restored + 1
    leader.round()
    assert redis.exists(*(keys.desired(cluster.sub.pk, n) for n in cluster.ids)) == 2
    cluster.play(leader, job, second)


def test_a_dead_redis_costs_no_container(cluster: Cluster) -> None:
    leader, job = running(cluster)
    alive, leader.rounds.bus = leader.bus, RedisBus("redis://127.0.0.1:1/0", cluster.sub.pk, leader.epoch, lambda: None)
    second = cluster.submit({"count": 1})
    for _ in range(3):
        with pytest.raises(BusDown):
            leader.round()
    leader.rounds.bus = alive
    cluster.play(leader, job, second)
    assert cluster.rows("SELECT DISTINCT state FROM statestore_container_history") == [(10,)]


def test_the_checker_finds_planted_violations(cluster: Cluster) -> None:
    """A checker that finds nothing has to be shown that it can."""
    leader, job = running(cluster)
    planted = {
        "UPDATE statestore_container SET memory_mib = 5000": "holds more than it has",
        "UPDATE statestore_container SET task_index = 0": "two live containers",
        "UPDATE statestore_container SET epoch = 0": "older than its own",
        "UPDATE statestore_container SET epoch = 99": "an epoch nobody had",
        "UPDATE statestore_container SET state = 1": "rows and log differ",
        "UPDATE statestore_container SET gpus = 1": "a GPU is held twice",
        "UPDATE statestore_round SET epoch = 9 WHERE first_seq = 1": "a lower epoch after a higher one",
        "UPDATE statestore_lease SET next_seq = next_seq + 1": "does not end where the lease says",
        "UPDATE statestore_node SET state = 3": "on a lost node",
        "UPDATE statestore_job SET state = 10": "an ended job has live containers",
        """INSERT INTO statestore_container_history SELECT id, sub_cluster_id, node_id, job_id, group_no, task_index,
           attempt, 10, epoch, memory_mib, vcores_milli, gpus, allocated_at, started_at, allocated_at, 0, 0, 0, 0
           FROM statestore_container""": "live and ended",
    }
    with psycopg.connect(conninfo("test")) as connection:
        for sql, rule in planted.items():
            connection.execute(sql.encode())
            found = invariants.violations(invariants.over(connection))
            connection.rollback()
            assert any(rule in text for text in found), (sql, found)
    cluster.play(leader, job)
    invariants.check(conninfo("test"))
    before = invariants.terminal(cluster.rows)
    assert invariants.changed(before, before | {("job", job): (11,)})


def test_a_back_off_goes_on_under_the_next_leader(cluster: Cluster) -> None:
    """What ended by its own fault waits as long as it was told; what a lost node took starts at once."""
    leader, paused = running(cluster, {}, kind="service")
    taken = cluster.submit({}, kind="service")
    for ended in (None, None, None, {paused}):  # each fails three times, one of them once more
        leader.clock.ahead_s += 300.0
        leader.round()
        cluster.nodes.step()
        leader.round()
        ids = Container.objects.filter(job_id__in=ended or {paused, taken}).values_list("id", flat=True)
        assert cluster.nodes.finish(ContainerState.FAILED, set(ids)) == (1 if ended else 2)
        cluster.nodes.step()
        leader.round()
    leader.round(*cluster.ids)
    cluster.expire()
    due_s, leader = waits(leader, paused)[1], cluster.lead()
    assert due_s is not None
    assert (waits(leader, paused), waits(leader, taken)) == ((0, due_s), (1, None))
    for seconds, placed in ((-7.0, {taken}), (-0.5, {taken}), (0.5, {taken, paused})):
        leader.clock.stand_at(due_s + seconds)
        for _ in range(2):  # nodes that were lost are heard of again
            cluster.nodes.step()
            leader.round()
        assert set(Container.objects.values_list("job_id", flat=True)) == placed


def waits(leader: Leading, job: int) -> tuple[int, float | None]:
    """How many tasks of the job's group want to start now, and when the first of the others does."""
    (group,) = leader.memory.jobs[job].groups
    return group.run.wanted, group.run.next_due
