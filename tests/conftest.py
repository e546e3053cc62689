"""Fixtures for all tests. Those that touch the database get the embedded one by themselves."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.embedded.home import Home
from tests.stack import Stack

# A run started in the background inherits "SIGINT is ignored", and so would everything that it starts.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def django_db_setup(stores: Home, django_db_setup: None) -> None:
    """The test database lies in the embedded Postgres, so that starts first."""


@pytest.fixture(scope="session")
def soak() -> bool:
    """Whether the long variants are wanted."""
    return os.environ.get("HYDRA_SOAK") == "1"


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    """A whole stack of two sub-clusters with two nodes each, started and stopped for this test."""
    with Stack(tmp_path / "home") as running:
        yield running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in these folders carry their marker by themselves."""
    for item in items:
        for kind in ("acceptance", "browser"):
            if kind in item.path.parts:
                item.add_marker(kind)
