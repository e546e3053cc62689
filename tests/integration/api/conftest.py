"""Fixtures of the API's tests."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache, caches
from django.db import connections
from pytest_django import DjangoDbBlocker

from controlplane.router import cluster
from controlplane.statestore import bus
from controlplane.statestore.queries.subclusters import places
from tests.integration.api.kept import Kept
from tests.integration.api.world import World, build_world


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Kept]:
    kept = Kept()
    yield kept
    with django_db_blocker.unblock():
        kept.end()


@pytest.fixture
def _met(request: pytest.FixtureRequest, kept: Kept, django_db_blocker: DjangoDbBlocker) -> None:
    with django_db_blocker.unblock():
        kept.meet(request.node)


@pytest.fixture
def _django_db_helper(_met: None, _django_db_helper: None) -> None:
    """pytest-django's own, after the world around the test's transaction."""


@pytest.fixture
def world(db: None, kept: Kept) -> World:
    return kept.world() or build_world()


@pytest.fixture(autouse=True)
def threads_keep_nothing(django_db_setup: None) -> None:
    """Threads of the views give their connections back, or the test database could not be removed."""
    connections.settings["default"]["CONN_MAX_AGE"] = 0


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """What a process remembers between requests does not pass from test to test."""
    cluster.forget()
    places.forget()
    cache.clear()
    caches["throttles"].clear()
    bus.breaker = bus.Breaker()
    yield
    cluster.forget()
