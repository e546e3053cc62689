"""The GPG's post: one holder at a time, duties in turn, and nothing that one failing duty takes down."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from controlplane.gpg import tasks
from controlplane.gpg.duties import Duty
from controlplane.gpg.loop import Loop
from controlplane.policy import documents, versions
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.membership import FENCED, Post, take_post
from controlplane.statestore.models import Acknowledgement, DutyLease
from controlplane.statestore.posts import GPG, gpg_is_free
from tests.patience import let_pass, stretched, wait_until

LEASE_S = 15.0
SHORT_S = 2.0


@pytest.fixture
def post(transactional_db: None) -> Iterator[Post]:
    assert gpg_is_free()
    found = take_post(GPG, "first", LEASE_S)
    assert found is not None
    yield found
    found.release()


def expire() -> None:
    """The lease runs out, as it does for one that has stopped."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE statestore_dutylease SET expires_at = clock_timestamp() - interval '1 s'")


def test_one_has_the_post_and_a_successor_ends_his_session(post: Post) -> None:
    assert not gpg_is_free() and take_post(GPG, "second", LEASE_S) is None
    expire()
    assert gpg_is_free()
    successor = take_post(GPG, "second", LEASE_S)
    assert successor is not None and successor.epoch == post.epoch + 1
    with pytest.raises(psycopg.OperationalError):
        post.fence(LEASE_S)
    successor.release()
    assert gpg_is_free(), "who resigns makes nobody wait"


def test_who_was_replaced_cannot_fence(post: Post) -> None:
    post.connection.execute("SET application_name = 'hidden'")
    expire()
    successor = take_post(GPG, "second", LEASE_S)
    assert successor is not None
    with pytest.raises(psycopg.Error) as fenced:
        post.fence(LEASE_S)
    assert fenced.value.sqlstate == FENCED
    successor.release()


def test_a_duty_that_fails_keeps_no_other_from_running(post: Post) -> None:
    ran: list[str] = []

    def broken(_: Post) -> None:
        ran.append("broken")
        raise ValueError("no")

    def refused(held: Post) -> None:
        held.connection.execute("SELECT no_such_thing")

    def works(_: Post) -> None:
        ran.append("works")

    loop = Loop(post, [Duty(f.__name__, lambda: 0.01, f) for f in (broken, refused, works)], SHORT_S)
    stop = threading.Event()
    thread = threading.Thread(target=loop.run, args=(stop,))
    thread.start()
    wait_until(lambda: ran.count("works") > 5, 10, "duties run again and again")
    let_pass(SHORT_S)  # longer than the lease, which is renewed meanwhile
    wait_until(lambda: not gpg_is_free(), 5, "it is held")
    stop.set()
    thread.join()
    assert ran.count("broken") > 5


def test_the_loop_ends_when_another_has_the_post(post: Post) -> None:
    post.connection.execute("SET application_name = 'hidden'")
    ended: list[str | None] = []

    def run() -> None:
        try:
            Loop(post, [], SHORT_S).run(threading.Event())
        except psycopg.Error as error:
            ended.append(error.sqlstate)

    thread = threading.Thread(target=run)
    thread.start()
    DutyLease.objects.update(epoch=post.epoch + 1)
    thread.join(stretched(10))
    assert ended == [FENCED]


def test_a_policy_is_taken_in_at_once_and_acknowledged(post: Post, stores: object) -> None:
    version = versions.publish(SYSTEM, documents.DEFAULT, "one").pk
    stop = threading.Event()
    thread = threading.Thread(target=tasks.serve, args=(post, LEASE_S, stop))
    thread.start()

    def says(wanted: int) -> bool:
        return Acknowledgement.objects.filter(kind="gpg", name="first", version=wanted).exists()

    wait_until(lambda: says(version), 10, "the GPG says which version it runs")
    version = versions.publish(SYSTEM, documents.DEFAULT | {"partitions": {}}, "two", force=True).pk
    wait_until(lambda: says(version), 5, "and the next one")
    stop.set()
    thread.join(stretched(10))
    assert not thread.is_alive()
