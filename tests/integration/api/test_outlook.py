"""What a job's owner is told before and at a submit: where it would go, when it could start, what never can."""

import datetime as dt
from dataclasses import asdict
from typing import Any

import pytest
from django.utils import timezone

from contract.jobs import BulkIds, JobChecked, JobSubmitted, JobUpdated
from contract.waiting import JobExplanation
from controlplane.policy import versions
from controlplane.router import cluster, outlook
from controlplane.statestore.actions import nodes
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import Intent, Job, JobEvent, Node, SubCluster, TaskGroup
from controlplane.statestore.queries.subclusters import places
from tests.integration.api.rows import container
from tests.integration.api.test_routing import lead
from tests.integration.api.world import POLICY, World, job
from wire.nodeapi import Register
from wire.states import GroupState, JobState, NodeState

NO_NODE = {"limit": "no_node_matches", "asked": {}, "available": {}}
GPUS = {"zone": {"nodes": "zone"}, "idle": {"nodes": "nothing-has-this"}}


@pytest.fixture
def both(world: World) -> World:
    """Each with a node of 4096 MiB, four cores and a GPU; east has one of twice that in a zone, and no GPU."""
    nodes.bulk_register(world.east, [Register("", "east-2", "r2", 8192, 8000, 0, labels={"disk": "nvme"}, host="h")])
    Node.objects.update(state=NodeState.UP)
    for sub in (world.west, world.east):
        lead(sub)
    places.forget()
    return world


def asking(**group: Any) -> dict[str, Any]:
    return job(groups=[{"name": "g", "command": ["true"], **group}])


def checked(world: World, spec: dict[str, Any], who: str = "tenant") -> JobChecked:
    answer = world[who].post("jobs/validate", spec)
    assert answer.status_code == 200, answer.content
    return JobChecked.model_validate(answer.json(), extra="forbid")


WARNED = [
    ({"locality": {"nodes": ["wset-1"]}}, "locality.nodes.0", "there is no node 'wset-1'", "did you mean west-1"),
    ({"locality": {"racks": ["rack-of-nobody"]}}, "locality.racks.0", "rack 'rack-of-nobody'", "hydractl nodes"),
    ({"node_labels": "disc"}, "node_labels", "no node has a label 'disc'", "did you mean disk?"),
    ({"node_labels": "disk == nvm"}, "node_labels", "no node has disk == 'nvm'", "did you mean nvme?"),
    ({"node_labels": "node == est-2"}, "node_labels", "there is no node 'est-2'", "did you mean east-2"),
    ({"node_labels": "disk && rack == r1"}, "node_labels", "matches 'disk && rack == r1'", "hydractl nodes"),
    ({"node_labels": "disk", "resources": {"gpus": 1}}, "resources.gpus", "no node that it may use has GPUs", "no G"),
    ({"resources": {"memory_mib": 9000}}, "resources.memory_mib", "has 8,192 MiB of memory", "use 8192 or less"),
    ({"resources": {"vcores_milli": 9000}}, "resources.vcores_milli", "has 8 cores, and a container asks", "8000"),
    ({"resources": {"memory_mib": 8000, "gpus": 1}}, "resources", "in every resource at once", "ask for less"),
    ({"gang": True, "count": 50}, "count", "a gang needs all 50 at once", "use a count of"),
]  # fmt: skip


def test_a_sub_cluster_that_lacks_something_for_several_groups_says_for_how_many(both: World) -> None:
    groups = [{"name": name, "command": ["true"], "resources": {"memory_mib": 9000}} for name in "ab"]
    found = checked(both, job(groups=[*groups, {"name": "c", "command": ["true"]}]))
    assert found.outlook is not None
    for fit in found.outlook.sub_clusters:
        assert fit.why.startswith("of the nodes it may use there")
        assert fit.why.endswith("; 2 of its 3 groups do not fit")


