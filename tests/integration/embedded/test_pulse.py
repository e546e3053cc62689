"""A worker that hears nothing while its broker answers ends itself; one without a broker does not."""

from collections.abc import Iterator

import pytest

from controlplane import shutdown, worker
from controlplane.embedded.home import Home
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import SubCluster
from controlplane.worker import EX_TEMPFAIL, Pulse, Served


@pytest.fixture(autouse=True)
def fresh_flag(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(worker, "RESIGN_S", 0.0)
    shutdown.requested.clear()
    yield
    shutdown.requested.clear()


def pulse(name: str) -> tuple[Pulse, list[int]]:
    ended: list[int] = []
    return Pulse(name, Served([]), every_s=0.05, deaf_s=0.2, end=ended.append), ended


@pytest.mark.django_db(transaction=True)
def test_a_deaf_worker_resigns_and_ends(stores: Home):
    watched, ended = pulse("deaf")
    watched.watch()
    assert ended == [EX_TEMPFAIL]
    assert shutdown.requested.is_set()


def test_without_a_broker_it_goes_on(stores: Home, monkeypatch: pytest.MonkeyPatch):
    watched, ended = pulse("alone")
    sent = []

    def refused() -> bool:
        with monkeypatch.context() as patch:
            patch.setattr(worker.app.conf, "broker_write_url", "redis://127.0.0.1:1/0")
            sent.append(Pulse.send(watched))
        if len(sent) > 2:
            shutdown.requested.set()
        return sent[-1]

    monkeypatch.setattr(watched, "send", refused)
    watched.watch()
    assert not any(sent)
    assert ended == []


@pytest.mark.django_db
def test_a_worker_for_all_listens_for_what_joins_later_and_one_for_some_does_not():
    heard: list[str] = []
    for name in ("east", "gone"):
        subclusters.create(SYSTEM, name)
    SubCluster.objects.filter(name="gone").update(state=SubCluster.State.DECOMMISSIONED)
    served, some = Served(["control"], every=True), Served(["control", "rm.east"])
    served.look()
    assert served.names == {"control"}, "not before it is ready"
    served.listen = some.listen = heard.append
    for _ in range(2):
        served.look()
        some.look()
    assert heard == ["rm.east"]
    subclusters.create(SYSTEM, "third")
    served.look()
    some.look()
    assert heard == ["rm.east", "rm.third"] and some.names == {"control", "rm.east"}


@pytest.mark.django_db
def test_a_worker_says_which_of_its_queues_lead_no_sub_cluster(monkeypatch: pytest.MonkeyPatch):
    said: list[str] = []
    monkeypatch.setattr(worker.log, "warning", lambda event, queue: said.append(queue), raising=False)
    subclusters.create(SYSTEM, "east")
    worker.warn_of_unknown(["control", "rm.east", "rm.esat"])
    assert said == ["rm.esat"]
