"""A StateStore that has rows is brought up to date: what older releases kept holds in the newest one."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from controlplane.accounts.models import User
from controlplane.statestore.models import Artifact, ArtifactOwner, Job, SubCluster
from wire.states import JobState

UPLOADED, NAMED, OTHERS = "a" * 64, "b" * 64, "c" * 64
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def older() -> Iterator[None]:
    call_command("migrate", "statestore", "0051", verbosity=0)
    yield
    call_command("migrate", verbosity=0)


def test_what_was_uploaded_and_what_live_jobs_name_is_kept_by_their_owner(older: None) -> None:
    owner, home = User.objects.create(username="someone"), SubCluster.objects.create(name="east")
    for size, digest in enumerate((UPLOADED, NAMED, OTHERS), 1):
        Artifact.objects.create(digest=digest, size=size)
    with connection.cursor() as cursor:
        insert = "INSERT INTO statestore_artifactowner (artifact_id, owner_id) VALUES (%s, %s)"
        cursor.execute(insert, [UPLOADED, owner.pk])
    spec = {"files": [{"digest": NAMED}], "groups": []}
    for state, files in ((JobState.RUNNING, spec), (JobState.FAILED, {"files": [{"digest": OTHERS}], "groups": []})):
        Job.objects.create(
            name="j", queue="root.default", owner=owner, spec=files, home=home, submitted_at=timezone.now(), state=state
        )
    call_command("migrate", verbosity=0)
    kept = ArtifactOwner.objects.filter(owner=owner).order_by("artifact_id").values_list("artifact_id", "size")
    assert list(kept) == [(UPLOADED, 1), (NAMED, 2)]
