"""Posts are taken without a message, and so without a broker."""

import socket
import threading
from collections.abc import Iterator

import pytest

from controlplane import celery, shutdown, standby
from controlplane.rm import tasks
from controlplane.standby import Standby
from controlplane.statestore import posts
from controlplane.statestore.models import DutyLease, Lease
from controlplane.worker import Served
from tests.integration.rm.cluster import Cluster
from tests.patience import stretched, wait_until


@pytest.fixture
def cluster(transactional_db: None) -> Iterator[Cluster]:
    c = Cluster()
    shutdown.requested.clear()
    yield c
    shutdown.requested.clear()
    c.close()


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(celery.app.conf, "broker_write_url", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(celery.app.conf, "broker_read_url", "redis://127.0.0.1:1/0")


@pytest.mark.usefixtures("no_broker")
def test_free_posts_are_taken_and_given_up_without_a_broker(cluster: Cluster) -> None:
    watching = Standby(Served(["control"], every=True).takes, every_s=0.1)
    watching.start()
    try:
        wait_until(lambda: Lease.objects.get().epoch == 1, 20, "it leads")
        wait_until(lambda: not posts.gpg_is_free(), 20, "it has the GPG's post")
        cluster.rows("SELECT pg_terminate_backend(backend_pid) FROM statestore_lease")
        wait_until(lambda: Lease.objects.get().epoch == 2, 30, "it leads again after its session was lost")
    finally:
        shutdown.requested.set()
        watching.join(stretched(20))
    assert cluster.one("SELECT expires_at <= clock_timestamp() FROM statestore_lease"), "the post is free at once"
    assert posts.gpg_is_free() and DutyLease.objects.get(name=posts.GPG).epoch == 1


def test_only_what_it_serves_is_taken_and_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    led: list[int] = []

    def hold(sub: int) -> None:
        led.append(sub)
        shutdown.requested.wait()

    monkeypatch.setattr(standby, "lead", hold)
    for serves, found in ((["rm.elsewhere", "control-not"], []), ([f"rm.{cluster.sub.name}"], [cluster.sub.pk])):
        watching = Standby(Served(serves).takes)
        for _ in range(3):
            watching.look()
        wait_until(lambda found=found: led == found, 5, f"with {serves}")
    assert posts.gpg_is_free(), "it does not serve the GPG's post"
    shutdown.requested.set()
    watching.join(stretched(5))


def test_handing_over_waits_a_moment_for_a_broker_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as hung:  # it takes connections and answers nothing
        monkeypatch.setattr(celery.app.conf, "broker_write_url", f"redis://127.0.0.1:{hung.getsockname()[1]}/0")
        handing_over = threading.Thread(target=tasks._hand_over, args=(1, "worker-b"), daemon=True)
        handing_over.start()
        wait_until(lambda: not handing_over.is_alive(), 10, "it goes on without")
