"""What is looked at every second: each duty gets its turn, whatever becomes of the others."""

import pytest
from django.db import DatabaseError
from kombu.exceptions import OperationalError

from controlplane import duties
from controlplane.celery import app
from controlplane.statestore.actions import duty
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import Node
from tests.integration.rm.cluster import Cluster


def test_what_beat_sends_is_known_to_workers() -> None:
    app.loader.import_default_modules()
    assert {entry["task"] for entry in app.conf.beat_schedule.values()} <= set(app.tasks)


def test_a_duty_that_fails_keeps_no_other_from_its_turn(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = cluster.lead()
    duty.decommission(SYSTEM, Node.objects.get(pk=cluster.ids[0]), 60)
    leader.round()
    cluster.nodes.step()
    leader.round()

    def broker_is_down(*_: object, **__: object) -> None:
        raise OperationalError("connection refused")

    def store_stumbles() -> None:
        raise DatabaseError("deadlock detected")

    monkeypatch.setattr(duties, "offer_gpg", broker_is_down)
    monkeypatch.setattr(duties, "roll_out", store_stumbles)
    duties.look()
    assert Node.objects.get(pk=cluster.ids[0]).credential.revoked_at is not None
