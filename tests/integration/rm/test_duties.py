"""What is looked at every second: each duty gets its turn, whatever becomes of the others."""

import datetime as dt
from typing import Any

import pytest
from django.db import DatabaseError
from django.db.models import Model
from django.utils import timezone
from kombu.exceptions import OperationalError

from controlplane import duties
from controlplane.celery import app
from controlplane.statestore import due
from controlplane.statestore.actions import duty
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import (
    Lease,
    Node,
    PolicyOverride,
    PolicyVersion,
    Rollout,
    Schedule,
    Simulation,
    SubCluster,
)
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
    monkeypatch.setattr(duties, "take_in", store_stumbles)
    SubCluster.objects.update(state="joining")
    duties.look()
    assert Node.objects.get(pk=cluster.ids[0]).credential.revoked_at is not None


def test_what_is_due_is_found_by_one_look_and_what_is_not_is_none(cluster: Cluster) -> None:
    assert due.kinds() == {"unled"}, "nobody has led yet"
    cluster.lead()
    now, hour = timezone.now(), dt.timedelta(hours=1)
    version, owner = PolicyVersion.objects.get(active=True), cluster.user
    assert due.kinds() == set()
    held = {"from_version": version, "version": version, "stages": [], "created_at": now}
    asked = {"base": version, "document": {}, "requested_at": now, "begins_at": now, "ends_at": now}
    changed = {"queue": "root", "field": "weight", "change": {}, "created_at": now, "ends_at": now + hour}
    often = {"cron": "* * * * *", "zone": "UTC", "job": "", "template": {}, "start_within_s": 60, "keep": 1}
    often |= {"owner": owner, "created_at": now, "changed_at": now, "queue": "root.default"}

    def alone(kind: type[Model], **row: Any) -> set[str]:
        """What is due while there is this row, which goes again."""
        made = kind._default_manager.create(**row)
        found = due.kinds()
        made.delete()
        return found

    assert alone(Rollout, **held) == {"rollouts"}
    assert alone(Rollout, **held, live=False) == set()
    for state in (Simulation.State.QUEUED, Simulation.State.RUNNING):
        assert alone(Simulation, **asked, state=state) == {"simulations"}
    assert alone(Simulation, **asked, state=Simulation.State.DONE) == set()
    assert alone(PolicyOverride, **changed, starts_at=now) == {"overrides"}
    assert alone(PolicyOverride, **changed, starts_at=now + hour) == set()
    assert alone(PolicyOverride, **changed, starts_at=now, cancelled_at=now) == set()
    assert alone(Schedule, **often, name="due", look_at=now) == {"schedules"}
    assert alone(Schedule, **often, name="later", look_at=now + hour) == alone(Schedule, **often, name="never") == set()
    PolicyVersion.objects.filter(pk=version.pk).update(overrides=[1])
    assert due.kinds() == {"overrides"}, "one that is over is in the version still"
    PolicyVersion.objects.filter(pk=version.pk).update(overrides=[])
    SubCluster.objects.update(state="joining")
    duty.decommission(SYSTEM, Node.objects.get(pk=cluster.ids[0]), 60)
    assert due.kinds() == {"sub_clusters", "nodes"}
    SubCluster.objects.update(state="lost")
    assert due.kinds() == {"unled", "nodes"}
    SubCluster.objects.update(state="running")
    Lease.objects.update(silent_since=now)
    assert due.kinds() == {"unled", "nodes"}, "somebody leads again, and that is to be noted"
