"""What an account keeps of artifacts: bounded, listed, and deleted when it wants it no more."""

import hashlib
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from controlplane.router import submission
from controlplane.statestore.actions import artifacts
from controlplane.statestore.actions.artifacts import name_of
from controlplane.statestore.models import (
    Artifact,
    ArtifactOwner,
    AuditEntry,
    Container,
    Intent,
    Job,
    MasterAsk,
    MasterLaunch,
    TaskOutput,
)
from tests.integration.api import rows
from tests.integration.api.together import at_once
from tests.integration.api.world import NodeApi, World, job
from wire.ids import format_container
from wire.states import JobState

MIB = 1 << 20


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    """An empty one."""
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


@pytest.fixture
def may(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Say how much an account may keep."""

    def say(files: int = 0, size: int = 0) -> None:
        monkeypatch.setitem(settings.HYDRA, "artifacts_user_files", files)
        monkeypatch.setitem(settings.HYDRA, "artifacts_user_gib", size / (1 << 30))

    return say


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(world: World, data: bytes, who: str = "tenant") -> Any:
    return world[who].put(f"artifacts/{sha(data)}", data)


def delete(world: World, data: bytes, who: str = "tenant") -> Any:
    return world[who]("DELETE", f"artifacts/{sha(data)}")


def there(folder: Path, data: bytes) -> bool:
    return (folder / name_of(sha(data))).exists()


def naming(data: bytes, **more: Any) -> dict[str, Any]:
    """A job that wants this file."""
    group = {"name": "map", "command": ["cat", "f"], "outputs": [{"name": "part", "path": "part"}]}
    return job(files=[{"path": "f", "digest": sha(data)}], groups=[group]) | more


def submitted(world: World, spec: dict[str, Any], who: str = "tenant") -> Job:
    answer = world[who].post("jobs", spec)
    assert answer.status_code == 201, answer.json()
    return Job.objects.get(pk=answer.json()["id"])


def running(world: World, row: Job) -> Container:
    return rows.container(row, world.nodes[0].session.node_id)


def publish(node: NodeApi, live: Container, data: bytes) -> Any:
    at = f"containers/{format_container(live.pk)}/outputs/part?path=part&sha256={sha(data)}"
    return node("PUT", at, data)


# Bounds


def test_what_an_account_keeps_is_bounded(world: World, folder: Path, may: Callable[..., None]) -> None:
    may(size=3 * MIB)
    first, second, third = (bytes([n]) * MIB for n in range(3))
    assert [put(world, data).status_code for data in (first, second, third)] == [201] * 3
    more = b"one byte more"
    refused = put(world, more)
    assert refused.status_code == 409, refused.content
    said = refused.json()["detail"]
    assert "HYDRA_ARTIFACTS_USER_GIB" in said and "hydractl artifacts rm DIGEST" in said and "14 days" in said
    assert not there(folder, more) and not Artifact.objects.filter(digest=sha(more)).exists()
    assert put(world, second).status_code == 200, "what is kept already is no more"
    assert put(world, more, "other").status_code == 201, "everybody has bounds of his own"
    assert put(world, more).status_code == 409, "also of bytes that others keep"
    assert world["tenant"].get(f"artifacts/{sha(more)}").status_code == 404
    assert delete(world, first).status_code == 204
    assert put(world, more).status_code == 200


def test_files_are_counted_too_and_operators_have_the_same_bounds(world: World, may: Callable[..., None]) -> None:
    may(files=2)
    assert [put(world, data, "operator").status_code for data in (b"a", b"b", b"c")] == [201, 201, 409]
    may()
    assert put(world, b"c", "operator").status_code == 201, "0: as many as it likes"


def test_outputs_count_as_their_owners(world: World, folder: Path, may: Callable[..., None]) -> None:
    put(world, b"file")
    row, (node, _) = submitted(world, naming(b"file")), world.nodes
    live = running(world, row)
    may(files=2)
    assert publish(node, live, b"made").status_code == 201
    assert publish(node, live, b"made").status_code == 201, "a repeat is no more"
    assert put(world, b"another").status_code == 409
    second = rows.container(row, node.session.node_id, attempt=2)
    refused = publish(node, second, b"another")
    assert refused.status_code == 409 and "you keep 2 artifacts, and may keep 2" in refused.json()["detail"]
    assert not there(folder, b"another") and TaskOutput.objects.count() == 1
    rows.end(live)
    assert publish(node, live, b"late").status_code == 409 and not there(folder, b"late")


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_none_goes_past_the_bound(world: World, folder: Path, may: Callable[..., None]) -> None:
    may(files=2)
    data = [b"%d" % n for n in range(5)]
    answered = at_once(lambda n: put(world, data[n]).status_code, len(data))
    assert sorted(answered) == [201, 201, 409, 409, 409]
    assert [there(folder, each) for each in data] == [status == 201 for status in answered], "nothing of them is left"
    assert Artifact.objects.count() == ArtifactOwner.objects.count() == 2


# The list


def test_the_list_tells_the_largest_first_and_where_they_are_from(world: World, may: Callable[..., None]) -> None:
    may(files=10, size=MIB)
    put(world, b"f" * 30)
    row = submitted(world, naming(b"f" * 30))
    publish(world.nodes[0], running(world, row), b"o" * 20)
    for n in range(3):
        put(world, b"%d" % n)
    put(world, b"not yours", "other")
    page = world["tenant"].get("artifacts?page_size=2").json()
    assert page["kept"] == {"files": 5, "files_max": 10, "size": 53, "size_max": MIB}
    assert [(a["digest"], a["size"]) for a in page["results"]] == [(sha(b"f" * 30), 30), (sha(b"o" * 20), 20)]
    assert [a["output"] for a in page["results"]] == [
        None, {"job": row.pk, "group": "map", "index": 0, "name": "part"}
    ]  # fmt: skip
    seen = list(page["results"])
    while page["next"]:
        before, page = page, world["tenant"].get(page["next"].partition("/api/v1/")[2]).json()
        back = world["tenant"].get(page["previous"].partition("/api/v1/")[2]).json()
        assert back["results"] == before["results"]
        seen += page["results"]
    assert len({a["digest"] for a in seen}) == len(seen) == 5
    assert [a["size"] for a in world["viewer"].get("artifacts").json()["results"]] == []


def test_a_look_at_the_list_costs_as_much_however_long_it_is(world: World, django_assert_max_num_queries: Any) -> None:
    data = [b"%d" % n for n in range(20)]
    owner = world.users["tenant"]
    Artifact.objects.bulk_create([Artifact(digest=sha(each), size=len(each)) for each in data])
    ArtifactOwner.objects.bulk_create([ArtifactOwner(artifact_id=sha(each), owner=owner, size=1) for each in data])
    world["tenant"].get("artifacts")
    with django_assert_max_num_queries(3):  # one of them says who asks
        assert len(world["tenant"].get("artifacts").json()["results"]) == 20


# Deletion


def test_what_is_wanted_no_more_is_gone_at_once(world: World, folder: Path) -> None:
    put(world, b"file")
    assert delete(world, b"file", "other").status_code == 404
    assert delete(world, b"file").status_code == 204
    assert not there(folder, b"file") and not Artifact.objects.exists()
    assert delete(world, b"file").status_code == 404
    noted = AuditEntry.objects.get(action="artifact.delete")
    assert (noted.target, noted.before) == (f"artifact/{sha(b'file')}", {"size": 4})
    assert put(world, b"file").status_code == 201


def test_what_others_keep_stays(world: World, folder: Path) -> None:
    put(world, b"file")
    put(world, b"file", "other")
    row = submitted(world, naming(b"file"), "other")
    assert delete(world, b"file").status_code == 204, "of others' jobs nothing is told"
    assert world["tenant"].get(f"artifacts/{sha(b'file')}").status_code == 404
    assert b"".join(world["other"].get(f"artifacts/{sha(b'file')}")) == b"file"
    rows.finish(row.pk, JobState.SUCCEEDED)
    assert delete(world, b"file", "other").status_code == 204 and not there(folder, b"file")


def test_what_an_operators_job_names_stays_for_it(world: World, folder: Path) -> None:
    """Operators may name what they have not uploaded."""
    put(world, b"file")
    submitted(world, naming(b"file"), "operator")
    assert delete(world, b"file").status_code == 204
    assert there(folder, b"file") and delete(world, b"file", "operator").status_code == 409


def test_what_a_live_job_or_a_schedule_wants_is_not_deleted(world: World, folder: Path) -> None:
    put(world, b"file")
    ids = [submitted(world, naming(b"file")).pk for _ in range(5)]
    refused = delete(world, b"file")
    assert refused.status_code == 409 and f"job {ids[0]}, job {ids[1]}, job {ids[2]} and others" in str(refused.json())
    for number in ids:
        rows.finish(number, JobState.KILLED)
    said = {"name": "nightly", "cron": "@daily", "job": json.dumps(naming(b"file"))}
    made = world["tenant"].post("schedules", said)
    assert made.status_code == 201, made.json()
    refused = delete(world, b"file")
    assert refused.status_code == 409 and "schedule nightly" in refused.json()["detail"]
    assert there(folder, b"file")
    assert world["tenant"]("DELETE", f"schedules/{made.json()['id']}").status_code == 204
    assert delete(world, b"file").status_code == 204


@pytest.mark.parametrize("place", ["revision", "update", "ask", "launch"])
def test_wherever_a_live_job_names_it_it_is_wanted(world: World, place: str) -> None:
    put(world, b"file")
    row = submitted(world, job())
    part = {"files": [{"path": "f", "digest": sha(b"file")}]}
    spec = {"files": [], "groups": [part]}
    if place == "revision":
        Job.objects.filter(pk=row.pk).update(revisions=[{"revision": 1, "spec": spec}])
    elif place == "update":
        Intent.objects.create(sub_cluster=row.home, kind="update", job=row, payload={"spec": spec})
    elif place == "ask":
        MasterAsk.objects.create(job=row, no=1, name="work", spec=part, target=1)
    else:
        MasterLaunch.objects.create(container_id=running(world, row).pk, job_id=row.pk, spec=part, spec_bytes=1)
    refused = delete(world, b"file")
    assert refused.status_code == 409 and f"job {row.pk} of yours" in refused.json()["detail"]
    rows.finish(row.pk, JobState.FAILED)
    assert delete(world, b"file").status_code == 204


def test_an_output_is_deleted_with_what_its_ended_jobs_tell_of_it(
    world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "OUTPUTS_AT_ONCE", 1)  # it takes several transactions
    put(world, b"file")
    jobs = [submitted(world, naming(b"file")) for _ in range(2)]
    for row in jobs:
        live = running(world, row)
        assert publish(world.nodes[0], live, b"made").status_code == 201
        rows.end(live)
    rows.finish(jobs[0].pk, JobState.SUCCEEDED)
    refused = delete(world, b"made")
    assert refused.status_code == 409 and f"job {jobs[1].pk} of yours" in refused.json()["detail"]
    assert TaskOutput.objects.count() == 2
    rows.finish(jobs[1].pk, JobState.SUCCEEDED)
    assert delete(world, b"made").status_code == 204
    assert not there(folder, b"made") and not TaskOutput.objects.exists()
    assert world["tenant"].get(f"jobs/{jobs[0].pk}/outputs").json()["results"] == []


def test_what_cannot_be_removed_is_kept_by_nobody(world: World, folder: Path) -> None:
    """Housekeeping tries again."""
    put(world, b"file")
    stubborn = folder / name_of(sha(b"file"))
    stubborn.unlink()
    (stubborn / "below").mkdir(parents=True)
    assert delete(world, b"file").status_code == 204
    assert Artifact.objects.count() == 1 and not ArtifactOwner.objects.exists()


# At the same moment


def test_who_uploads_what_is_deleted_meanwhile_stores_it_again(
    world: World, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world, b"file")
    look, looks = artifacts._is_whole, list[bool]()

    def deleted_after(digest: str, size: int) -> bool:
        looks.append(look(digest, size))
        if len(looks) == 1:
            assert delete(world, b"file").status_code == 204
        return looks[-1]

    monkeypatch.setattr(artifacts, "_is_whole", deleted_after)
    assert put(world, b"file", "other").status_code in {200, 201}
    assert looks == [True, False, False, True]
    assert b"".join(world["other"].get(f"artifacts/{sha(b'file')}")) == b"file"


def test_a_job_is_not_taken_whose_file_is_deleted_meanwhile(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    put(world, b"file")
    monkeypatch.setattr(submission.artifacts, "touch", lambda _: delete(world, b"file"))
    refused = world["tenant"].post("jobs", naming(b"file"))
    assert refused.status_code == 503 and "submit it again" in refused.json()["detail"]
    assert not Job.objects.exists()
    assert world["tenant"].post("jobs", naming(b"file")).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_what_a_job_was_taken_with_is_there(world: World, folder: Path) -> None:
    """Its owner deletes it, and another uploads it, while the job is submitted."""
    for n in range(8):
        data = b"%d" % n
        put(world, data)
        asked: list[Callable[[], Any]] = [
            lambda data=data: world["tenant"].post("jobs", naming(data)),
            lambda data=data: delete(world, data),
            lambda data=data: put(world, data, "other"),
        ]
        taken, deleted, kept = at_once(lambda i, asked=asked: asked[i]().status_code, 3)
        assert taken in {201, 422, 503} and deleted in {204, 409} and kept in {200, 201}
        assert there(folder, data) and ArtifactOwner.objects.filter(artifact_id=sha(data)).exists()
        if taken == 201:
            assert delete(world, data).status_code == 409


# What there was before


def test_an_older_release_kept_outputs_and_files_without_saying_so(world: World) -> None:
    put(world, b"file")
    row = submitted(world, naming(b"file"), "operator")
    publish(world.nodes[0], running(world, row), b"made")
    ArtifactOwner.objects.filter(owner=world.users["operator"]).delete()
    ArtifactOwner.objects.update(size=0)
    with connection.cursor() as cursor:
        cursor.execute(importlib.import_module("controlplane.statestore.migrations.0053_who_keeps_artifacts").KEPT)
    found = set(ArtifactOwner.objects.values_list("owner__username", "artifact_id", "size"))
    assert found == {("tenant", sha(b"file"), 4), ("operator", sha(b"file"), 4), ("operator", sha(b"made"), 4)}
