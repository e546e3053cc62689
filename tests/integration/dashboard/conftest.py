"""Fixtures of the live socket's tests: a sub-cluster, two tenants, and hints and reads of their own."""

from collections.abc import Iterator

import pytest

from controlplane.accounts.models import User
from controlplane.dashboard import consumers
from controlplane.dashboard.hints import Hints
from controlplane.dashboard.reader import Reader
from controlplane.dashboard.sessions import Sessions
from controlplane.dashboard.watches import Watches
from controlplane.statestore.models import SubCluster


@pytest.fixture
def home(db: None) -> SubCluster:
    return SubCluster.objects.create(name="west")


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice", password="x" * 12)


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create_user("bob", password="x" * 12)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """A listener belongs to its event loop and each test has its own; threads keep connections to its database."""
    consumers.reader = Reader()
    consumers.hints, consumers.sessions = Hints(consumers.reader), Sessions(consumers.reader)
    consumers.watches = Watches(consumers.reader, consumers.hints)
    yield
    consumers.reader.close()
