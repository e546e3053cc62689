"""Artifacts: bytes named by their SHA-256. Uploaded by accounts, or published by a node as a task's output."""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO

import structlog
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import DatabaseError, transaction

from contract.problems import FieldError
from controlplane import clock, events
from controlplane.statestore.errors import Conflict, Invalid, NotFound, Unavailable
from controlplane.statestore.models import Artifact, ArtifactOwner, Container, Job, TaskOutput
from controlplane.statestore.queries.accounts.artifacts import NAMED, wanted_by

from . import keeping
from .audit import Actor, record

log = structlog.get_logger(__name__)
PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Once:
    """A body that can be read once, from the connection. read: at most so many bytes, none at its end."""

    read: Callable[[int], bytes]


Body = IO[bytes] | Once
TRIES = 3  # of storing bytes that others delete at the same time
OUTPUTS_AT_ONCE = 10_000  # rows deleted in one transaction
PASSES = 10  # of a request
TOUCH_AFTER = dt.timedelta(hours=1)  # how stale ``last_used_at`` may get

_OVER = "the container is not live on this node any more"


class _Gone(Exception):
    """The bytes were deleted since they were found or stored."""


def name_of(digest: str) -> str:
    """Where the storage keeps an artifact."""
    return f"sha256/{digest[:2]}/{digest}"


@contextmanager
def _verified(body: Body, digest: str) -> Iterator[tuple[IO[bytes], int]]:
    """The body as a file at its beginning, and its size; ``Invalid`` when it is not what ``digest`` names.

    A file is its own copy; a body that can be read once is copied aside while its digest is taken.
    """
    with SpooledTemporaryFile(max_size=PIECE_BYTES) as copy:
        sha, size = hashlib.sha256(), 0
        while piece := body.read(PIECE_BYTES):
            sha.update(piece)
            size += len(piece)
            if isinstance(body, Once):
                copy.write(piece)
        if sha.hexdigest() != digest:
            found = FieldError("sha256", f"the body's SHA-256 is {sha.hexdigest()}", "send the body the address names")
            raise Invalid("the artifact's body does not match its digest", [found])
        source = copy if isinstance(body, Once) else body
        source.seek(0)
        yield source, size


def _keep(owner_id: int, digest: str, body: Body, then: Callable[[int, bool], None]) -> tuple[int, bool]:
    """Verify and store the bytes unless they are there, for an account that keeps them; their size, and whether new.

    then: what else is done in the transaction, told the size, and whether the account did not keep them before.
    """
    with _verified(body, digest) as (source, size):
        keeping.check(owner_id, digest, size)
        stored = not Artifact.objects.filter(digest=digest).exists()
        for _ in range(TRIES):
            if not _is_whole(digest, size):
                _store(digest, source)
                stored = True
            try:
                with transaction.atomic():
                    _lock_whole(digest, size)
                    first = keeping.keep(owner_id, digest, size)
                    then(size, first)
                return size, stored
            except _Gone:
                continue
            except Exception:
                with suppress(DatabaseError):
                    _drop_unkept(digest, size)
                raise
    raise Unavailable("others delete the same bytes again and again; send them again", retry_after_s=1)


def _lock_whole(digest: str, size: int) -> None:
    """Lock the artifact's row, which there is then. ``_Gone`` unless the storage has all of it."""
    row = Artifact(digest=digest, size=size, last_used_at=clock.now())
    known = {"update_conflicts": True, "unique_fields": ["digest"], "update_fields": ["size", "last_used_at"]}
    Artifact.objects.bulk_create([row], **known)
    if not _is_whole(digest, size):
        raise _Gone


def _drop_unkept(digest: str, size: int) -> None:
    """Delete bytes that were stored for nobody."""
    with transaction.atomic():
        Artifact.objects.bulk_create([Artifact(digest=digest, size=size)], ignore_conflicts=True)
        if _locked(digest):
            _delete_unkept(digest)


def _locked(digest: str) -> bool:
    """Lock the artifact's row against all that want it; whether there is one."""
    return Artifact.objects.select_for_update().filter(digest=digest).first() is not None


def _delete_unkept(digest: str) -> None:
    """Delete the bytes if no account keeps them; within the transaction that has locked their row."""
    # ``web`` of an older release has outputs published without saying who keeps them.
    kept = ArtifactOwner.objects.filter(artifact_id=digest), TaskOutput.objects.filter(digest=digest)
    if not any(rows.exists() for rows in kept) and erased(name_of(digest)):
        Artifact.objects.filter(digest=digest).delete()


def erased(name: str) -> bool:
    """Delete a file of the storage; false where it cannot be."""
    try:
        default_storage.delete(name)
    except OSError as error:
        log.error("a file cannot be deleted", name=name, problem=str(error))
        return False
    return True


