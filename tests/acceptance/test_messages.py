"""Celery messages doubled, reversed, late, to two workers at once: the outcome is that of an undisturbed run."""

import json
import random
import threading
from collections import Counter
from typing import Any

import pytest
from celery import Celery

from contract.jobs import Job
from tests.acceptance import afterwards
from tests.acceptance.cluster import SUB_CLUSTER, Cluster
from tests.patience import wait_until

pytestmark = pytest.mark.faults

SCRIPTS = {
    "plain": ("true", 4, 0),
    "failing": ("exit 3", 1, 0),
    "second-try": ('[ "$HYDRA_ATTEMPT" = 2 ]', 2, 1),
    "mixed": ('[ "$HYDRA_TASK_INDEX" -lt 2 ] || exit "$HYDRA_TASK_INDEX"', 2, 0),
}


def run_all(cluster: Cluster) -> list[int]:
    """Submit every script as a job and wait for their ends; ids in order."""
    jobs: list[Job] = []
    for name, (script, count, retries) in SCRIPTS.items():
        jobs.append(cluster.task_job(name, script, count=count, retries=retries))
        two = cluster.spec(f"{name}-then", script, count=count, retries=retries)
        two["groups"].append(cluster.spec("", "true", name="then", after=["main"])["groups"][0])
        jobs.append(cluster.submit(two))
    for job in jobs:
        cluster.wait(job, 60)
    return [job.id for job in jobs]


class Disturbance:
    """Sends the cluster's own messages again and again: at once, in reverse, and kept back for later."""

    def __init__(self, cluster: Cluster) -> None:
        self.app = Celery(broker=cluster.stack.broker_url(), set_as_current=False)
        self.stop = threading.Event()
        self.sent = 0
        self.thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Disturbance":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()
        self.app.close()

    def _run(self) -> None:
        kept: list[tuple[str, list[Any], str]] = []
        chance = random.Random(1)
        while not self.stop.wait(0.05):
            batch = [
                ("control.look", [], "control"),
                ("rm.lead", [SUB_CLUSTER], "rm.east"),
                ("rm.lead", [SUB_CLUSTER], "control"),
            ]
            if not self.sent:
                batch.append(("control.housekeeping", [], "control"))
            kept += batch
            for name, args, queue in [*batch, *reversed(batch), chance.choice(kept)]:
                self.app.send_task(name, args=args, queue=queue)
                self.sent += 1


def test_final_states_equal_the_clean_run(cluster: Cluster):
    clean = afterwards.outcomes(cluster, run_all(cluster))
    epoch, holder = cluster.led()
    other = {"worker-a": "worker-b", "worker-b": "worker-a"}[holder]
    with Disturbance(cluster) as disturbance:
        disturbed = run_all(cluster)
        wait_until(lambda: disturbance.sent > 100, 20, "many messages")
        assert cluster.leader() == (epoch, holder), "a message alone moved the post"
        cluster.stack.kill(holder)  # and now they compete for a free one
        assert cluster.led(epoch)[1] in {holder, other}
        again = run_all(cluster)
    assert afterwards.outcomes(cluster, disturbed) == clean
    assert afterwards.outcomes(cluster, again) == clean
    launches = Counter(start.container for start in cluster.starts())
    assert set(launches.values()) == {1}, "one launch per allocation"
    print(f"measured: {disturbance.sent} messages, {cluster.leader()[0] - epoch} change of leaders")
    assert cluster.leader()[0] == epoch + 1


def test_an_old_message_taken_from_the_queue_and_put_back_is_harmless(cluster: Cluster):
    """A message that one worker took, repeated byte for byte long after, to both queues."""
    before = cluster.leader()
    app = Celery(broker=cluster.stack.broker_url(), set_as_current=False)
    app.send_task("rm.lead", args=[SUB_CLUSTER], queue="kept-back")
    raw = cluster.broker.rpop("kept-back")
    app.close()
    body = json.loads(raw)
    body["headers"]["expires"] = None
    for _ in range(30):
        cluster.broker.lpush("rm.east", json.dumps(body))
    wait_until(lambda: cluster.broker.llen("rm.east") == 0, 20, "all were taken")
    cluster.settled(cluster.task_job("still", "true"))
    assert cluster.leader() == before


@pytest.mark.parametrize("text", ["not json", '{"body": 5}', '{"body": "e30=", "headers": {}, "properties": {}}'])
def test_a_message_that_is_none_stops_no_worker(cluster: Cluster, text: str):
    pids = [cluster.stack.pid(w) for w in ("worker-a", "worker-b")]
    cluster.broker.lpush("rm.east", text)
    cluster.broker.lpush("control", text)
    wait_until(lambda: not cluster.broker.llen("rm.east") and not cluster.broker.llen("control"), 30, "they were taken")
    cluster.settled(cluster.task_job("still", "true"))
    epoch, holder = cluster.led()
    cluster.stack.kill(holder)
    cluster.led(epoch, 30)
    del pids
