"""Admission over real stores: limits hold over the whole federation, whoever leads and whatever breaks."""

import threading
from collections import Counter
from typing import Any

import psycopg
import pytest

from controlplane.accounts.models import User
from controlplane.rm.claims import ClaimRequest
from controlplane.rm.memory.quota import demand
from controlplane.rm.ports import Fenced, StoreDown
from controlplane.statestore.actions import jobs as job_actions
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.membership import conninfo
from controlplane.statestore.models import AdmissionCount, TaskGroup
from controlplane.statestore.queries.jobs import listing as job_queries
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import OPEN, SECOND, another, begun, leading, small, states, written
from tests.patience import stretched
from wire.resources import AXES, NOTHING
from wire.states import JobState, terminal

FEW = {"default": OPEN, "few": OPEN | {"max_running_jobs": 2}}
TREE = {
    "default": OPEN,
    "prod": {
        "max_running_jobs": 3,
        "children": {"a": OPEN | {"max_running_jobs": 2, "max_running_jobs_per_user": 2}, "b": OPEN},
    },
    "each": OPEN | {"max_running_jobs_per_user": 1},
}


def reason(job: int) -> dict[str, Any]:
    found = TaskGroup.objects.get(job_id=job, no=0).reason
    assert found is not None
    return found


def finish(cluster: Cluster, leader: Leading, *jobs: int) -> None:
    """Let everything of these jobs end well; the last round has seen it."""
    cluster.nodes.step()
    leader.round()
    ids = {r[0] for r in cluster.rows("SELECT id, job_id FROM statestore_container") if r[1] in jobs}
    cluster.nodes.finish(ids=ids)
    cluster.nodes.step()
    leader.round()
    assert all(terminal(s) for s in states(cluster, *jobs))


def test_the_database_adds_up_the_same_resources(cluster: Cluster) -> None:
    assert cluster.rows("SELECT statestore_axes()") == [(list(AXES),)]


def test_a_queue_runs_so_many_jobs_and_the_others_hear_why(cluster: Cluster) -> None:
    cluster.policy(FEW)
    leader = leading(cluster)
    jobs = [small(cluster, "root.few") for _ in range(5)]
    leader.round()
    assert states(cluster, *jobs) == [2, 2, 0, 0, 0]
    told = reason(jobs[3])
    assert told["text"] == "root.few runs 2 of at most 2 jobs; 1 job is ahead."
    assert (told["code"], told["waiting"], told["position"]["jobs_ahead"]) == ("admission", 1, 1)
    (limit,) = told["limits"]
    assert (limit["limit"], limit["queue"], limit["now"], limit["most"]) == ("max_running_jobs", "root.few", 2, 2)
    assert job_queries.detail(cluster.user, jobs[2])["waiting"] == "root.few runs 2 of at most 2 jobs."
    assert written(cluster) == {("root.few", 0, cluster.sub.pk): 2}
    cluster.kill(jobs[2], "not needed")
    leader.round()
    assert (cluster.job(jobs[2]).state, cluster.job(jobs[2]).message) == (JobState.KILLED, "not needed")
    finish(cluster, leader, jobs[0])
    assert begun(cluster, *jobs[3:]) == [True, False], "in the round that saw the end of the other"
    assert TaskGroup.objects.get(job_id=jobs[3], no=0).reason is None
    assert cluster.job(jobs[3]).admitted_at is not None
    leader.clock.ahead_s += SECOND
    leader.round()
    assert reason(jobs[4])["position"]["jobs_ahead"] == 0
    cluster.play(leader, *jobs)
    assert written(cluster) == {}


def test_limits_of_ancestors_and_of_users(cluster: Cluster) -> None:
    cluster.policy(TREE)
    leader = leading(cluster)
    ann, bob = (User.objects.create(username=name) for name in ("ann", "bob"))
    a = [small(cluster, "root.prod.a", ann) for _ in range(3)]
    b = [small(cluster, "root.prod.b", ann) for _ in range(3)]
    each = [small(cluster, "root.each", user) for user in (ann, ann, bob, bob)]
    leader.round()
    assert sum(begun(cluster, *a, *b)) == 3
    assert begun(cluster, *a) == [True, False, False] or begun(cluster, *a) == [True, True, False]
    assert begun(cluster, *each) == [True, False, True, False]
    assert reason(each[1])["text"] == "Its owner runs 1 of at most 1 jobs in root.each."
    assert reason(each[3])["text"] == "Its owner runs 1 of at most 1 jobs in root.each; 1 job is ahead."
    assert reason(b[2])["text"].startswith("root.prod runs 3 of at most 3 jobs")
    counts = written(cluster)
    assert counts["root.prod", 0, cluster.sub.pk] == 3
    assert counts["root.each", bob.pk, cluster.sub.pk] == 1
    cluster.play(leader, *a, *b, *each)
    assert written(cluster) == {}


