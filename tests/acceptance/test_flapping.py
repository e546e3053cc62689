"""Nodes whose heartbeats get lost: a node is lost when it has been silent for long, and for no other reason."""

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.acceptance import afterwards
from tests.acceptance.cluster import Cluster
from tests.patience import lasting, let_pass, wait_until

pytestmark = pytest.mark.faults

NODES = 200
LOST_S = 8.0
SOAK_S = 600
HEARD_LATE_S = 1.0  # the RM reads a status in its next round


@pytest.fixture
def flapping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster each: nodes of an earlier run would be silent until the next begins, unmeasured."""
    with Cluster(tmp_path_factory.mktemp("flap") / "home", nodes=0, relayed=False) as cluster:
        yield cluster


@pytest.mark.parametrize(("loss", "usual_s"), [(0.2, 8), (0.5, 25)])
def test_at_most_one_lost_for_each_real_silence(flapping: Cluster, soak: bool, loss: float, usual_s: float):
    """A silence is what the hollow nodes themselves have measured between two reports that arrived."""
    told = told_lost(flapping)
    words = ["--sub-cluster", "east", "--nodes", str(NODES), "--loss", str(loss), "--remember"]
    hollow = flapping.run("hollow", *words)
    wait_until(lambda: up(flapping) == NODES, 60, "every node was heard of")
    jobs = []
    for _ in lasting(SOAK_S if soak else usual_s):
        jobs.append(flapping.task_job("flapped", "true", count=50))
        let_pass(0.5)  # the pace of the load
    for job in jobs:
        flapping.settled(job, 60)
    afterwards.holds(flapping)
    lost = told_lost(flapping) - told
    tally = json.loads(flapping.end(hollow))
    silences = {int(node): gaps for node, gaps in tally["silences"].items()}
    outages = Counter({node: sum(gap >= LOST_S - HEARD_LATE_S for gap in gaps) for node, gaps in silences.items()})
    withheld = tally["withheld"] / (tally["withheld"] + tally["statuses"])
    print(f"measured: {withheld:.0%} lost: {lost.total()} times LOST, {outages.total()} silences of 8 s")
    assert tally["repeated"] == 0
    assert abs(withheld - loss) < 0.1
    assert all(count <= outages[node] for node, count in lost.items()), f"{lost} but {outages}"


def up(cluster: Cluster) -> int:
    return int(cluster.sql("SELECT count(*) FROM statestore_node WHERE state = 1")[0][0])


def told_lost(cluster: Cluster) -> Counter[int]:
    """How often the RM said of each node that it is lost, by node id."""
    names = [
        n
        for line in cluster.worker_logs().splitlines()
        if "nodes lost" in line
        for n in re.findall(r"hollow-\d+", line)
    ]
    ids = dict(cluster.sql("SELECT name, id FROM statestore_node"))
    return Counter(ids[name] for name in names)
