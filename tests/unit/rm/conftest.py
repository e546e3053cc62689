"""A sub-cluster in memory, whose RMs are driven round by round in milliseconds."""

import pytest

from tests.doubles import MemoryCluster


@pytest.fixture
def cluster() -> MemoryCluster:
    """Two nodes of 4 GiB and four cores, one queue without limits."""
    return MemoryCluster()
