"""A job that no node of its home could ever hold gets another, over real stores; what web wanted of it goes along."""

from typing import Any

import pytest

from controlplane.statestore.models import Intent, JobEvent
from tests.integration.rm.cluster import Cluster
from tests.integration.rm.federation import SMALL, Federation
from wire.states import JobState


@pytest.fixture
def apart(cluster: Cluster) -> Federation:
    """Tasks stay at home; south gets a third node with a label, that no other has."""
    made = Federation(cluster)
    made.proxy("home")
    return made


def submit(f: Federation, **group: Any) -> int:
    return f.west.submit(SMALL | group)


def home(f: Federation, job: int) -> str:
    return str(f.west.one("SELECT s.name FROM statestore_job j JOIN statestore_subcluster s ON s.id = j.home_id"
                          f" WHERE j.id = {job}"))  # fmt: skip


def test_it_moves_once_a_node_has_come_and_runs_there(apart: Federation) -> None:
    job, other = submit(apart, node_labels="name == late", gang=True, count=2), submit(apart)
    apart.rounds(6)
    first = home(apart, other)
    assert (home(apart, job), apart.west.group(job).reason["code"]) == (first, "no_node_matches")
    apart.clusters[2].ids.append(apart.clusters[2].add_node("late"))
    apart.rounds(10)
    assert (home(apart, job), home(apart, other)) == ("south", first)
    told = JobEvent.objects.get(job=job, kind="rehomed").message
    assert (
        told == f"its home {first} could not hold it: none of its nodes matches 'name == late'; south is its home now"
    )
    apart.finish(job, other)
    assert Intent.objects.filter(job=job).count() == 0


def test_what_was_asked_of_it_meanwhile_follows_it(apart: Federation) -> None:
    job = submit(apart, node_labels="name == late")
    apart.rounds(2)
    Intent.objects.create(sub_cluster=apart.west.sub, kind="priority", job_id=job, payload={"priority": 7})
    apart.clusters[2].ids.append(apart.clusters[2].add_node("late"))
    apart.rounds(10)
    assert home(apart, job) == "south"
    Intent.objects.create(sub_cluster=apart.west.sub, kind="kill", job_id=job, payload={"message": "enough"})
    apart.rounds(3)
    row = apart.west.job(job)
    assert (row.state, row.priority, row.message) == (JobState.KILLED, 7, "enough")
    assert Intent.objects.filter(job=job).count() == 0


def test_a_leader_whose_memory_is_wrong_about_it_moves_nothing(apart: Federation) -> None:
    """It believes the job to be at home here; the row says that it is not."""
    job = submit(apart, node_labels="name == late")
    apart.rounds(4)
    apart.west.rows(f"UPDATE statestore_job SET home_id = {apart.clusters[1].sub.pk} WHERE id = {job} RETURNING id")
    apart.clusters[2].ids.append(apart.clusters[2].add_node("late"))
    with pytest.raises(Exception, match="1 jobs were to get another home, and 0 could"):
        apart.rounds(10)
    assert home(apart, job) == "east"