@pytest.mark.parametrize(
    ("group", "field", "message", "remedy"), WARNED, ids=[f"{at}:{m[:24]}" for _, at, m, _ in WARNED]
)
def test_what_can_never_start_is_said_before_and_at_the_submit(
    both: World, group: dict[str, Any], field: str, message: str, remedy: str
) -> None:
    spec = asking(**group)
    (warned,) = checked(both, spec).warnings
    assert (warned.field, message in warned.message, remedy in warned.remedy) == (f"groups.0.{field}", True, True), (
        warned
    )
    assert not Job.objects.exists()
    answer = both["tenant"].post("jobs", spec)
    assert answer.status_code == 201
    told = JobSubmitted.model_validate(answer.json(), extra="forbid")
    assert told.warnings == [warned]
    assert list(JobEvent.objects.filter(kind="warned").values_list("job_id", "message")) == [(told.id, warned.said())]


def test_why_it_waits_names_what_nobody_has_as_the_submit_did(both: World) -> None:
    misspelt = {"locality": {"nodes": ["wset-1", "east-2"], "relax": False}}
    groups = [{"name": name, "command": ["true"], **more} for name, more in (("a", {}), ("b", misspelt))]
    sent = both["tenant"].post("jobs", job(groups=groups)).json()
    (warned,) = sent["warnings"]
    text = "No node of its partition is among those it may run on."
    waits = {"waiting": 1, "asked": {}, "position": None, "estimate": None, "change": None}
    told = {"code": "no_node_matches", "text": text, "limits": [NO_NODE | {"text": text}], **waits}
    TaskGroup.objects.filter(job_id=sent["id"]).update(reason=told)

    def texts() -> list[str]:
        answer = both["tenant"].get(f"jobs/{sent['id']}/explain")
        found = JobExplanation.model_validate(answer.json(), extra="forbid")
        return [group.reason.limits[0].text for group in found.groups if group.reason]

    assert warned["message"] == "there is no node 'wset-1'" and warned["remedy"].startswith("did you mean west-1")
    said = f"There is no node 'wset-1'. D{warned['remedy'][1:]}"
    assert texts() == [text, f"{text} {said}"], "only what it cannot do without is named"
    TaskGroup.objects.filter(job_id=sent["id"], no=0).update(state=GroupState.SUCCEEDED, succeeded=1)
    assert texts() == [f"{text} {said}"]


def test_an_update_that_can_never_start_is_taken_and_warned_of_as_a_submit(both: World) -> None:
    """A dry run says the same, of files that are not there either, and begins nothing."""
    bad = asking(resources={"memory_mib": 900_000}) | {"kind": "service"}
    (warned,) = both["tenant"].post("jobs", bad).json()["warnings"]
    fine = both["tenant"].post("jobs", asking() | {"kind": "service"}).json()
    assert fine["warnings"] == []
    Job.objects.filter(pk=fine["id"]).update(state=JobState.RUNNING)

    def update(spec: Any, **more: Any) -> Any:
        return both["tenant"]("PUT", f"jobs/{fine['id']}/spec", {"revision": 1, "spec": spec} | more)

    lost = bad | {"files": [{"path": "a", "digest": "0" * 64}]}
    answers = [update(lost, dry_run=True), update(bad, dry_run=True), update(bad)]
    assert [answer.status_code for answer in answers] == [200, 200, 202]
    for answer in answers:
        told = JobUpdated.model_validate(answer.json(), extra="forbid")
        assert [asdict(each) for each in told.warnings] == [warned | {"field": f"spec.{warned['field']}"}]
        assert not told.unchanged
    assert Intent.objects.filter(kind="update").count() == 1
    assert update(bad, dry_run=True).status_code == 409, "as an update now"


def test_who_can_start_is_warned_of_nothing(both: World) -> None:
    for group in (
        {"node_labels": "disk && !spot"},
        {"node_labels": "disk || glass"},
        {"locality": {"nodes": ["east-2"], "relax": False}},
        {"count": 50},
        {"gang": True, "count": 8, "resources": {"memory_mib": 1024}},
    ):
        assert checked(both, asking(**group)).warnings == [], group
    assert both["tenant"].post("jobs", job()).json()["warnings"] == []
    assert not JobEvent.objects.filter(kind="warned").exists()


