"""Which epochs are taken for given out, and what a leader does that hears of a later one."""

import numpy as np
import pytest

from controlplane.rm.driver.epochs import LEAP, NEAR, believed
from controlplane.rm.ports import Outdated
from tests.doubles import MemoryCluster
from tests.unit.rm.test_rm_loop import Serving
from wire import status
from wire.ids import EPOCH_MAX


@pytest.mark.parametrize(
    ("known", "told", "expected"),
    [
        (4, [], 4),
        (4, [0, 0], 4),
        (4, [3, 4, 4], 4),
        (4, [9, 9, 9], 9),
        (4, [9], 9),
        (4, [9, 9, 9, 0, 2], 9),
        (4, [4, 4, 6], 6),  # one that was away has obeyed a later one
        (4, [4, 4, 4, 4 + NEAR + 1], 4),  # one alone leads nobody far
        (4, [90, 91, 92], 92),
        (4, [EPOCH_MAX] * 3, 4),
        (4, [5 + LEAP] * 3, 4),
        (EPOCH_MAX - 1, [EPOCH_MAX] * 3, EPOCH_MAX - 1),
    ],
)
def test_the_highest_that_may_have_been_given_out(known: int, told: list[int], expected: int) -> None:
    assert believed(known, np.array(told, np.int64)) == expected


def told(serving: Serving, epoch: int) -> None:
    """A node says that it obeys this epoch."""
    redis, node = serving.cluster.nodes.redis, serving.cluster.ids[0]
    before = status.decode(redis.statuses[node])
    serving.silent = {node}
    redis.report({node: status.encode(status.NodeStatus(node, before.seq + 1, epoch, 1))})


def test_a_leader_that_hears_of_a_later_epoch_leads_anew_but_not_over_and_over(cluster: MemoryCluster) -> None:
    serving = Serving(cluster, run_s=1.0)
    asked = []
    serving.loop.step_aside = lambda: bool(asked.append(1)) or len(asked) > 1
    told(serving, cluster.sub.lease.epoch + 2)
    serving.until(lambda: bool(asked), 5, "it has heard")
    with pytest.raises(Outdated, match="epoch"):
        serving.until(lambda: False, 5, "it steps aside")


def test_an_epoch_beyond_belief_moves_nobody(cluster: MemoryCluster) -> None:
    cluster.add_node("n2")
    serving = Serving(cluster, run_s=1.0)
    told(serving, cluster.sub.lease.epoch + 500)
    ends = cluster.clock.now + 3
    serving.until(lambda: cluster.clock.now > ends, 5, "nothing happens")