def _is_whole(digest: str, size: int) -> bool:
    """Whether the storage has all of it: a writer may have died, or a disk been full, and left a part."""
    try:
        return default_storage.exists(name_of(digest)) and default_storage.size(name_of(digest)) == size
    except FileNotFoundError:  # it was purged meanwhile
        return False


def _store(digest: str, source: IO[bytes]) -> None:
    name = name_of(digest)
    if default_storage.exists(name):
        default_storage.delete(name)
    try:
        stored = default_storage.save(name, File(source))
    except OSError as error:
        text = f"artifacts cannot be kept now: {error.strerror or error}; operators make room, then send it again"
        log.error("an artifact cannot be kept", problem=str(error))
        raise Unavailable(text, retry_after_s=30) from None
    if stored != name:  # two uploads at once: the other one was first, with the same bytes
        default_storage.delete(stored)


def upload(actor: Actor, digest: str, body: Body) -> tuple[int, bool]:
    """Store an account's artifact; (size, whether the bytes are new to the store).

    ``Conflict`` where the account may keep no more, before they are stored.
    """

    def note(size: int, first: bool) -> None:
        if first:
            record(actor, "artifact.upload", f"artifact/{digest}", after={"size": size})

    assert actor.user_id is not None, "every artifact is kept by somebody"
    return _keep(actor.user_id, digest, body, note)


def publish_output(container_id: int, node_id: int, name: str, path: str, digest: str, body: Body) -> int:
    """Keep an output of a live attempt, for its job's owner; its size. Repeating it changes nothing.

    ``Conflict`` when the attempt is not live on that node (any more), or has
    published other bytes under that name, or its owner may keep no more.
    """
    attempt = Container.objects.filter(pk=container_id, node_id=node_id)

    def publish(size: int, _first: bool) -> None:
        # The row lock holds the RM's end of this container back until the output is durable, or finds it gone.
        live = attempt.select_for_update().first()
        if live is None:
            raise Conflict(_OVER)
        row, _ = TaskOutput.objects.get_or_create(
            job_id=live.job_id,
            group_no=live.group_no,
            task_index=live.task_index,
            container_id=container_id,
            name=name,
            defaults={"path": path, "digest": digest, "size": size},
        )
        if row.digest != digest:
            raise Conflict(f"this attempt has published other bytes as {name!r} already")
        transaction.on_commit(lambda: events.hint(f"job:{live.job_id}"))

    owner_id = Job.objects.filter(pk__in=attempt.values("job_id")).values_list("owner_id", flat=True).first()
    if owner_id is None:
        raise Conflict(_OVER)
    return _keep(owner_id, digest, body, publish)[0]


def delete(actor: Actor, digest: str) -> None:
    """The account keeps it no longer, nor what its ended jobs tell of it; without anybody who does, the bytes go.

    ``NotFound`` where the account does not keep it, ``Conflict`` where jobs or schedules of its own want it.
    """
    assert actor.user_id is not None
    kept = ArtifactOwner.objects.filter(artifact_id=digest, owner_id=actor.user_id)
    if not kept.exists():
        raise NotFound(f"you keep no artifact {digest}")
    _check_unwanted(actor.user_id, digest)  # it takes its time, in which nobody waits for the artifact's row
    if not any(_let_go(actor, digest) for _ in range(PASSES)):
        raise Unavailable("very many of your tasks have left these bytes; ask again, and it goes on", retry_after_s=1)


def _check_unwanted(owner_id: int, digest: str) -> None:
    if wanted := wanted_by(owner_id, digest):
        told = ", ".join(wanted[:NAMED]) + (" and others" if len(wanted) > NAMED else "")
        raise Conflict(f"{told} of yours want {digest[:12]}...: wait for jobs to end, or kill them; delete schedules")


def _let_go(actor: Actor, digest: str) -> bool:
    """Whether all of it is done."""
    assert actor.user_id is not None
    with transaction.atomic():
        kept = ArtifactOwner.objects.filter(artifact_id=digest, owner_id=actor.user_id)
        if not _locked(digest) or not kept.exists():
            raise NotFound(f"you keep no artifact {digest}")
        _check_unwanted(actor.user_id, digest)
        outputs = TaskOutput.objects.filter(job__owner_id=actor.user_id, digest=digest)
        some = list(outputs.values_list("pk", flat=True)[:OUTPUTS_AT_ONCE])
        TaskOutput.objects.filter(pk__in=some).delete()
        if len(some) == OUTPUTS_AT_ONCE:
            return False
        record(actor, "artifact.delete", f"artifact/{digest}", before={"size": kept.get().size})
        kept.delete()
        _delete_unkept(digest)
    return True


def touch(digests: Iterable[str]) -> None:
    """Say that these are in use, at most hourly each, so that retention keeps them."""
    now = clock.now()
    Artifact.objects.filter(digest__in=list(digests), last_used_at__lt=now - TOUCH_AFTER).update(last_used_at=now)
