"""A small federation in which something has happened."""

import threading
from collections.abc import Iterator

import pytest

from controlplane import kernels
from controlplane.accounts.models import Role, User
from controlplane.policy import versions
from controlplane.statestore.actions import accounts, subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import SubCluster
from scheduler.core.compiled import interpret

POLICY = {
    "queues": {
        "default": {"guaranteed": 0.5, "open_to_all": True},
        "prod": {"guaranteed": 0.5, "children": {"etl": {}, "web": {}}},
    }
}


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Who answers here switches to compiled kernels; other tests begin without, as they would alone."""
    monkeypatch.setattr(kernels, "_done", threading.Event())
    yield
    interpret()


@pytest.fixture
def operator(transactional_db: None) -> User:
    return accounts.create(SYSTEM, "operator", "a-long-enough-password", Role.OPERATOR)


@pytest.fixture
def west(transactional_db: None) -> SubCluster:
    versions.publish(SYSTEM, POLICY, "for tests")
    sub = subclusters.create(SYSTEM, "west")
    SubCluster.objects.filter(pk=sub.pk).update(state="running")
    return sub


@pytest.fixture
def east(west: SubCluster) -> SubCluster:
    sub = subclusters.create(SYSTEM, "east")
    SubCluster.objects.filter(pk=sub.pk).update(state="running")
    return sub