def test_a_more_urgent_job_goes_first_and_a_changed_priority_counts(cluster: Cluster) -> None:
    cluster.policy({"default": OPEN, "few": OPEN | {"max_running_jobs": 1}})
    leader = leading(cluster)
    first = small(cluster, "root.few")
    leader.round()
    plain, urgent, late = (small(cluster, "root.few", priority=p) for p in (0, 5, 0))
    leader.round()
    assert [reason(j)["position"]["jobs_ahead"] for j in (urgent, plain, late)] == [0, 1, 2]
    job_actions.set_priority(cluster.actor, cluster.job(late), 9)
    leader.round()
    finish(cluster, leader, first)
    assert begun(cluster, plain, urgent, late) == [False, False, True]
    cluster.play(leader, plain, urgent, late)


def test_a_successor_keeps_the_line(cluster: Cluster) -> None:
    cluster.policy(FEW)
    leader = leading(cluster)
    jobs = [small(cluster, "root.few") for _ in range(6)]
    leader.round()
    leader.close()
    more = small(cluster, "root.few")
    new = leading(cluster)
    assert states(cluster, *jobs, more) == [2, 2, 0, 0, 0, 0, 0]
    assert len(new.memory.admission_queue) == 5
    finish(cluster, new, jobs[0], jobs[1])
    assert begun(cluster, *jobs[2:], more) == [True, True, False, False, False]
    cluster.play(new, *jobs, more)


def test_a_limit_that_is_gone_when_a_successor_leads(cluster: Cluster) -> None:
    cluster.policy(FEW)
    leader = leading(cluster)
    jobs = [small(cluster, "root.few") for _ in range(4)]
    leader.round()
    leader.close()
    cluster.policy({"default": OPEN, "few": OPEN})
    new = leading(cluster)
    assert begun(cluster, *jobs) == [True] * 4
    cluster.play(new, *jobs)


def test_a_policy_raises_lowers_removes_and_makes_limits(cluster: Cluster) -> None:
    def limited(most: int | None, **more: Any) -> None:
        cluster.policy({"default": OPEN, "few": OPEN | ({"max_running_jobs": most} if most else {}) | more})
        leader.round()
        leader.round()

    leader = leading(cluster)
    limited(1)
    jobs = [small(cluster, "root.few") for _ in range(8)]
    leader.round()
    assert sum(begun(cluster, *jobs)) == 1
    limited(3)
    assert sum(begun(cluster, *jobs)) == 3
    limited(2)
    assert sum(begun(cluster, *jobs)) == 3, "what was admitted stays so"
    finish(cluster, leader, jobs[0])
    assert sum(begun(cluster, *jobs)) == 3, "and nothing new begins before there is room"
    finish(cluster, leader, jobs[1])
    assert sum(begun(cluster, *jobs)) == 4
    limited(3, state="stopped")
    assert sum(begun(cluster, *jobs)) == 5, "a stopped queue goes on with what it has taken"
    limited(None)
    assert all(begun(cluster, *jobs))
    limited(2)
    assert written(cluster) == {("root.few", 0, cluster.sub.pk): 6}
    late = small(cluster, "root.few")
    leader.round()
    assert reason(late)["text"] == "root.few runs 6 of at most 2 jobs."
    cluster.play(leader, *jobs, late)