def test_many_at_once_are_each_warned(both: World) -> None:
    jobs = [job(), asking(node_labels="disc"), asking(resources={"memory_mib": 9000})]
    found = BulkIds.model_validate(both["tenant"].post("jobs/bulk", {"jobs": jobs}).json(), extra="forbid")
    assert [w.field for w in found.warnings] == ["jobs.1.groups.0.node_labels", "jobs.2.groups.0.resources.memory_mib"]
    assert (
        list(JobEvent.objects.filter(kind="warned").order_by("job_id").values_list("job_id", flat=True))
        == found.ids[1:]
    )


def test_a_partition_without_nodes_and_a_cluster_without_any(both: World) -> None:
    versions.publish(SYSTEM, POLICY | {"partitions": GPUS}, "for tests")
    cluster.forget()
    (warned,) = checked(both, asking(partition="idle")).warnings
    assert warned.field == "groups.0.partition" and "in partition 'idle'" in warned.message
    answer = both["tenant"].post("jobs/validate", asking(partition="zome"))
    assert answer.status_code == 422 and "did you mean zone?" in answer.json()["errors"][0]["remedy"]
    Node.objects.all().update(state=NodeState.LOST)
    places.forget()
    (warned,) = checked(both, asking()).warnings
    assert (warned.field, warned.message) == ("groups", "no node is in service in any sub-cluster")


def test_a_job_that_fits_would_start_at_once(both: World) -> None:
    found = checked(both, asking(node_labels="disk"))
    ahead = found.outlook
    assert ahead is not None and found.warnings == []
    assert (ahead.home, ahead.admitted, ahead.limits) == ("east", True, [])
    assert [(s.sub_cluster, s.fits) for s in ahead.sub_clusters] == [("west", False), ("east", True)]
    assert ahead.sub_clusters[0].why == "none of its nodes matches 'disk'"
    assert (ahead.estimate.earliest_s, ahead.estimate.latest_s) == (0.0, 1.0)
    assert "east has room" in ahead.estimate.text
    assert ahead.jobs_ahead is None, "others' jobs in a queue that is open to all are not told"
    again = checked(both, asking(node_labels="disk"))
    assert again.outlook is not None and again.outlook.why == ahead.why, "what is only asked about adds no load"


def test_nothing_begins_where_a_sub_cluster_drains_and_the_other_has_its_nodes_cordoned(both: World) -> None:
    both.west.state = SubCluster.State.DRAINING
    both.west.save(update_fields=["state"])
    lead(both.east, nodes_up=0)
    ahead = checked(both, asking()).outlook
    assert ahead is not None and ahead.home == "east"
    assert [(s.fits, s.why) for s in ahead.sub_clusters] == [
        (True, "it is draining and takes no new jobs"), (True, "no node takes containers now"),
    ]  # fmt: skip
    assert (ahead.admitted, ahead.limits) == (False, ["no node of its sub-cluster takes containers now"])
    both.east.state = SubCluster.State.DRAINING
    both.east.save(update_fields=["state"])
    cluster.forget()
    ahead = checked(both, asking()).outlook
    assert ahead is not None and (ahead.home, ahead.admitted) == (None, False)


def test_a_job_whose_only_nodes_are_cordoned_is_told_so(both: World) -> None:
    """While others of its home take something: by label, and by size."""
    Node.objects.filter(name="east-2").update(duty=Node.Duty.CORDONED)
    for asked in ({"node_labels": "disk"}, {"resources": {"memory_mib": 5000}}):
        ahead = checked(both, asking(**asked)).outlook
        assert ahead is not None and ahead.home == "east", ahead
        assert ahead.estimate.earliest_s is None, ahead.estimate
        assert "No nodes of east that take containers now could hold it" in ahead.estimate.text


