"""Where a job was given containers, and since when."""

import datetime as dt

import pytest
from django.utils import timezone

from controlplane.statestore.models import Job
from tests.integration.api import rows
from tests.integration.api.world import World, job

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_job_tells_its_sub_clusters_by_their_first_container(world: World) -> None:
    made = Job.objects.get(pk=world["tenant"].post("jobs", job()).json()["id"])
    assert world["tenant"].get(f"jobs/{made.pk}/places").json() == {"results": [], "complete": True}
    Job.objects.filter(pk=made.pk).update(home=world.west)
    made.refresh_from_db()
    node, began = world.nodes[0].session.node_id, timezone.now() - dt.timedelta(seconds=60)
    ended = rows.container(made, node, index=0, allocated_at=began)
    rows.end(ended, ago_s=30)
    rows.container(made, node, index=1, sub_cluster_id=world.east.pk, allocated_at=began + dt.timedelta(seconds=5))
    rows.container(made, node, index=2, sub_cluster_id=world.east.pk, allocated_at=began + dt.timedelta(seconds=9))
    found = world["tenant"].get(f"jobs/{made.pk}/places").json()
    west, east = found["results"]
    assert (west["sub_cluster"], west["containers"], west["running"]) == ("west", 1, 0) and west["last_at"]
    assert (east["sub_cluster"], east["containers"], east["running"], east["last_at"]) == ("east", 2, 2, None)
    assert west["first_at"] < east["first_at"] and found["complete"]
    assert world["other"].get(f"jobs/{made.pk}/places").status_code == 404
