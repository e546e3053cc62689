"""Shares over several sub-clusters: the GPG works them out, RMs go by them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from controlplane.gpg.shares import ShareDuty
from controlplane.rm.driver.load import LoadReporter
from controlplane.statestore.membership import FENCED, Post, take_post
from controlplane.statestore.posts import GPG, gpg_is_free
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import OPEN, another

LEASE_S = 60.0
MEMORY, CORES = 4096, 4000  # of a node; each sub-cluster has two


class Federation:
    """Three sub-clusters with their RMs, and the GPG, each stepped by hand."""

    def __init__(self, first: Cluster):
        self.clusters = [first, another(first, "east"), another(first, "north")]
        self.leaders: list[Leading] = [c.lead() for c in self.clusters]
        self.reporters = [LoadReporter() for _ in self.clusters]
        assert gpg_is_free()
        self.post = self.take()
        self.duty = ShareDuty(LEASE_S)

    def take(self) -> Post:
        post = take_post(GPG, "test", LEASE_S)
        assert post is not None
        return post

    def rounds(self, times: int = 2) -> None:
        for _ in range(times):
            for cluster, leader in zip(self.clusters, self.leaders, strict=True):
                cluster.nodes.step()
                leader.round()

    def tell(self) -> None:
        """Every RM writes its load."""
        for cluster, leader, reporter in zip(self.clusters, self.leaders, self.reporters, strict=True):
            leader.clock.ahead_s += 2.0
            reporter.report(leader.memory, cluster.sub.pk, leader.store, leader.clock)

    def generate(self) -> None:
        """The GPG works shares out, and the RMs take them."""
        self.tell()
        self.duty.run(self.post)
        self.take_shares()

    def take_shares(self) -> None:
        for leader in self.leaders:
            m = leader.memory
            if m.shares.refresh(leader.store, leader.clock, hinted=True):
                m.placeable = True

    def cycle(self, times: int = 1) -> None:
        for _ in range(times):
            self.generate()
            self.rounds()

    def guaranteed(self, queue: str, column: str = "guaranteed") -> list[int]:
        """Memory of the queue in each sub-cluster, as the next round sees it."""
        found = []
        for leader in self.leaders:
            m = leader.memory
            nodes, own = m.nodes_of(0)
            view = m.queues.view("", m.capacity(nodes[own]), m.ledger.queues[0])
            amounts: Any = getattr(view, column)
            found.append(int(amounts[m.queues.index[queue], 0]))
        return found

    def used(self, queue: str) -> list[int]:
        return [int(x.memory.ledger.queues[0, x.memory.queues.index[queue], 0]) for x in self.leaders]

    def versions(self) -> list[int]:
        return [x.memory.shares.assigned.version if x.memory.shares.assigned else 0 for x in self.leaders]


@pytest.fixture
def federation(cluster: Cluster) -> Iterator[Federation]:
    f = Federation(cluster)
    yield f
    f.post.release()


def policy(cluster: Cluster, queues: dict[str, Any], **components: Any) -> None:
    """Asks stay where their job is at home, so that a test chooses where demand is."""
    cluster.policy(queues, None, amrmproxy={"policy": "home"}, **components)


def _submit(cluster: Cluster, queue: str, count: int, **more: Any) -> int:
    return cluster.submit({"count": count, "resources": {"memory_mib": 128, "vcores_milli": 125}}, queue=queue, **more)


def test_a_queue_gets_its_share_where_its_demand_is(federation: Federation) -> None:
    """The example of the paper's section 4.2: 20 % of all become 30 % here and 10 % there."""
    f = federation
    west, east, _ = f.clusters
    policy(west, {"q1": {"guaranteed": 0.2, **OPEN}, "q2": {"guaranteed": 0.8, **OPEN}})
    f.rounds()
    for c in f.clusters:
        _submit(c, "root.q2", 64)
    f.rounds(3)
    f.generate()
    assert f.used("root.q2") == [64 * 128] * 3
    whole, each = 3 * 2 * MEMORY, 2 * MEMORY
    _submit(west, "root.q1", 24)  # 37.5 % of west
    _submit(east, "root.q1", 13)  # and 20.3 % of east: together 19.3 % of all
    f.rounds(1)
    f.generate()
    assert f.guaranteed("root.q1") == [24 * 128, 13 * 128, 0]
    assert f.guaranteed("root.q1", "owed") == f.guaranteed("root.q1")
    assert sum(f.guaranteed("root.q2")) == whole - 37 * 128
    assert all(a + b <= each for a, b in zip(f.guaranteed("root.q1"), f.guaranteed("root.q2"), strict=True))


