"""What tenants and operators may rely on of scheduling, with real tasks on real nodes."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from contract.jobs import Job
from tests.acceptance.cluster import Cluster
from tests.patience import wait_until
from tests.processes import alive
from tests.stack import UNHURRIED

MIB = 1024
QUEUES = {
    "default": {"guaranteed": 0.2, "open_to_all": True},
    "prod": {"guaranteed": 0.5, "open_to_all": True},
    "fair": {"guaranteed": 0.1, "open_to_all": True, "ordering": "fair"},
    "few": {"guaranteed": 0.0, "open_to_all": True, "max_running_jobs": 1},
    "small": {"guaranteed": 0.0, "open_to_all": True, "maximum": {"memory_mib": 256}},
}
# Guarantees are worked out quickly here; an operator would give tenants longer.
COMPONENTS = {
    "preemption": {"policy": "owed", "parameters": {"interval_s": 0.2, "grace_s": 5.0, "per_round": 1.0}},
    "locality": {"policy": "delay", "parameters": {"node_wait_s": 6.0, "rack_wait_s": 1.0}},
}


def push(cluster: Cluster, **changes: Any) -> None:
    """Put a policy in force at the RM."""
    document = {"queues": QUEUES, "components": COMPONENTS} | changes
    code = (
        "import json; from controlplane.policy import versions;"
        "from controlplane.statestore.actions.audit import SYSTEM;"
        f"print(versions.publish(SYSTEM, json.loads({json.dumps(json.dumps(document))}), 'a test', force=True).pk)"
    )
    version = int(cluster.stack.manage("shell", "-c", code).stdout.split()[-1])

    def runs_it() -> bool:
        shown = cluster.summary()
        return shown is not None and shown.policy_version == version

    wait_until(runs_it, 10, f"the RM runs policy {version}")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes of 1 GiB and two cores, of which one has a label and one another rack."""
    with Cluster(tmp_path_factory.mktemp("fleet") / "home", nodes=0, relayed=False, environ=UNHURRIED) as cluster:
        cluster.led()
        size = {"memory_mib": MIB, "vcores_milli": 2000}
        with (
            cluster.node("plain", rack="r1", **size),
            cluster.node("marked", rack="r1", labels={"gpu": "a100", "zone": "a"}, **size),
            cluster.node("far", rack="r2", labels={"zone": "b"}, **size),
        ):
            push(cluster)
            yield cluster


@pytest.fixture(autouse=True)
def quiet(fleet: Cluster) -> Iterator[None]:
    yield
    for (job,) in fleet.sql("SELECT id FROM statestore_job WHERE state < 10"):
        fleet.tenant.kill(job, "the test is over")
        fleet.wait(job, 30)


def asking(memory_mib: int, **group: Any) -> dict[str, Any]:
    return {"resources": {"memory_mib": memory_mib, "vcores_milli": 10}} | group


def submit(cluster: Cluster, name: str, script: str, queue: str = "default", priority: int = 0, **group: Any) -> Job:
    return cluster.submit(cluster.spec(name, script, **group) | {"queue": f"root.{queue}", "priority": priority})


def reason(cluster: Cluster, job: Job) -> dict[str, Any]:
    """Why the job's first group waits, once the RM has said so."""
    query = "SELECT reason FROM statestore_taskgroup WHERE job_id = %s AND reason IS NOT NULL"
    return wait_until(lambda: rows[0][0] if (rows := cluster.sql(query, job.id)) else None, 15, f"why {job.name} waits")


def nodes(cluster: Cluster, job: Job, count: int) -> Counter[str]:
    return Counter(start.node for start in cluster.started(job, count))


def test_labels_choose_the_node(fleet: Cluster):
    for expression, expected in (("gpu && zone == a", {"marked"}), ("zone in (b, c)", {"far"}), ("!zone", {"plain"})):
        job = submit(fleet, "labelled", "true", count=3, node_labels=expression)
        fleet.settled(job)
        assert set(nodes(fleet, job, 3)) == expected
    nowhere = submit(fleet, "nowhere", "true", node_labels="gpu && zone == b")
    why = reason(fleet, nowhere)
    assert why["code"] == "no_node_matches"
    assert why["change"]["text"] == "Drop the label term 'gpu'."
    fleet.settled(submit(fleet, "as-told", "true", node_labels="zone == b"))


def test_a_preferred_node_is_waited_for_and_a_strict_one_for_ever(fleet: Cluster):
    near = {"locality": {"nodes": ["far"]}}
    first = submit(fleet, "near", "true", **near)
    fleet.settled(first)
    assert set(nodes(fleet, first, 1)) == {"far"}
    full = submit(fleet, "full", "exec sleep 300", node_labels="node == far", **asking(MIB))
    fleet.started(full, 1)
    patient = submit(fleet, "patient", "true", **near)
    strict = submit(fleet, "strict", "true", locality={"nodes": ["far"], "relax": False})
    assert reason(fleet, patient)["code"] in {"locality_wait", "no_room"}
    fleet.settled(patient, 20)
    assert "far" not in nodes(fleet, patient, 1)
    assert fleet.tenant.job(strict.id).state == "ADMITTED"
    fleet.tenant.kill(full.id, "make room")
    fleet.settled(strict, 20)
    assert set(nodes(fleet, strict, 1)) == {"far"}


