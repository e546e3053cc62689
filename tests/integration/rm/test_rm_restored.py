"""A database that was put back to an older state: no epoch is given out again."""

import redis
from django.conf import settings

from controlplane.rm import tasks
from controlplane.statestore.membership import Leadership, take
from controlplane.statestore.models import Lease
from tests.integration.rm.cluster import LEASE_S, Cluster, Leading
from wire import keys, status

RESTORED = "UPDATE statestore_lease SET epoch = 1, expires_at = clock_timestamp() - interval '1 s' RETURNING 1"


def leaders(cluster: Cluster, count: int) -> None:
    """So many leaders one after the other, whose documents the nodes obey."""
    for _ in range(count):
        leader = cluster.lead()
        leader.round()
        cluster.nodes.step()
        cluster.expire()


def taken(cluster: Cluster) -> Leadership:
    """As a worker takes the post."""
    found = take(cluster.sub.pk, "next", LEASE_S, lambda epoch: tasks.given_out(cluster.sub.pk, epoch))
    assert found is not None
    cluster.leaders.append(Leading(found))
    return found


def test_redis_remembers_what_the_row_has_forgotten(cluster: Cluster) -> None:
    leaders(cluster, 3)
    cluster.rows(RESTORED)
    assert taken(cluster).epoch == 4


def test_nodes_remember_what_row_and_redis_have_forgotten(cluster: Cluster) -> None:
    leaders(cluster, 3)
    cluster.rows(RESTORED)
    r = redis.Redis.from_url(settings.REDIS_URL)
    r.delete(keys.leader_epoch(cluster.sub.pk))
    assert taken(cluster).epoch == 4
    leader = cluster.leaders[-1]
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert set(leader.memory.nodes.echo_epoch[:2].tolist()) == {4}, "they obey the new leader"


def test_nonsense_in_the_place_of_a_status_and_a_redis_that_is_gone_keep_nobody_from_leading(
    cluster: Cluster, settings: object
) -> None:
    leaders(cluster, 2)
    r = redis.Redis.from_url(settings.REDIS_URL)  # type: ignore[attr-defined]
    r.set(keys.status(cluster.sub.pk, cluster.ids[0]), b"nonsense")
    far = status.encode(status.NodeStatus(cluster.ids[1], 10**15, 2**19, 1))
    r.set(keys.status(cluster.sub.pk, cluster.ids[1]), far)
    assert taken(cluster).epoch == 3
    cluster.expire()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # type: ignore[attr-defined]
    assert tasks.given_out(cluster.sub.pk, 3) == 3
    assert Lease.objects.get().epoch == 3
