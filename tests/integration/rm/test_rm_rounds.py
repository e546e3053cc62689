"""Jobs from submit to end over real stores; every number is counted again in SQL."""

import json

import numpy as np
import pytest

from contract import jobspec
from controlplane.rm.adapters import copy as copybin
from controlplane.rm.steps.intake import BATCH
from controlplane.statestore.models import Intent, JobEvent, Node, TaskGroup
from tests import invariants
from tests.amounts import amounts, vector
from tests.integration.rm.cluster import Cluster
from tests.stepped import memory_state
from wire import keys, status
from wire.resources import MEMORY
from wire.states import ContainerReason, ContainerState, GroupState, JobState, NodeState

ONE_GIB = {"resources": {"memory_mib": 1024, "vcores_milli": 1000}}


def reasons(cluster: Cluster, job_id: int) -> list[str | None]:
    return [
        r and r["code"] for r in TaskGroup.objects.filter(job_id=job_id).order_by("no").values_list("reason", flat=True)
    ]


def test_a_job_of_two_phases_runs_to_its_end(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = cluster.submit({"count": 6}, {"name": "sum", "after": ["g0"]})
    leader.round()
    assert (cluster.job(job).state, cluster.job(job).epoch) == (JobState.ADMITTED, leader.epoch)
    assert reasons(cluster, job) == ["no_nodes", None], "no node has reported yet"
    cluster.nodes.step()
    assert leader.round().placed == 6
    assert cluster.one("SELECT count(*) FROM statestore_container WHERE state = 0") == 6
    cluster.nodes.step()
    leader.round()
    assert cluster.one("SELECT count(*) FROM statestore_container WHERE state = 2 AND started_at IS NOT NULL") == 6
    assert invariants.queue_usage(cluster.rows, cluster.sub.pk, leader.summary().queues) == []
    assert leader.summary().queues["root"].amounts[MEMORY] == 6 * 512
    cluster.nodes.finish()
    cluster.nodes.step()
    report = leader.round()
    assert (report.ended, report.placed) == (6, 1), "the second phase starts in the same round"
    cluster.play(leader, job)
    assert cluster.job(job).state == JobState.SUCCEEDED
    assert cluster.rows("SELECT state, count(*) FROM statestore_container_history GROUP BY 1") == [(10, 7)]
    assert cluster.rows("SELECT group_no, count(*), sum(attempts) FROM statestore_task GROUP BY 1 ORDER BY 1") == [
        (0, 6, 6),
        (1, 1, 1),
    ]
    for table in ("container", "ask", "intent"):
        assert cluster.one(f"SELECT count(*) FROM statestore_{table}") == 0, table
    assert cluster.one("SELECT sum(containers) FROM statestore_usagehour") == 7
    leader.round()  # the nodes hear that their reports arrived
    cluster.nodes.step()
    assert cluster.nodes.all_held() == {}


def test_an_idle_round_writes_nothing(cluster: Cluster) -> None:
    leader = cluster.lead()
    leader.round()
    cluster.nodes.step()
    leader.round()
    cluster.nodes.step()
    assert not leader.round().committed


def test_priority_then_order_of_submission(cluster: Cluster) -> None:
    leader = cluster.lead()
    whole = {"resources": {"memory_mib": 4096, "vcores_milli": 4000}}
    cluster.nodes.step()
    first, second, urgent = (cluster.submit(whole | {"count": 2}, priority=p) for p in (0, 0, 5))
    leader.round()
    assert [cluster.job(j).state for j in (first, second, urgent)] == [1, 1, 2]
    cluster.play(leader, urgent)
    assert [cluster.job(j).state for j in (first, second)] == [JobState.RUNNING, JobState.ADMITTED]
    cluster.play(leader, first, second)


def test_why_a_group_waits(cluster: Cluster) -> None:
    cluster.policy({"default": {"open_to_all": True}, "small": {"maximum": 0.125}})
    leader = cluster.lead()
    cluster.nodes.step()
    leader.round()
    wants = {
        "no_node_matches": cluster.submit({"node_labels": "name == nobody"}),
        "no_room": cluster.submit(ONE_GIB | {"count": 50}),
        "queue_maximum": cluster.submit(ONE_GIB | {"count": 5}, queue="root.small", priority=10),
    }
    too_big = cluster.submit({"resources": {"memory_mib": 5000, "vcores_milli": 1}})
    leader.round()
    for code, job in wants.items():
        assert reasons(cluster, job) == [code]
    told = TaskGroup.objects.get(job_id=too_big).reason
    assert told["text"] == "Asked 5,000 MiB of memory per container; the largest node has 4,096."
    small = TaskGroup.objects.get(job_id=wants["queue_maximum"]).reason
    first = small["limits"][0]
    assert (first["queue"], small["waiting"], first["available"]["memory_mib"]) == ("root.small", 4, 0)
    for job in [*wants.values(), too_big]:
        cluster.kill(job)
    cluster.play(leader, *wants.values(), too_big)
    assert reasons(cluster, too_big) == [None]


def test_a_failing_task_is_tried_again_and_then_fails_its_job(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit({"count": 4, "retries": 1})
    leader.round()
    for attempt in (1, 2):
        cluster.nodes.step()
        victim = cluster.one("SELECT id FROM statestore_container WHERE task_index = 2")
        cluster.nodes.finish(ContainerState.FAILED, {victim})
        cluster.nodes.step()
        leader.round()
        assert cluster.rows("SELECT attempts, failures FROM statestore_task WHERE index = 2") == [(attempt, attempt)]
        leader.clock.ahead_s += 10.0
        leader.round()
    assert cluster.job(job).state == JobState.KILLING
    cluster.play(leader, job)
    told = cluster.job(job)
    assert (told.state, told.message) == (JobState.FAILED, "g0/2 ended with exit status 0 after 2 attempts")
    assert list(JobEvent.objects.order_by("id").values_list("kind", flat=True)) == ["retry", "failed"]
    group = TaskGroup.objects.get(job_id=job)
    assert (group.state, group.failed, group.killed, group.retried) == (GroupState.FAILED, 1, 3, 1)


def test_a_kill_stops_what_runs_and_starts_nothing_that_waits(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit(ONE_GIB | {"count": 20}, {"name": "later", "after": ["g0"]})
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert len(cluster.nodes.all_held()) == 8
    cluster.kill(job, "not needed")
    assert leader.round().placed == 0
    cluster.nodes.step()
    report = leader.round()
    assert (report.ended, report.placed) == (8, 0)
    told = cluster.job(job)
    assert (told.state, told.message) == (JobState.KILLED, "not needed")
    assert cluster.one("SELECT count(*) FROM statestore_container_history WHERE reason = 8") == 8
    assert set(TaskGroup.objects.values_list("state", "killed")) == {(GroupState.KILLED, 20), (GroupState.KILLED, 1)}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"node_labels": "(" * 400}, "node_labels cannot be read: more than"),
        ({"resources": 7}, "the stored specification cannot be read"),
        ({"after": ["nobody"]}, "the stored specification cannot be read"),
    ],
)
def test_a_job_that_cannot_be_read_fails_with_the_reason_and_stops_nobody(cluster: Cluster, change, told) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    job, fine = cluster.submit({"count": 6}), cluster.submit({})
    spec = cluster.job(job).spec
    spec["groups"][0] |= change
    cluster.rows(f"UPDATE statestore_job SET spec = '{json.dumps(spec)}' WHERE id = {job} RETURNING 1")
    cluster.play(leader, job, fine)
    assert cluster.job(job).state == JobState.FAILED
    assert cluster.job(job).message.startswith(told)
    assert cluster.job(fine).state == JobState.SUCCEEDED