def test_shares_follow_the_demand_and_are_reclaimed_there(federation: Federation) -> None:
    f = federation
    west, east, _ = f.clusters
    policy(
        west,
        {"q1": {"guaranteed": 0.25, **OPEN}, "q2": {"guaranteed": 0.75, **OPEN}},
        preemption={"policy": "owed", "parameters": {"grace_s": 0, "interval_s": 0, "dead_zone": 0, "per_round": 1.0}},
    )
    f.rounds()
    for c in f.clusters:
        _submit(c, "root.q2", 64)
    f.rounds(3)
    job = _submit(west, "root.q1", 48)  # all of its quarter of everything, in one place
    f.rounds(1)
    for _ in range(6):
        f.cycle()
    assert f.used("root.q1") == [48 * 128, 0, 0]
    assert f.guaranteed("root.q1") == [48 * 128, 0, 0]
    west.kill(job)
    f.rounds(3)
    _submit(east, "root.q1", 48)
    f.rounds(1)
    for _ in range(6):
        f.cycle()
    assert f.guaranteed("root.q1") == [0, 48 * 128, 0]
    assert f.used("root.q1") == [0, 48 * 128, 0]


def test_what_is_guaranteed_in_all_places_is_the_guarantee(federation: Federation) -> None:
    f = federation
    policy(f.clusters[0], {"q1": {"guaranteed": 0.3, **OPEN}, "q2": {"guaranteed": 0.7, **OPEN}})
    f.rounds()
    whole = 3 * 2 * MEMORY
    for at, count in enumerate((10, 64, 31)):
        _submit(f.clusters[at], "root.q1", count)
    _submit(f.clusters[1], "root.q2", 40)
    f.rounds(1)
    f.cycle(3)
    assert sum(f.guaranteed("root.q1", "owed")) == int(0.3 * whole)
    assert sum(f.guaranteed("root.q2", "owed")) == 40 * 128  # all it wants is within its guarantee
    assert [a + b for a, b in zip(f.used("root.q1"), f.used("root.q2"), strict=True)] == [10 * 128, 64 * 128, 31 * 128]


def test_a_queue_that_wanted_nothing_starts_where_there_is_room(federation: Federation) -> None:
    f = federation
    policy(f.clusters[0], {"q1": {"guaranteed": 0.5, **OPEN}, "q2": {"guaranteed": 0.5, **OPEN}})
    f.rounds()
    _submit(f.clusters[0], "root.q1", 20)
    f.rounds(1)
    f.cycle(2)
    _submit(f.clusters[0], "root.q2", 44)
    f.rounds(1)
    assert f.used("root.q2") == [44 * 128, 0, 0]