def test_the_higher_priority_starts_first_when_room_appears(fleet: Cluster):
    full = submit(fleet, "full", "exec sleep 300", count=3, **asking(MIB))
    fleet.started(full, 3)
    low, high = (
        submit(fleet, name, "exec sleep 2", priority=p, **asking(MIB, node_labels="node == plain"))
        for name, p in (("low", -5), ("high", 300))
    )
    reason(fleet, low)
    fleet.tenant.kill(full.id, "make room")
    fleet.settled(high, 30)
    fleet.settled(low, 30)
    order = [s.container for s in fleet.starts(low, high)]
    assert order == [fleet.starts(high)[0].container, fleet.starts(low)[0].container]


def test_a_gang_starts_all_at_once_or_not_at_all(fleet: Cluster):
    full = submit(fleet, "full", "exec sleep 300", **asking(MIB, node_labels="node == plain"))
    fleet.started(full, 1)
    gang = submit(fleet, "gang", "exec sleep 1", count=3, gang=True, **asking(MIB))
    why = reason(fleet, gang)
    assert why["code"] == "gang", why
    assert not fleet.live(gang), "two of three would fit, and none has started"
    fleet.tenant.kill(full.id, "make room")
    assert len(fleet.started(gang, 3)) == 3
    fleet.settled(gang)


def test_what_a_queue_is_owed_is_taken_back_after_a_warning(fleet: Cluster):
    borrower = submit(fleet, "borrower", 'trap "exit 0" TERM; sleep 300 & wait', count=12, **asking(256))
    fleet.started(borrower, 12)
    owed = submit(fleet, "owed", "exec sleep 1", queue="prod", count=6, **asking(256))
    told = wait_until(
        lambda: [e for e in fleet.tenant.events(borrower.id) if e.kind == "preemption"], 15, "the owner is warned"
    )
    assert "owed to others" in told[0].message and "5 s" in told[0].message
    room = "make room for its queue"
    wait_until(lambda: room in (reason(fleet, owed)["estimate"] or {}).get("text", ""), 5, "the other one hears of it")
    fleet.settled(owed, 60)
    ended = [c for c in fleet.tenant.containers(borrower.id) if c.reason == "PREEMPTED"]
    assert 5 <= len(ended) <= 7, "as many as were owed, and hardly more"
    first = min(c.finished_at for c in ended)
    assert (first - told[0].at).total_seconds() >= 4.9, "nobody is stopped before the grace is over"
    again = fleet.tenant.job(borrower.id)
    assert again.state == "RUNNING" and again.groups[0].failed == 0, "being preempted is no failure"


def test_a_queue_limits_its_running_jobs_and_says_so(fleet: Cluster):
    first = submit(fleet, "first", fleet.gate("first"), queue="few")
    fleet.started(first, 1)
    second = submit(fleet, "second", "true", queue="few")
    why = reason(fleet, second)
    assert why["code"] == "admission" and "root.few" in why["text"], why
    assert fleet.tenant.job(second.id).state == "SUBMITTED"
    fleet.open_gate("first")
    fleet.settled(first)
    fleet.settled(second)


def missing_mib(why: dict[str, Any]) -> int:
    """By how much explain says to raise the queue's maximum, so that one more starts."""
    (one,) = why["change"]["raise"]
    assert one["of"] == "the maximum of root.small" and [*one["by"]] == ["memory_mib"], why
    return int(one["by"]["memory_mib"])


def test_a_queue_stays_below_its_maximum_and_the_raise_that_is_told_is_just_enough(fleet: Cluster):
    def at_most(memory_mib: int) -> None:
        push(fleet, queues=QUEUES | {"small": QUEUES["small"] | {"maximum": {"memory_mib": memory_mib}}})

    most = 256
    job = submit(fleet, "many", "exec sleep 300", queue="small", count=4, **asking(104))
    fleet.started(job, 2)
    why = reason(fleet, job)
    assert why["code"] == "queue_maximum" and why["waiting"] == 2, why
    more = missing_mib(why)  # less than half of one is left: a smaller task is no advice
    assert more == 56
    at_most(most + more - 1)
    one_less = {"memory_mib": 103}
    wait_until(
        lambda: reason(fleet, job)["change"].get("per_container_at_most") == one_less, 15, "it is one short by now"
    )
    assert len(fleet.live(job)) == 2
    at_most(most + more)
    fleet.started(job, 3)
    at_most(2 * most)
    fleet.started(job, 4)
    push(fleet)
    assert len(fleet.live(job)) == 4, "a lower maximum stops nothing that runs"


def test_jobs_of_a_fair_queue_share_it(fleet: Cluster):
    first = submit(fleet, "first", "exec sleep 1", queue="fair", count=60, **asking(256))
    fleet.started(first, 12)
    second = submit(fleet, "second", "exec sleep 1", queue="fair", count=6, **asking(256))
    fleet.settled(second, 30)
    assert fleet.tenant.job(first.id).groups[0].succeeded < 40, "the later job did not wait for the whole earlier one"


def test_a_job_avoids_the_node_on_which_it_keeps_failing(fleet: Cluster):
    job = submit(fleet, "picky", '[ "$HYDRA_NODE" != plain ]', retries=4, locality={"nodes": ["plain"]})
    fleet.settled(job, 60)
    where = [start.node for start in fleet.starts(job)]
    assert where[-1] != "plain" and where.count("plain") == 2, where


def test_no_process_of_these_jobs_is_left(fleet: Cluster):
    wait_until(lambda: not any(alive(s.pid) for s in fleet.starts()), 10, "every task's process is gone")
