"""The topic that shows how policy versions spread: for operators."""

import pytest

from controlplane.accounts.models import Role, User
from controlplane.dashboard.snapshots import TopicRefusal, TopicSnapshot, read
from controlplane.dashboard.topics import parse
from controlplane.policy import documents, versions
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.queries.looks import Look

pytestmark = pytest.mark.django_db(transaction=True)


def test_operators_see_who_runs_which_version_and_nobody_else_does() -> None:
    topic = parse("policy")
    assert topic is not None and topic.hint == "policy"
    operator = User.objects.create(username="op", role=Role.OPERATOR)
    first = read(operator.pk, topic, Look())
    assert isinstance(first, TopicSnapshot) and '"convergence":null' in first.body
    version = versions.publish(SYSTEM, documents.DEFAULT, "first").pk
    shown = read(operator.pk, topic, Look())
    assert isinstance(shown, TopicSnapshot) and f'"version":{version}' in shown.body and shown.digest != first.digest
    for role in (Role.TENANT, Role.VIEWER):
        refused = read(User.objects.create(username=str(role), role=role).pk, topic, Look())
        assert isinstance(refused, TopicRefusal) and refused.status == 404
