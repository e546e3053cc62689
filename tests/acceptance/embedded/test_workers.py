"""Workers without their broker, and posts without beat."""

import signal
from collections.abc import Iterator

import psycopg
import pytest
import redis
from celery import Celery

from controlplane.rm.driver.balance import own_queue
from tests.homes import ready_made
from tests.limits import limit
from tests.patience import let_pass, wait_until
from tests.stack import Stack

pytestmark = pytest.mark.faults

LEADERS = "SELECT l.epoch, l.holder FROM statestore_lease l WHERE l.expires_at > clock_timestamp()"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(ready_made(tmp_path_factory.mktemp("workers") / "home"), sub_clusters=1, nodes=1) as running:
        yield running


def leader(stack: Stack) -> tuple[int, str] | None:
    with psycopg.connect(stack.database_url().replace("postgres://", "postgresql://")) as connection:
        return connection.execute(LEADERS).fetchone()


def next_leader(stack: Stack, after: int, timeout_s: float) -> tuple[int, str]:
    def found() -> tuple[int, str] | None:
        now = leader(stack)
        return now if now and now[0] > after else None

    return wait_until(found, timeout_s, f"a leader after epoch {after}")


def other(worker: str) -> str:
    return {"worker-a": "worker-b", "worker-b": "worker-a"}[worker]


def test_the_standby_takes_over_from_a_killed_leader(stack: Stack):
    epoch, holder = wait_until(lambda: leader(stack), 10, "a leader")
    with limit("leader killed: the standby leads", 8):
        stack.kill(holder)
        next_leader(stack, epoch, 8)
    wait_until(lambda: stack.ready(holder), 20, "the killed worker is back")


def test_a_leader_told_to_stop_resigns_in_a_second(stack: Stack):
    epoch, holder = wait_until(lambda: leader(stack), 10, "a leader")
    try:
        with limit("leader told to stop: the standby leads", 4):
            stack.hold(holder)
            next_leader(stack, epoch, 4)
    finally:
        stack.release(holder)


@pytest.mark.parametrize("outage", ["killed", "paused"])
def test_workers_take_duties_again_after_the_broker_returns(stack: Stack, outage: str, soak: bool):
    """No leader falls with the broker, and within 30 s of its return both workers hear messages again."""
    epoch, holder = wait_until(lambda: leader(stack), 10, "a leader")
    if outage == "killed":
        stack.kill_and_wait("broker")
    else:
        stack.kill("broker", signal.SIGSTOP)
        let_pass(60 if soak else 10)  # the outage itself
        stack.kill("broker", signal.SIGCONT)
    assert leader(stack) == (epoch, holder)
    with (
        redis.Redis.from_url(stack.broker_url()) as broker,
        Celery(broker=stack.broker_url(), set_as_current=False) as app,
    ):
        queues = [own_queue(worker) for worker in (holder, other(holder))]
        for queue in queues:
            app.send_task("rm.lead", args=[0], queue=queue)  # there is no such sub-cluster
        wait_until(lambda: not any(broker.llen(queue) for queue in queues), 30, "both workers hear")
    assert leader(stack) == (epoch, holder)


def test_a_starting_worker_takes_a_free_post_without_beat(stack: Stack):
    epoch, holder = wait_until(lambda: leader(stack), 10, "a leader")
    stack.hold("beat")
    stack.hold(other(holder))
    stack.kill(holder)
    assert next_leader(stack, epoch, 20)[1] == holder
    stack.release("beat")
    stack.release(other(holder))
