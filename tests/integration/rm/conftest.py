"""A sub-cluster with real stores, hollow nodes and RMs that are driven round by round."""

from collections.abc import Iterator

import pytest

from controlplane.router import cluster as routing
from controlplane.statestore.queries.subclusters import places
from tests import invariants
from tests.integration.rm.cluster import Cluster


@pytest.fixture
def cluster(transactional_db: None) -> Iterator[Cluster]:
    """Two nodes of 4 GiB and four cores, one queue without limits. Checked for every invariant at the end."""
    routing.forget()  # of the cluster of the test before, which this process may have routed to half a second ago
    places.forget()
    c = Cluster()
    try:
        yield c
        assert not invariants.violations(c.rows)
    finally:
        c.close()