def test_gangs_stay_below_the_queues_maximum_together(cluster: Cluster) -> None:
    cluster.policy({"default": OPEN, "ml": OPEN | {"maximum": 0.5}})  # 4,096 MiB and 4 cores of the two nodes
    leader = leading(cluster)
    gang = {"gang": True, "resources": {"memory_mib": 1024, "vcores_milli": 100}}
    first, second, third = (cluster.submit(gang | {"count": n}, queue="root.ml") for n in (3, 2, 1))
    plain = cluster.submit({"count": 2}, queue="root.ml")
    never = cluster.submit(gang | {"count": 6}, queue="root.ml")
    leader.round()
    assert begun(cluster, first, second, third, plain, never) == [True, False, True, True, False]
    assert reason(second)["estimate"]["text"] == "It depends on when others end."
    assert reason(never)["estimate"]["text"].startswith("It does not start by waiting")
    told = reason(second)
    assert told["text"] == (
        "It needs 2,048 MiB of memory at once, and gangs of root.ml hold 4,096 of at most 4,096 MiB of memory."
    )
    assert (told["limits"][0]["asked"], told["limits"][0]["available"]) == ({"memory_mib": 2048}, {"memory_mib": 0})
    assert reason(never)["text"].startswith(
        "It needs 6,144 MiB of memory at once, and root.ml may hold 4,096 MiB of memory here"
    )
    assert leader.memory.admission_queue.passed.sum() == 1, "the last one passed the second"
    finish(cluster, leader, first)
    assert begun(cluster, second, never) == [True, False]
    assert written(cluster) == {}, "gangs alone cost no row"
    cluster.kill(never)
    cluster.play(leader, first, second, third, plain, never)


def test_what_the_gangs_of_one_job_need_at_once(cluster: Cluster) -> None:
    leader = leading(cluster)
    gang = {"gang": True, "resources": {"memory_mib": 100, "vcores_milli": 10}}
    cluster.submit(
        gang | {"count": 3},
        gang | {"count": 2, "name": "then", "after": ["g0"]},
        gang | {"count": 4, "name": "last", "after": ["then"]},
        gang | {"count": 1, "name": "beside"},
        {"count": 50, "name": "loose"},
    )
    leader.round()
    (job,) = leader.memory.jobs.values()
    assert demand(job, len(AXES)).tolist() == [500, 50, *NOTHING[2:]]


def test_without_limits_nothing_is_asked_of_the_statestore(cluster: Cluster) -> None:
    cluster.policy(FEW)
    leader = leading(cluster)
    said: list[str] = []

    class Listening(psycopg.Cursor[Any]):
        def execute(self, query: Any, *values: Any, **how: Any) -> Any:
            said.append(query.decode() if isinstance(query, bytes) else query)
            return super().execute(query, *values, **how)

    leader.store.connection.cursor_factory = Listening
    jobs = [small(cluster, "root.default") for _ in range(20)]
    for _ in range(3):
        leader.round()
    assert all(begun(cluster, *jobs))
    assert not [sql for sql in said if "claim" in sql or "elsewhere" in sql or "admission" in sql]
    limited = [small(cluster, "root.few") for _ in range(20)]
    said.clear()
    leader.round()
    assert sum("claim" in sql for sql in said) == 1, "one for all of them"
    said.clear()
    for _ in range(10):
        leader.round()
    assert not [sql for sql in said if "claim" in sql or "elsewhere" in sql], "not again within a second"
    leader.clock.ahead_s += SECOND
    leader.round()
    assert sum("elsewhere" in sql for sql in said) == 1
    cluster.play(leader, *jobs, *limited)


def test_two_homes_share_one_limit(cluster: Cluster) -> None:
    east = another(cluster)
    cluster.policy(FEW | {"few": OPEN | {"max_running_jobs": 3}})
    here, there = leading(cluster), leading(east)
    mine, theirs = [small(cluster, "root.few") for _ in range(4)], [small(east, "root.few") for _ in range(4)]
    here.round()
    there.round()
    assert sum(begun(cluster, *mine)) == 3
    assert sum(begun(east, *theirs)) == 0
    assert reason(theirs[0])["text"] == "root.few runs 3 of at most 3 jobs.", "the others' jobs are counted"
    assert there.rounds.next_due_s() > 0
    finish(cluster, here, mine[0])
    assert sum(begun(cluster, *mine)) == 4, "who sees the end first may go on"
    finish(cluster, here, mine[1], mine[2])
    there.clock.ahead_s += SECOND
    assert there.rounds.next_due_s() == 0
    there.round()
    assert sum(begun(east, *theirs)) == 2
    cluster.play(here, *mine)
    east.play(there, *theirs)
    assert written(cluster) == {}


