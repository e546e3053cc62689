"""One control plane and one node per test, both real processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.nodemanager.plane import NodeProcess, Plane


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    world = Plane(tmp_path)
    yield world
    world.close()


@pytest.fixture
def node(plane: Plane, tmp_path: Path) -> Iterator[NodeProcess]:
    process = NodeProcess(plane, tmp_path / "n")
    process.start()
    yield process
    process.close()