def test_who_waits_is_told_for_what(both: World) -> None:
    first = both["operator"].post("jobs", asking(node_labels="disk")).json()["id"]
    ahead = checked(both, asking(node_labels="disk"), "operator").outlook
    assert ahead is not None and ahead.jobs_ahead == 1
    assert (ahead.estimate.earliest_s, ahead.estimate.latest_s) == (0.0, None)
    east = Node.objects.get(name="east-2")
    container(Job.objects.get(pk=first), east.pk, memory_mib=8192, vcores_milli=8000)
    ahead = checked(both, asking(node_labels="disk")).outlook
    assert ahead is not None and ahead.estimate.earliest_s is None
    assert "east has no room for it now" in ahead.estimate.text
    never = checked(both, asking(node_labels="disc")).outlook
    assert never is not None and "never starts" in never.estimate.text


@pytest.mark.parametrize(("ran_s", "earliest_s", "late"), [(0, 600, False), (500, 100, False), (700, 150, True)])
def test_a_full_home_has_room_when_what_runs_there_ends(both: World, ran_s: int, earliest_s: float, late: bool) -> None:
    first = both["operator"].post("jobs", asking(node_labels="disk", estimated_duration_s=600)).json()["id"]
    Job.objects.update(state=JobState.RUNNING)
    began = timezone.now() - dt.timedelta(seconds=ran_s)
    for memory in (4096, 4096 - 100):
        node = Node.objects.get(name="east-2").pk
        container(Job.objects.get(pk=first), node, memory_mib=memory, vcores_milli=4000, allocated_at=began)
    ahead = checked(both, asking(node_labels="disk", resources={"memory_mib": 4000})).outlook
    assert ahead is not None and ahead.estimate.earliest_s is not None
    assert earliest_s - 30 < ahead.estimate.earliest_s <= earliest_s
    assert (ahead.estimate.latest_s is None) == late
    assert ("longer than they said" if late else "In about ") in ahead.estimate.text


def test_a_job_of_hundreds_of_kinds_of_containers_is_looked_at_by_its_smallest(
    both: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No node is looked at for each of them, and when there is room is worked out for some of them."""
    first = both["operator"].post("jobs", asking(node_labels="disk", estimated_duration_s=600)).json()["id"]
    container(Job.objects.get(pk=first), Node.objects.get(name="east-2").pk, memory_mib=8192, vcores_milli=8000)
    asked: list[int] = []
    units = outlook.RoomForecast.units

    def counted(self: Any, shape: Any, usable: Any, key: Any) -> Any:
        asked.append(int(shape[0]))
        return units(self, shape, usable, key)

    monkeypatch.setattr(outlook.RoomForecast, "units", counted)
    monkeypatch.setattr(outlook.rooms, "allowed", None)
    kinds = [
        {"name": f"g{n}", "command": ["true"], "node_labels": f"disk && !x{n}", "resources": {"memory_mib": 900 - n}}
        for n in range(200)
    ]
    ahead = checked(both, job(groups=kinds)).outlook
    assert ahead is not None and ahead.estimate.earliest_s is not None
    assert asked == [*range(701, 701 + outlook.KINDS_MAX)] * 2


def test_limits_of_jobs_that_are_reached_are_named(both: World) -> None:
    queues = {"default": {"open_to_all": True, "max_running_jobs": 1, "max_running_jobs_per_user": 1}}
    versions.publish(SYSTEM, {"queues": queues}, "for tests")
    cluster.forget()
    both["tenant"].post("jobs", job())
    Job.objects.update(state=JobState.RUNNING)
    ahead = checked(both, job()).outlook
    assert ahead is not None and not ahead.admitted and ahead.estimate.earliest_s is None
    assert ahead.limits == [
        "root.default runs as many jobs as it may at once, 1",
        "you run as many jobs as one may at once in root.default, 1",
    ]
    other = checked(both, job(), "other").outlook
    assert other is not None and len(other.limits) == 1
