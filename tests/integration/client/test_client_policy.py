"""A policy pushed to a cluster that runs."""

from datetime import UTC, datetime, timedelta

from client import PolicyOverride
from tests.machine import FACTOR
from tests.patience import wait_until
from tests.stack import Stack


def test_a_pushed_policy_is_in_force(cluster: Stack) -> None:
    operator = cluster.client("operator")
    old = operator.policy()
    assert old.document is not None
    queues = old.document["queues"] | {"default": {"open_to_all": True, "maximum": {"memory_mib": "100 MiB"}}}
    new = operator.apply_policy(old.document | {"queues": queues}, "a small default queue", parent=old.version)
    wait_until(lambda: operator.sub_clusters()[0].policy_version == new.version, 5, "the leader says so")
    group = {"name": "g", "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    assert operator.wait(operator.submit({"name": "fits", "groups": [group]}).id, timeout_s=30).succeeded
    large = group | {"resources": {"memory_mib": 101, "vcores_milli": 100}}
    waiting = operator.submit({"name": "too-large", "groups": [large]})
    operator.apply_policy(old.document, "as before")
    assert operator.wait(waiting.id, timeout_s=30).succeeded


def test_an_override_begins_and_ends_by_itself(cluster: Stack) -> None:
    """A duty puts it in force and out of it; the RM lets the job wait meanwhile, and start afterwards."""
    operator, now = cluster.client("operator"), datetime.now(UTC)
    begins, ends = now + timedelta(seconds=2), now + timedelta(seconds=2 + 6 * FACTOR)
    made = operator.add_override("root.default", "max_running_jobs", {"to": 0}, ends, "a pause", starts_at=begins)
    assert isinstance(made, PolicyOverride) and made.state == "planned"
    wait_until(lambda: operator.policy().overrides == [made.id], 10, "in force")
    assert datetime.now(UTC) >= begins
    version = operator.policy().version
    wait_until(lambda: operator.sub_clusters()[0].policy_version == version, 5, "taken in by the RM")
    group = {"name": "g", "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    waiting = operator.submit({"name": "waits", "groups": [group]})
    done = operator.wait(waiting.id, timeout_s=30)
    assert done.succeeded and done.finished_at is not None and done.finished_at >= ends
    assert operator.policy().overrides == [] and [o.state for o in operator.overrides(everything=True)] == ["over"]
    assert [v.message.split(":")[0] for v, _ in zip(operator.policy_versions(), range(2), strict=False)] == [
        f"override {made.id} is over", f"override {made.id} begins"
    ]  # fmt: skip
