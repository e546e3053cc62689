"""A leader whose work outlasts its lease goes on leading; one that gets nowhere does not."""

import threading
import time

import pytest

from controlplane.rm.adapters.clock import HostClock
from controlplane.rm.driver.leasekeeper import PATIENCE, LeaseKeeper
from controlplane.statestore.membership import Leadership, take
from controlplane.statestore.models import Lease
from tests.integration.rm.cluster import Cluster
from tests.limits import no_sooner
from tests.patience import let_pass, wait_until

LEASE_S = 0.4
pytestmark = pytest.mark.faults  # leases this short outlive no stall


def taken(cluster: Cluster, by: str) -> Leadership | None:
    return take(cluster.sub.pk, by, LEASE_S)


def keepers() -> int:
    return sum(thread.name == "keeper" for thread in threading.enumerate())


def test_long_work_keeps_its_lease_for_as_long_as_our_patience_lasts(cluster: Cluster) -> None:
    keeper = LeaseKeeper(LEASE_S, HostClock())
    first = taken(cluster, "first")
    assert first is not None
    with keeper.keeping(first):
        with no_sooner(PATIENCE * LEASE_S, "patience ended"):
            wait_s = (PATIENCE + 5) * LEASE_S
            second = wait_until(lambda: taken(cluster, "second"), wait_s, "patience ends", LEASE_S / 10)
        assert second.epoch == first.epoch + 1
        with keeper.keeping(second):
            second.renewed_at = time.monotonic() - LEASE_S
            first.renewed_at = time.monotonic() - LEASE_S  # it wakes, and would be late: its epoch is over
            let_pass(2 * LEASE_S)
            assert taken(cluster, "third") is None
            assert Lease.objects.get().holder == "second"
    second.release()


def test_a_leader_that_renews_by_itself_costs_nothing_and_none_is_kept_after_its_end(cluster: Cluster) -> None:
    keeper, first = LeaseKeeper(LEASE_S, HostClock()), taken(cluster, "first")
    assert first is not None
    with keeper.keeping(first):
        for _ in range(20):
            first.renewed_at = time.monotonic()
            let_pass(LEASE_S / 8)
        assert keeper._session is None, "nothing was asked of the database"
        assert keepers() == 1
    wait_until(lambda: keepers() == 0, 5, "its thread has ended")
    wait_until(lambda: taken(cluster, "second"), 5 * LEASE_S, "the lease has run out").release()