def test_who_has_not_counted_under_this_policy_is_counted_by_its_jobs(cluster: Cluster) -> None:
    east = another(cluster)
    cluster.policy({"default": OPEN, "few": OPEN})
    here, there = leading(cluster), leading(east)
    theirs = [small(east, "root.few") for _ in range(3)]
    there.round()
    there.close()  # and nobody leads there from now on
    cluster.policy(FEW | {"few": OPEN | {"max_running_jobs": 4}})
    for _ in range(2):
        here.round()
    mine = [small(cluster, "root.few") for _ in range(3)]
    here.round()
    assert sum(begun(cluster, *mine)) == 1
    assert written(cluster) == {("root.few", 0, cluster.sub.pk): 1}
    again = leading(east)
    assert written(cluster)["root.few", 0, east.sub.pk] == 3
    east.play(again, *theirs)
    here.clock.ahead_s += SECOND
    here.round()
    assert all(begun(cluster, *mine))
    cluster.play(here, *mine)


@pytest.mark.parametrize("moment", ["claimed", "before"])
def test_a_leader_that_dies_between_claim_and_commit_leaves_nothing_claimed(cluster: Cluster, moment: str) -> None:
    east = another(cluster)
    cluster.policy(FEW)
    here, there = leading(cluster), leading(east)
    jobs = [small(cluster, "root.few") for _ in range(3)]

    def commit(*_: Any) -> None:
        raise StoreDown("gone")

    if moment == "claimed":
        here.store.commit = commit
    else:
        here.store.claim = commit
    with pytest.raises(StoreDown):
        here.round()
    assert written(cluster) == ({("root.few", 0, cluster.sub.pk): 2} if moment == "claimed" else {})
    assert not any(begun(cluster, *jobs))
    other = small(east, "root.few")
    there.round()
    assert begun(east, other) == [moment == "before"], "what may have been admitted counts"
    cluster.expire()
    still = f"UPDATE statestore_lease SET expires_at = now() + interval '1 h' WHERE sub_cluster_id = {east.sub.pk}"
    east.rows(f"{still} RETURNING 1")
    again = cluster.lead()
    again.round()
    assert written(cluster).get(("root.few", 0, cluster.sub.pk), 0) == 0
    there.clock.ahead_s += SECOND
    there.round()
    assert begun(east, other) == [True]
    again.clock.ahead_s += SECOND
    again.round()
    assert sum(begun(cluster, *jobs)) == 1
    east.play(there, other)
    cluster.play(again, *jobs)


def test_a_replaced_leader_claims_nothing(cluster: Cluster) -> None:
    cluster.policy(FEW)
    old = leading(cluster)
    old.leadership.connection.execute("SET application_name = 'hidden'")
    cluster.expire()
    new = leading(cluster)
    with pytest.raises(Fenced):
        old.store.claim(old.memory.queues.version, {("root.few", 0): ClaimRequest(0, 1, 2)})
    assert written(cluster) == {}
    job = small(cluster, "root.few")
    cluster.play(new, job)


def test_claims_at_the_same_moment_never_exceed_the_limit(cluster: Cluster) -> None:
    """Real sessions side by side, each claiming one after the other of two queues."""
    subs = [cluster.sub.pk] + [subclusters.create(SYSTEM, f"s{i}").pk for i in range(3)]
    version = cluster.one("SELECT id FROM statestore_policyversion WHERE active")
    cluster.rows("UPDATE statestore_lease SET epoch = 1, expires_at = now() + interval '1 h' RETURNING 1")
    for sub in subs:
        cluster.rows(f"INSERT INTO statestore_admissionledger VALUES ({sub}, {version}, 1) RETURNING 1")
    gained: Counter[int] = Counter()

    def run(sub: int) -> None:
        with psycopg.connect(conninfo("test"), autocommit=True) as session:
            for _ in range(40):
                own = gained[sub]
                row = session.execute(
                    "SELECT granted FROM statestore_claim(%s::smallint, 1, 60, %s, %s, %s, %s, %s, %s)",
                    (sub, version, ["root.z", "root.a"], [0, 0], [own] * 2, [own + 1] * 2, [30, 1000]),
                ).fetchall()
                gained[sub] = row[0][0]

    threads = [threading.Thread(target=run, args=(sub,)) for sub in subs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(stretched(30))
    assert sum(gained.values()) == 30
    counts = written(cluster)
    assert sum(n for (queue, _, _), n in counts.items() if queue == "root.z") == 30
    AdmissionCount.objects.all().delete()
