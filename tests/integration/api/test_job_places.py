"""Where a job was given containers, and since when."""

import datetime as dt
from pathlib import Path

import pytest
from django.utils import timezone

from controlplane.statestore.models import Job
from tests.hydractl import run
from tests.integration.api import rows
from tests.integration.api.served import web
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


def test_from_the_shell(world: World, tmp_path: Path) -> None:
    made = Job.objects.get(pk=world["tenant"].post("jobs", job(queue="root.default")).json()["id"])
    rows.container(made, world.nodes[0].session.node_id)
    with web() as url:
        env = {"HOME": str(tmp_path), "HYDRA_URL": url, "HYDRA_TOKEN": world["tenant"].token}
        shown = run(("containers", str(made.pk), "--places"), env)
        assert shown.returncode == 0, shown.stderr
        head, line = (text.split() for text in shown.stdout.splitlines())
        assert head[:2] == ["SUB-CLUSTER", "FIRST"] and line[0] == made.home.name and line[-2:] == ["1", "1"]
        why = run(("queues", "--why", "root.default"), env)
        assert why.returncode == 0 and "Everybody may submit to it" in why.stdout