def test_intents_doubled_late_and_about_nothing_change_nothing(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    jobs = [cluster.submit({"count": 3}), cluster.submit({"count": 2})]

    def noise() -> None:
        for job in jobs:
            for kind in ("submit", "submit", "priority"):
                Intent.objects.create(sub_cluster=cluster.sub, kind=kind, job_id=job, payload={"priority": 3})
        for node in [*cluster.ids, 10**9]:
            Intent.objects.create(sub_cluster=cluster.sub, kind="node", node_id=node)
        Intent.objects.create(sub_cluster=cluster.sub, kind="policy", payload={"version": -1})

    noise()
    assert leader.round().placed == 5
    noise()
    assert leader.round().placed == 0
    cluster.nodes.step()
    noise()
    leader.round()
    cluster.play(leader, *jobs)
    before = invariants.terminal(cluster.rows)
    for job in jobs:
        Intent.objects.create(sub_cluster=cluster.sub, kind="kill", job_id=job, payload={"message": "late"})
    noise()
    assert leader.round().placed == 0
    assert invariants.changed(before, invariants.terminal(cluster.rows)) == []
    assert cluster.rows("SELECT state, count(*) FROM statestore_container_history GROUP BY 1") == [(10, 5)]
    assert Intent.objects.count() == 0


def test_more_intents_than_a_round_takes_are_gone_on_with(cluster: Cluster) -> None:
    leader = cluster.lead()
    leader.round()
    spec, _ = jobspec.parse({"name": "j", "groups": [{"name": "g", "command": ["true"]}]})
    cluster.store(*[spec] * (BATCH + 5))
    leader.round()
    assert (Intent.objects.count(), leader.rounds.more_intents) == (5, True)
    leader.round()
    assert (Intent.objects.count(), leader.rounds.more_intents) == (0, False)
    assert len(leader.memory.jobs) == BATCH + 5


def test_a_round_places_no_more_than_its_batch_and_goes_on(cluster: Cluster) -> None:
    cluster.policy({"default": {"guaranteed": 1.0}}, placement={"parameters": {"batch": 3}})
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit({"count": 8})
    assert [leader.round().placed for _ in range(4)] == [3, 3, 2, 0]
    cluster.play(leader, job)


def test_gpus_are_given_by_device_and_given_back(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit({"count": 5, "resources": {"memory_mib": 1, "vcores_milli": 1, "gpus": 1}})
    assert leader.round().placed == 4
    masks = cluster.rows(
        "SELECT node_id, array_agg(gpus ORDER BY gpus) FROM statestore_container GROUP BY 1 ORDER BY 1"
    )
    assert masks == [(n, [1, 2]) for n in cluster.ids]
    cluster.play(leader, job)
    assert leader.memory.nodes.gpu_held[:2].tolist() == [0, 0]


def test_a_queues_maximum_holds_and_a_new_policy_moves_it_while_jobs_run(cluster: Cluster) -> None:
    cluster.policy({"a": {"maximum": 0.25}, "default": {"open_to_all": True}})
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit(ONE_GIB | {"count": 8}, queue="root.a")
    leader.round()
    assert len(leader.memory.containers) == 2, "a quarter of eight"
    cluster.policy({"a": {"maximum": 0.5}, "default": {"open_to_all": True}})
    assert leader.round().placed == 2
    for queues in ({"default": {"open_to_all": True}}, {"a": {"maximum": 0.375}, "default": {}}):  # removed, then back
        cluster.policy(queues)
        leader.round()
        leader.round()
        usage = leader.summary().queues
        assert invariants.queue_usage(cluster.rows, cluster.sub.pk, usage) == []
    cluster.nodes.step()
    cluster.nodes.finish()
    cluster.nodes.step()
    leader.round()
    assert leader.memory.ledger.queues[-1].sum(axis=0).tolist() == [*amounts()]
    cluster.play(leader, job)
    assert leader.memory.ledger.queues[-1].tolist() == [[*amounts()]] * 3


def test_shares_of_capacity_are_not_lost_to_rounding(cluster: Cluster) -> None:
    cluster.policy({"a": {"maximum": 0.29}, "default": {}})
    leader = cluster.lead()
    queues = leader.memory.queues.view("", vector(100, 1000), leader.memory.ledger.queues[-1])
    assert queues.maximum[queues.paths.index("root.a")].tolist() == [*amounts(29, 290)]


@pytest.mark.parametrize("seed", range(4))
def test_a_rebuilt_memory_equals_the_one_kept(cluster: Cluster, seed: int) -> None:
    """Whatever happened, the rows alone say all that the leader knows."""
    rng = np.random.default_rng(seed)
    leader = cluster.lead()
    cluster.nodes.step()
    jobs: list[int] = []
    ended: dict = {}
    for step in range(25):
        if step < 15 and rng.random() < 0.5:
            groups = [
                {
                    "name": f"g{no}", "count": int(rng.integers(1, 7)), "retries": int(rng.integers(0, 3)),
                    "after": [f"g{no - 1}"] if no and rng.random() < 0.7 else [],
                    "resources": {
                        "memory_mib": int(rng.integers(1, 1500)), "vcores_milli": int(rng.integers(1, 1500)),
                        "gpus": int(rng.integers(0, 2)),
                    },
                }
                for no in range(int(rng.integers(1, 4)))
            ]  # fmt: skip
            jobs.append(cluster.submit(*groups, priority=int(rng.integers(-2, 3))))
        if jobs and rng.random() < 0.1 and cluster.job(jobs[-1]).state < 10:
            cluster.kill(jobs[-1])
        cut = [int(rng.choice(cluster.ids))] if rng.random() < 0.15 else []
        held = [c for c, state in cluster.nodes.all_held().items() if state == 2 and rng.random() < 0.5]
        kind = ContainerState.FAILED if rng.random() < 0.25 else ContainerState.SUCCEEDED
        cluster.nodes.finish(kind, set(held))
        cluster.nodes.step(*cut)
        leader.round(*cut)
        leader.clock.ahead_s += float(rng.random() * 3)
        assert memory_state(leader.rebuilt()) == memory_state(leader.memory), f"after step {step}"
        assert invariants.changed(ended, ended := invariants.terminal(cluster.rows)) == []
    assert not invariants.violations(cluster.rows)
    cluster.play(leader, *jobs, rounds=100)


def test_a_hostile_status_changes_nothing_it_may_not(cluster: Cluster) -> None:
    leader = cluster.lead()
    cluster.nodes.step()
    job = cluster.submit(ONE_GIB | {"count": 8})
    leader.round()
    cluster.nodes.step()
    leader.round()
    before = cluster.rows("SELECT * FROM statestore_container ORDER BY id"), memory_state(leader.memory)
    thief, victim = cluster.ids
    theirs = list(cluster.nodes.holds(victim))
    own = list(cluster.nodes.holds(thief))
    head = cluster.nodes.head[cluster.nodes.nodes[thief].row]
    seq = int(head["seq"]) + 1
    heads = {"epoch": int(head["epoch"]), "generation": int(head["generation"])}

    def say(payload: bytes) -> None:
        leader.bus._redis.set(keys.status(cluster.sub.pk, thief), payload)

    junk = [b"", b"\xff" * 10_000_000, status.encode(status.NodeStatus(victim, seq)), b"HS\1\0" + bytes(60)]
    junk += [status.encode(status.NodeStatus(thief, s)) for s in (2**63, 2**64 - 1)]
    for payload in junk:
        say(payload)
        report = leader.round()
        assert (report.rejected, report.committed) == (1, False)
    say(status.encode(status.NodeStatus(thief, 1)))
    assert not leader.round().committed, "a replay"
    # Its own containers still run; it claims another's have failed, and some that never were.
    mine = [status.ContainerReport(c, 2, ran_ms=2**32 - 1, memory_mib=2**32 - 1, cpu_ms=2**32 - 1) for c in own]
    lies = [status.ContainerReport(c, ContainerState.FAILED) for c in [*theirs, 1, 2**63 - 1]]
    say(status.encode(status.NodeStatus(thief, seq, containers=mine + lies, **heads)))
    assert not leader.round().committed
    assert (cluster.rows("SELECT * FROM statestore_container ORDER BY id"), memory_state(leader.memory)) == before
    worst = (ContainerReason.EXIT_CODE, -(2**31), 2**32 - 1, 2**32 - 1, 2**32 - 1)
    ends = [status.ContainerReport(c, ContainerState.FAILED, *worst) for c in own]
    say(status.encode(status.NodeStatus(thief, seq + 1, containers=ends + ends, health=0xFFFF, **heads)))
    assert leader.round().ended == len(own)
    assert cluster.one("SELECT max(peak_memory_mib) FROM statestore_container_history") == 2**31 - 1
    assert memory_state(leader.rebuilt()) == memory_state(leader.memory)
    assert cluster.job(job).state == JobState.KILLING
    assert Node.objects.get(pk=thief).state == NodeState.UNHEALTHY
    head["seq"] += 10
    cluster.play(leader, job)


def test_rows_survive_a_real_binary_copy(cluster: Cluster) -> None:
    kinds = [("a", "i2"), ("b", "i4"), ("c", "i8"), ("at_us", "i8"), ("day_on", "i4")]
    rng = np.random.default_rng(3)
    table = np.zeros(5000, kinds)
    for name in ("a", "b", "c"):
        info = np.iinfo(table.dtype[name])
        table[name] = rng.integers(info.min, info.max, len(table), endpoint=True)
        table[name][:2] = info.min, info.max
    table["at_us"] = rng.integers(0, 4_000_000_000_000_000, len(table))
    table["day_on"] = rng.integers(-10_000, 40_000, len(table))
    connection = cluster.lead().leadership.connection
    connection.execute("CREATE TEMP TABLE copied (a smallint, b int, c bigint, at timestamptz, day date)")
    for rows in (table, table[:0]):
        with connection.cursor() as cursor, cursor.copy("COPY copied FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(copybin.rows(rows))
    found = connection.execute(
        "SELECT a, b, c, (extract(epoch FROM at) * 1000000)::bigint, day - '1970-01-01'::date FROM copied"
    ).fetchall()
    assert found == table.tolist()


def test_what_is_used_is_counted_by_tag_too_and_only_so_many_are_told_apart(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controlplane.rm.adapters.store.TAGS_MAX", 3)
    leader = cluster.lead()
    jobs = [cluster.submit(ONE_GIB, tags=tags) for tags in (["b", "a", "b"], ["d"], ["e", "c", "a"], [])]
    for job in jobs:
        cluster.play(leader, job)
    found = "SELECT tag, sum(containers), sum(failed), sum(memory_mib_s) > 0 FROM statestore_usagetag GROUP BY 1"
    counted = {tag: (int(containers), int(failed)) for tag, containers, failed, _ in cluster.rows(found)}
    assert sum(containers for containers, _ in counted.values()) == 2 + 1 + 3 + 1
    assert counted.pop("") == (1, 0), "what has no tag is told, too, and is none of those"
    assert len(counted) == 4 and counted["(others)"] == (2, 0), (
        "of five tags three are told apart, whichever came first"
    )
    again = cluster.submit(ONE_GIB, tags=["z", next(tag for tag in counted if tag != "(others)")])
    cluster.play(leader, again)
    assert {tag for tag, *_ in cluster.rows(found)} == {"", *counted}, "one that is known stays so"


def test_what_was_stopped_counts_as_no_failure_of_its_tags(cluster: Cluster) -> None:
    leader = cluster.lead()
    failed, killed = (cluster.submit(ONE_GIB | {"count": 2}, tags=[tag]) for tag in ("failed", "killed"))
    cluster.nodes.step()
    leader.round()
    cluster.nodes.step()
    cluster.nodes.finish(ContainerState.FAILED, {c.id for c in cluster.live(failed)})
    cluster.kill(killed)
    cluster.play(leader, killed)
    counted = cluster.rows("SELECT tag, sum(containers)::int, sum(failed)::int FROM statestore_usagetag GROUP BY 1")
    assert sorted(counted) == [("failed", 2, 2), ("killed", 2, 0)]


def test_ledgers_tell_how_long_tasks_waited_and_what_memory_they_took(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = cluster.submit(ONE_GIB | {"count": 3}, ONE_GIB | {"name": "sum", "after": ["g0"]}, tags=["a"])
    leader.clock.ahead_s += 100
    cluster.play(leader, job)
    told = "SELECT sum(tasks)::int, sum(waited_s)::int, sum(peak_memory_mib_s)::int, sum(memory_mib_s)::int"
    ((tasks, waited, peak, held),) = by_tag = cluster.rows(f"{told} FROM statestore_usagetag")
    assert cluster.rows(f"{told} FROM statestore_usagehour") == by_tag
    assert tasks == 3, "what starts after others could not have started at the submit"
    before = "sum(extract(epoch FROM c.allocated_at - j.submitted_at)) FROM statestore_container_history c"
    expected = cluster.one(f"SELECT {before} JOIN statestore_job j ON j.id = c.job_id WHERE c.group_no = 0")
    assert waited >= 3 * 100 and abs(waited - float(expected)) <= 2
    taken = "sum(peak_memory_mib * extract(epoch FROM finished_at - allocated_at)) FROM statestore_container_history"
    assert 0 < peak < held
    assert abs(peak - float(cluster.one(f"SELECT {taken}"))) <= 2
