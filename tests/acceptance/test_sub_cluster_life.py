"""A third sub-cluster joins a running federation with a token, works, is drained after a look, and leaves."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from client import Client, HydraError
from contract.subclusters import Left
from tests.acceptance.cluster import running_node
from tests.homes import ready_made
from tests.patience import wait_until
from tests.stack import Stack

RESOURCES = {"memory_mib": 64, "vcores_milli": 100}
# Larger than any node of the others, in a rack of its own, with a GPU.
THIRD = {"rack": "r9", "memory_mib": 9000, "vcores_milli": 8000, "gpus": 1, "labels": {"disk": "ssd", "zone": "c"}}
TWELVE: dict[str, dict[str, Any]] = {
    "a node": {"locality": {"nodes": ["third-1"], "relax": False}},
    "a node of east": {"locality": {"nodes": ["east-1"], "relax": False}},
    "a rack": {"locality": {"racks": ["r9"], "relax": False}},
    "a label": {"node_labels": "disk == ssd"},
    "a sub-cluster": {"node_labels": "sub_cluster == west"},
    "a node as a label": {"node_labels": "node == third-1"},
    "an expression over all": {"node_labels": "sub_cluster == east || disk == ssd && zone in (b, c)"},
    "memory": {"resources": {"memory_mib": 8000, "vcores_milli": 100}},
    "cores": {"resources": {"memory_mib": 64, "vcores_milli": 5000}},
    "a GPU": {"resources": RESOURCES | {"gpus": 1}},
    "a gang larger than one of the others": {
        "gang": True, "count": 3, "resources": {"memory_mib": 64, "vcores_milli": 2000},
    },
    "a gang with a label": {"gang": True, "count": 4, "node_labels": "disk == ssd"},
}  # fmt: skip


@pytest.mark.acceptance
def test_a_third_sub_cluster_joins_works_is_drained_and_leaves(tmp_path: Path) -> None:
    gate = Path(tempfile.mkdtemp(prefix="hydra-gate-"))
    gate.chmod(0o755)
    group = {"name": "g", "count": 3, "shell": True, "resources": RESOURCES, "grace_s": 1}
    group["command"] = f"until [ -e {gate}/open ]; do sleep 0.1; done"
    with Stack(ready_made(tmp_path / "home"), nodes=1) as stack:
        operator, tenant = stack.client("operator"), stack.client("tenant")
        before = {p["name"]: p["pid"] for p in stack.state()["processes"]}
        token = operator.sub_cluster_token("third").token
        with Client(stack.url) as anonymous:
            joined = anonymous.register_sub_cluster("third", token)
            with pytest.raises(HydraError, match="used"):
                anonymous.register_sub_cluster("third", token)
        assert (joined.state, joined.queue) == ("joining", "rm.third")
        wait_until(lambda: operator.sub_cluster("third").leader, 20, "a running worker leads it")
        late = never_yet(tenant)
        with running_node(stack.url, joined.join_token, "third-1", **THIRD):
            wait_until(lambda: operator.sub_cluster("third").state == "running", 30, "it runs")
            run_where_they_can(tenant, late)
            for name in ("east", "west"):
                operator.drain_sub_cluster(name)
            job = wait_until(lambda: submitted(tenant, group, "third"), 10, "a job is at home there")
            for name in ("east", "west"):
                operator.resume_sub_cluster(name)
            wait_until(lambda: nodes_of(tenant, job) == ["third-1"] * 3, 30, "it runs there")
            with pytest.raises(HydraError, match="drain it first"):
                operator.decommission_sub_cluster("third")

            seen = operator.sub_cluster_drain_preview("third", deadline_s=15)
            assert (seen.jobs, seen.containers, seen.unknown) == (1, 3, 3) and seen.fits, seen
            assert {s.sub_cluster for s in seen.others} == {"east", "west"} and not seen.tied
            drained = operator.drain_sub_cluster("third", deadline_s=15, message="the hall is sold")
            assert drained.state == "draining" and drained.left == Left(jobs=1, containers=3)
            with pytest.raises(HydraError, match="still has 1 job and 3 containers"):
                operator.decommission_sub_cluster("third")
            wait_until(lambda: not operator.sub_cluster("third").live_containers, 30, "nothing runs there any more")
            wait_until(lambda: next(operator.nodes(name="third-1")).drained, 10, "its node shows it")
            wait_until(lambda: elsewhere(nodes_of(tenant, job)) == 3, 60, "its tasks run elsewhere")
            told = [e.message for e in tenant.events(job) if e.kind == "drain"]
            assert told and all("the hall is sold" in message for message in told)
            wait_until(lambda: operator.sub_cluster("third").left == Left(jobs=0, containers=0), 30, "its job leaves")
            assert tenant.job(job).home in {"east", "west"} and not tenant.job(job).succeeded
            gone = operator.decommission_sub_cluster("third", "the hall is sold")
            assert gone.state == "decommissioned" and gone.leader is None
            (gate / "open").touch()
            assert tenant.wait(job, timeout_s=60).succeeded
        assert tenant.submit({"name": "after", "groups": [group]}).home in {"east", "west"}
        assert {p["name"]: p["pid"] for p in stack.state()["processes"]} == before, "nothing was restarted for it"
    shutil.rmtree(gate)


def asking(tenant: Client, **more: Any) -> int:
    """A job of one group that ends at once."""
    group = {"name": "g", "command": ["true"], "resources": RESOURCES}
    return tenant.submit({"name": "asks", "groups": [group | more]}).id


def never_yet(tenant: Client) -> int:
    """A job that no node there is can hold, and that says so."""
    job = asking(tenant, gang=True, count=4, node_labels="disk == ssd")

    def told() -> bool:
        (group,) = tenant.explain(job).groups
        found = group.reason.estimate if group.reason else None
        return found is not None and "no node of any sub-cluster can hold it" in found.text

    wait_until(told, 30, "it says that it cannot start")
    return job


def run_where_they_can(tenant: Client, late: int) -> None:
    """Whatever of one sub-cluster a job names or needs, it runs; so does one that waited for such a node to come."""
    jobs = {what: asking(tenant, **group) for what, group in TWELVE.items()} | {"what waited": late}
    for what, job in jobs.items():
        ended = tenant.wait(job, timeout_s=60)
        assert ended.succeeded, f"{what}: {ended.state} {ended.message}"


def submitted(tenant: Client, group: dict[str, object], home: str) -> int:
    """A job at home there; 0 (and no job) when the Router chose another."""
    job = tenant.submit({"name": "held", "groups": [group]})
    if job.home == home:
        return job.id
    tenant.kill(job.id)
    return 0


def nodes_of(tenant: Client, job: int) -> list[str]:
    return sorted(c.node or "" for c in tenant.containers(job) if c.state == "RUNNING")


def elsewhere(nodes: list[str]) -> int:
    return sum(not name.startswith("third") for name in nodes)
