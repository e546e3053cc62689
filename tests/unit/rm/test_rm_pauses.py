"""Tasks of services that pause since they ended early: what is said of them, and what ends a pause."""

import numpy as np

from tests.doubles import MemoryCluster, MemoryLeader
from tests.playing import ready, turn
from tests.unit.rm.test_rm_services import service
from wire.states import ContainerReason as Reason
from wire.states import ContainerState

PASSWORD = {"secrets": [{"name": "db-password", "env": "PASSWORD"}]}
KEYS = {"secrets": [{"name": name, "path": name} for name in ("a", "b", "c", "d")]}


def fail(
    cluster: MemoryCluster, leader: MemoryLeader, job: int, *tasks: int, reason: Reason = Reason.SECRET
) -> None:
    """The attempts of these tasks fail by this reason, and their leader hears of it."""
    ids = {c.id for c in cluster.sub.containers.values() if c.job == job and c.task in tasks}
    assert cluster.nodes.finish(ContainerState.FAILED, ids) == len(ids) == len(tasks)
    report = cluster.nodes.containers.report
    report["reason"][np.isin(report["id"], list(ids))] = reason
    cluster.nodes.step()
    leader.clock.ahead_s += 0.01
    leader.round()


def told(cluster: MemoryCluster, leader: MemoryLeader, job: int) -> tuple[str, str]:
    """Why the job's group waits, and what helps, as a leader finds it and as its successor does."""
    first = said(leader, job)
    cluster.expire()
    assert said(cluster.lead(), job) == first
    return first


def said(leader: MemoryLeader, job: int) -> tuple[str, str]:
    leader.round()
    leader.round()
    reason = leader.memory.jobs[job].groups[0].reason
    assert reason is not None and reason["limits"][0]["text"] == reason["text"]
    return reason["text"].split(" s. ")[1], reason["change"]["text"]


def test_who_pauses_is_told_which_secret_is_not_there_and_to_put_it(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 2, **PASSWORD)
    fail(cluster, leader, job, 0)
    fail(cluster, leader, job, 1)
    text, remedy = told(cluster, leader, job)
    assert text == "The last one: web/1 could not have its secret db-password."
    assert remedy == (
        "Put the secret again: hydractl secret put db-password. It starts by itself then; "
        f"hydractl restart {job} web 1 ends the pause."
    )


def test_of_several_secrets_the_logs_say_which(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1, **KEYS)
    fail(cluster, leader, job, 0)
    text, remedy = told(cluster, leader, job)
    assert text == "web/0 could not have one of its secrets a, b, c and others."
    assert remedy.startswith(f"Put the secret again: hydractl secret put NAME (hydractl logs {job}/web/0 --stderr says")


def test_who_pauses_is_told_how_it_ended_and_to_look_at_its_logs(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1)
    fail(cluster, leader, job, 0, reason=Reason.MEMORY)
    text, remedy = told(cluster, leader, job)
    assert text == "web/0 used more memory than it asked for."
    assert remedy.startswith(f"Look at its logs: hydractl logs {job}/web/0 --stderr. It starts again by itself; ")


def test_what_its_node_could_not_do_is_nothing_to_be_mended(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = service(cluster, leader, 1)
    fail(cluster, leader, job, 0, reason=Reason.UNREACHABLE)
    text, remedy = said(leader, job)
    assert "as the control plane did not answer" in text and remedy == "Nothing: it starts again by itself."


def test_a_batch_task_that_pauses_is_not_told_to_restart(cluster: MemoryCluster) -> None:
    leader = ready(cluster)
    job = cluster.submit({"name": "map", "retries": 3})
    turn(cluster, leader)
    fail(cluster, leader, job, 0, reason=Reason.START)
    text, remedy = told(cluster, leader, job)
    assert text == "map/0 could not start its command."
    assert remedy == f"Look at its logs: hydractl logs {job}/map/0 --stderr. It starts again by itself."
