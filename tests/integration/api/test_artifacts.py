"""Artifacts as the storage has them: whole or not at all, and not at the cost of everybody else's disk."""

import datetime as dt
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import connection, transaction

from controlplane import duties
from controlplane.statestore import retention
from controlplane.statestore.actions.artifacts import name_of
from controlplane.statestore.actions.audit import SYSTEM, record
from controlplane.statestore.membership import conninfo
from controlplane.statestore.models import Artifact, AuditEntry
from controlplane.wholefiles import PARTS
from tests.integration.api.world import World

BODY = b"all of it" * 100_000
DIGEST = hashlib.sha256(BODY).hexdigest()
LATER = dt.datetime.now(dt.UTC) + dt.timedelta(days=30)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Path:
    """An empty one."""
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def put(world: World) -> Any:
    return world["tenant"].put(f"artifacts/{DIGEST}", BODY)


def test_what_was_written_in_part_is_written_again(world: World, folder: Path) -> None:
    """Its writer was killed, or the disk was full."""
    torn = folder / name_of(DIGEST)
    torn.parent.mkdir(parents=True)
    torn.write_bytes(BODY[:1000])
    for status in (201, 200):
        assert put(world).status_code == status
        assert b"".join(world["tenant"].get(f"artifacts/{DIGEST}")) == BODY
    torn.write_bytes(b"")  # by whatever else
    assert put(world).status_code == 201
    assert torn.read_bytes() == BODY and not os.listdir(folder / PARTS)


class Breaking(File):
    """Of which the first piece can be read."""

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        yield BODY[:1000]
        raise OSError("input/output error")


def test_nothing_is_left_of_what_could_not_be_written(folder: Path) -> None:
    name = name_of(DIGEST)
    with open(__file__, "rb") as some, pytest.raises(OSError, match="input/output"):
        default_storage.save(name, Breaking(some))
    assert not default_storage.exists(name) and not os.listdir(folder / PARTS)


def test_the_disk_is_never_filled_to_its_end(world: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The StateStore may be on the same one."""
    monkeypatch.setitem(settings.HYDRA, "artifacts_free_mib", 1 << 40)
    answer = put(world)
    assert answer.status_code == 503 and "No space left on device" in answer.json()["detail"]
    assert not Artifact.objects.exists() and not list(folder.rglob(DIGEST))
    monkeypatch.undo()
    assert put(world).status_code == 201


def test_what_cannot_be_removed_keeps_nothing_else(world: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.HYDRA, "audit_days", 1)
    put(world)
    record(SYSTEM, "job.kill", "job/1")
    stubborn = folder / name_of(DIGEST)
    stubborn.unlink()
    (stubborn / "below").mkdir(parents=True)
    retention.run(LATER)
    assert Artifact.objects.filter(digest=DIGEST).exists(), "or nobody knew of it any more"
    assert not AuditEntry.objects.exists()

    def fails(_: dt.datetime) -> int:
        raise RuntimeError("the storage is away")

    record(SYSTEM, "job.kill", "job/1")
    monkeypatch.setitem(retention._DUTIES, "jobs", fails)
    with pytest.raises(ExceptionGroup) as found:
        retention.run(LATER)
    assert found.group_contains(RuntimeError, match="away")
    assert not AuditEntry.objects.exists()


def test_parts_whose_writer_has_died_are_removed(folder: Path) -> None:
    for name, days in (("dead", 2), ("alive", 0)):
        default_storage.save(f"{PARTS}/{name}", File(open(__file__, "rb")))  # noqa: SIM115 - the storage closes it
        at = dt.datetime.now(dt.UTC).timestamp() - days * 86400
        os.utime(folder / PARTS / name, (at, at))
    assert retention.purge_parts(dt.datetime.now(dt.UTC)) == 1
    assert os.listdir(folder / PARTS) == ["alive"]


@pytest.mark.django_db
def test_housekeeping_goes_on_while_there_is_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or what ends faster than once an hour were never removed."""
    asked = []
    monkeypatch.setattr(duties.housekeeping, "apply_async", lambda **how: asked.append(how))
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "MAX_BATCHES", 2)
    monkeypatch.setattr(retention, "MOST", 4)
    for n in range(5):
        record(SYSTEM, "job.kill", f"job/{n}")
    AuditEntry.objects.update(at=dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
    duties.housekeeping()
    assert AuditEntry.objects.count() == 1 and len(asked) == 1
    duties.housekeeping()
    assert AuditEntry.objects.count() == 0 and len(asked) == 1


@pytest.mark.django_db(transaction=True)
def test_what_a_dead_process_has_locked_is_let_go() -> None:
    """Its machine says nothing more, so that Postgres ends its session; here after a shorter time."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("1min",)
    record(SYSTEM, "job.kill", "job/1")
    with psycopg.connect(conninfo("dead"), options="-c idle_in_transaction_session_timeout=200") as dead:
        dead.execute(f"SELECT 1 FROM {AuditEntry._meta.db_table} FOR UPDATE")
        with transaction.atomic():
            assert len(AuditEntry.objects.select_for_update()) == 1
        dead.close()