def test_stale_shares_stay_in_force_and_preempt_nothing(federation: Federation) -> None:
    f = federation
    west = f.clusters[0]
    policy(
        west,
        {"q1": {"guaranteed": 0.25, **OPEN}, "q2": {"guaranteed": 0.75, **OPEN}},
        preemption={"policy": "owed", "parameters": {"grace_s": 0, "interval_s": 0, "dead_zone": 0, "per_round": 1.0}},
        shares={"policy": "gif", "parameters": {"stale_s": 30}},
    )
    f.rounds()
    _submit(west, "root.q2", 64)
    f.rounds(2)
    f.cycle()
    version = f.versions()
    _submit(west, "root.q1", 48)
    f.rounds(1)
    f.generate()
    owed = f.guaranteed("root.q1", "owed")  # both want all of one place: the same part of either's guarantee
    assert owed == [3510, 0, 0] and f.versions() > version
    west.rows("UPDATE statestore_shareassignment SET at = at - interval '31 s' RETURNING 1")  # the GPG is away
    f.take_shares()
    before = f.guaranteed("root.q1")
    f.rounds(4)
    assert f.used("root.q1") == [0, 0, 0] and f.used("root.q2") == [64 * 128, 0, 0]
    assert f.guaranteed("root.q1") == before
    shares = f.leaders[0].memory.shares
    assert shares.assigned is not None and shares.assigned.version == f.versions()[0]
    shares.assigned = replace(shares.assigned, version=0, tables={})  # there was no node of this partition at the time
    f.rounds(4)
    assert f.used("root.q1") == [0, 0, 0] and f.used("root.q2") == [64 * 128, 0, 0]
    f.cycle(5)  # and back
    assert f.used("root.q1") == [owed[0] // 128 * 128, 0, 0]


def test_an_old_gpg_writes_nothing(federation: Federation) -> None:
    f = federation
    policy(f.clusters[0], {"q1": {"guaranteed": 1.0, **OPEN}})
    f.rounds()
    f.cycle()
    old, version = f.post, f.versions()
    f.clusters[0].rows("UPDATE statestore_dutylease SET expires_at = clock_timestamp() - interval '1 s' RETURNING 1")
    old.connection.execute("SET application_name = 'hidden'")  # a session its successor cannot find to end
    f.post = f.take()
    assert f.post.epoch == old.epoch + 1
    with pytest.raises(psycopg.Error) as fenced:
        f.duty.run(old)
    assert fenced.value.sqlstate == FENCED
    _submit(f.clusters[0], "root.q1", 3)
    f.rounds(1)
    f.tell()
    with pytest.raises(psycopg.Error):
        ShareDuty(LEASE_S).run(old)
    f.take_shares()
    assert f.versions() == version
    ShareDuty(LEASE_S).run(f.post)
    f.take_shares()
    assert min(f.versions()) > max(version)
    old.release()


def test_another_policy_takes_effect_at_once_within_what_was_assigned(federation: Federation) -> None:
    f = federation
    west = f.clusters[0]
    policy(west, {"q1": {"guaranteed": 0.5, **OPEN}, "q2": {"guaranteed": 0.5, **OPEN}})
    f.rounds()
    _submit(west, "root.q1", 60)
    f.rounds(1)
    f.cycle()
    policy(west, {"q1": {"guaranteed": 0.1, "maximum": 0.2, **OPEN}, "q3": {"guaranteed": 0.5, **OPEN}})
    f.rounds(2)
    for leader in f.leaders:
        m = leader.memory
        nodes, own = m.nodes_of(0)
        view = m.queues.view("", m.capacity(nodes[own]), m.ledger.queues[0])
        children = view.guaranteed[1:].sum(axis=0)
        assert (view.guaranteed <= view.maximum).all() and (children <= view.guaranteed[0]).all()
        assert view.settled
    f.cycle()
    assert not any(leader.memory.shares.stale for leader in f.leaders) or f.cycle() is None


def test_static_assigns_nothing(federation: Federation) -> None:
    f = federation
    policy(f.clusters[0], {"q1": {"guaranteed": 1.0, **OPEN}})
    f.rounds()
    f.cycle()
    assert min(f.versions()) > 0
    policy(f.clusters[0], {"q1": {"guaranteed": 1.0, **OPEN}}, shares={"policy": "static"})
    f.rounds()
    f.cycle()
    assert f.versions() == [0, 0, 0]
    assert f.clusters[0].one("SELECT count(*) FROM statestore_shareassignment") == 0


def test_a_maximum_follows_the_demand_and_is_never_exceeded(federation: Federation) -> None:
    """A quarter of all, wanted first in one place and then in another: more than that place's part by size."""
    f = federation
    west, east, _ = f.clusters
    policy(west, {"q1": {"guaranteed": 0.25, "maximum": 0.25, **OPEN}, "q2": {"guaranteed": 0.75, **OPEN}})
    f.rounds()
    most = 3 * 2 * MEMORY // 4
    job = _submit(west, "root.q1", 60)
    f.rounds(1)
    assert f.used("root.q1") == [most // 3, 0, 0], "its part by size, before anything is assigned"
    for _ in range(4):
        f.cycle()
        assert sum(f.guaranteed("root.q1", "maximum")) <= most
    assert f.used("root.q1") == [most, 0, 0]
    west.kill(job)
    _submit(east, "root.q1", 60)
    for _ in range(6):
        f.rounds(1)
        f.tell()
        f.duty.run(f.post)
        for leader in f.leaders:  # one after the other takes the new ones: whatever mixture is in force
            leader.memory.shares.refresh(leader.store, leader.clock, hinted=True)
            leader.memory.placeable = True
            assert sum(f.guaranteed("root.q1", "maximum")) <= most
            leader.round()
            assert sum(f.used("root.q1")) <= most
    assert f.used("root.q1") == [0, most, 0]


@pytest.mark.parametrize(("name", "here"), [("gif", 48), ("load_based", 48), ("uniform", 16), ("static", 16)])
def test_policies_by_name(federation: Federation, name: str, here: int) -> None:
    """A quarter of all, wanted in one place where the other queue wants nothing beyond what it has elsewhere."""
    f = federation
    queues = {"q1": {"guaranteed": 0.25, **OPEN}, "q2": {"guaranteed": 0.75, **OPEN}}
    policy(f.clusters[0], queues, shares={"policy": name})
    f.rounds()
    _submit(f.clusters[0], "root.q1", 48)
    for c in f.clusters[1:]:
        _submit(c, "root.q2", 64)
    f.rounds(1)
    f.cycle(2)
    assert f.guaranteed("root.q1")[0] >= 128 * here
    if name in ("uniform", "static"):
        assert f.guaranteed("root.q1") == [128 * here] * 3
