"""Fixtures for all tests. Those that touch the database get the embedded one by themselves."""

import gc
import signal
import sys
import warnings
from collections.abc import Iterator

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from controlplane.embedded.home import Home
from tests import emptying, seeds
from tests.machine import FACTOR
from tests.stores import migrated

# A run started in the background inherits "SIGINT is ignored", and so would everything that it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LONG = ("browser", "acceptance")
SHARED = "cluster"  # fixture of the acceptance tests
STORE_S = 60  # for a connection of the test itself: no promise is in it


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """pytest's own limit, of a quick machine, outlasts patience, which is stretched as well."""
    config.option.timeout *= FACTOR


@pytest.fixture(scope="session")
def django_db_setup(stores: Home, django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database lies in the embedded Postgres, so that starts first. Who uses it at the end is named."""
    emptying.instead_of_flushing()
    if migrated():
        with django_db_blocker.unblock():
            emptying.empty()
    yield
    gc.collect()  # connections of threads that have ended
    with django_db_blocker.unblock():
        if left := emptying.sessions_of_others():
            warnings.warn(f"a test has left sessions of its database: {left}", stacklevel=1)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Before anything connects."""
    settings = connections.settings["default"]
    settings["OPTIONS"]["connect_timeout"] = STORE_S
    if migrated():
        settings["TEST"]["TEMPLATE"] = settings["NAME"]


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether the long variants are wanted."""
    return seeds.SOAK


def pytest_collection_finish() -> None:
    """Loading hypothesis takes as long as loading Django, so only folders with properties do, and say how it draws."""
    if "hypothesis" in sys.modules and "tests.examples" not in sys.modules:
        raise pytest.UsageError("properties are tested here: import tests.examples in this folder's conftest.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in these folders carry their marker by themselves.

    What takes long comes first, so that processes that share a run, file by file, end together. Of that, files with a
    stack of their own come before those that share one: it would stand idle meanwhile, which costs a tenth of a core.
    """
    for item in items:
        for kind in LONG:
            if kind in item.path.parts:
                item.add_marker(kind)
    long = {item.path for item in items if any(kind in item.path.parts for kind in LONG)}
    sharing = {item.path for item in items if SHARED in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: (item.path not in long, item.path in long & sharing))
