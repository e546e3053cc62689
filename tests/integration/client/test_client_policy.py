"""A policy pushed to a cluster that runs."""

import time

from tests.stack import Stack


def test_a_pushed_policy_is_in_force_within_a_second(cluster: Stack) -> None:
    operator = cluster.client("operator")
    old = operator.policy()
    assert old.document is not None
    queues = old.document["queues"] | {"default": {"open_to_all": True, "maximum": {"memory_mib": "100 MiB"}}}
    new = operator.apply_policy(old.document | {"queues": queues}, "a small default queue", parent=old.version)
    until = time.monotonic() + 1
    while operator.sub_clusters()[0].policy_version != new.version:
        assert time.monotonic() < until, "the leader has not said so in time"
        time.sleep(0.02)
    group = {"name": "g", "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    assert operator.wait(operator.submit({"name": "fits", "groups": [group]}).id, timeout_s=30).succeeded
    large = group | {"resources": {"memory_mib": 101, "vcores_milli": 100}}
    waiting = operator.submit({"name": "too-large", "groups": [large]})
    operator.apply_policy(old.document, "as before")
    assert operator.wait(waiting.id, timeout_s=30).succeeded
