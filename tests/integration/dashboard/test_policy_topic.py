"""The topic that shows how policy versions spread: for those who see everything."""

import pytest

from controlplane.accounts.models import Role, User
from controlplane.dashboard.snapshots import TopicRefusal, TopicSnapshot, read
from controlplane.dashboard.topics import parse
from controlplane.policy import documents, versions
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.queries.looks import Look

pytestmark = pytest.mark.django_db(transaction=True)


def test_operators_and_viewers_see_who_runs_which_version_and_tenants_do_not() -> None:
    topic = parse("policy")
    assert topic is not None and topic.hint == "policy"
    operator = User.objects.create(username="op", role=Role.OPERATOR)
    first = read(operator.pk, topic, Look())
    assert isinstance(first, TopicSnapshot) and '"convergence":null' in first.body
    version = versions.publish(SYSTEM, documents.DEFAULT, "first").pk
    shown = read(operator.pk, topic, Look())
    assert isinstance(shown, TopicSnapshot) and f'"version":{version}' in shown.body and shown.digest != first.digest
    watched = read(User.objects.create(username="auditor", role=Role.VIEWER).pk, topic, Look())
    assert isinstance(watched, TopicSnapshot) and watched.digest == shown.digest
    refused = read(User.objects.create(username="tenant", role=Role.TENANT).pk, topic, Look())
    assert isinstance(refused, TopicRefusal) and refused.status == 404
