"""A worker that hears nothing while its broker answers ends itself; one without a broker does not."""

from collections.abc import Iterator

import pytest

from controlplane import shutdown, worker
from controlplane.embedded.home import Home
from controlplane.worker import EX_TEMPFAIL, Pulse


@pytest.fixture(autouse=True)
def fresh_flag(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(worker, "RESIGN_S", 0.0)
    shutdown.requested.clear()
    yield
    shutdown.requested.clear()


def pulse(name: str) -> tuple[Pulse, list[int]]:
    ended: list[int] = []
    return Pulse(name, [], every_s=0.05, deaf_s=0.2, end=ended.append), ended


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
