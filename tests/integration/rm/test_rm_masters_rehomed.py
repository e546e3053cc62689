"""Applications whose home is lost: their masters go on or start again at the new one, and hear of every end."""

import pytest
from django.conf import LazySettings

from controlplane.statestore.actions import masters as actions
from controlplane.statestore.models import Container
from tests.integration.rm.federation import Federation
from tests.integration.rm.test_rm_masters import ask, events, live, submit
from tests.integration.rm.test_rm_rehoming import Cluster, fall_silent, reap, reporting, rounds
from tests.integration.rm.test_rm_rehoming import federation as federation  # noqa: PLC0414 - a fixture
from wire.ids import parse_container
from wire.states import ContainerState, JobState


@pytest.fixture
def app(federation: Federation, cluster: Cluster, settings: LazySettings) -> int:
    """An application of two containers, all of it in west."""
    job = submit(cluster)
    rounds(federation, 2)
    ask(job, "work", 2, command=["work"])
    rounds(federation, 2)
    assert federation.live() == [3, 0, 0] and len(events(job, "started")) == 2
    return job


def test_a_master_starts_again_where_its_job_is_at_home_now(federation: Federation, app: int) -> None:
    fall_silent(federation, 0)
    reap(federation)
    rounds(federation, 3)
    (master,) = Container.objects.filter(job_id=app, group_no=0)
    assert master.sub_cluster_id == federation.west.job(app).home_id != federation.west.sub.pk
    assert master.attempt == 2 and not live(app)
    assert [e["reason"] for e in events(app, "ended")] == ["NODE_LOST", "NODE_LOST"]
    ask(app, "work", 4, command=["work"])
    rounds(federation, 2)
    assert len(live(app)) == 2 and [e["index"] for e in events(app, "granted")] == [0, 1, 2, 3]
    actions.finish(app, JobState.SUCCEEDED, "")
    rounds(federation, 2)
    for cluster in federation.clusters[1:]:
        cluster.nodes.finish()
    rounds(federation, 2)
    assert federation.west.job(app).state == JobState.SUCCEEDED


def test_a_master_on_nodes_that_still_report_goes_on(federation: Federation, app: int) -> None:
    fall_silent(federation, 0)
    with reporting(federation.west.nodes):
        reap(federation)
    rounds(federation, 2)
    assert federation.west.job(app).home_id != federation.west.sub.pk and federation.live()[0] == 3
    federation.lead(0)
    first = live(app)[0]
    federation.west.nodes.finish(ContainerState.FAILED, {parse_container(first)})
    rounds(federation, 4)
    (ended,) = events(app, "ended")
    assert (ended["container"], ended["state"], ended["ask"]) == (first, "FAILED", "work")
    ask(app, "work", 3, command=["work"])
    rounds(federation, 3)
    assert len(live(app)) == 2
    actions.finish(app, JobState.SUCCEEDED, "over")
    rounds(federation, 3)
    assert not live(app)
    for cluster in federation.clusters:
        cluster.nodes.finish()
    rounds(federation, 4)
    assert (federation.west.job(app).state, federation.west.job(app).message) == (JobState.SUCCEEDED, "over")
