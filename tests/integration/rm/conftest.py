"""A sub-cluster with real stores, hollow nodes and RMs that are driven round by round."""

from collections.abc import Iterator

import pytest

from tests import invariants
from tests.integration.rm.cluster import Cluster


@pytest.fixture
def cluster(transactional_db: None) -> Iterator[Cluster]:
    """Two nodes of 4 GiB and four cores, one queue without limits. Checked for every invariant at the end."""
    c = Cluster()
    try:
        yield c
        assert not invariants.violations(c.rows)
    finally:
        c.close()
