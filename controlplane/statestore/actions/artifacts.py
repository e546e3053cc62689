"""Artifacts: bytes named by their SHA-256. Uploaded by accounts, or published by a node as a task's output."""

import datetime as dt
import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO

import structlog
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction

from contract.problems import FieldError
from controlplane import clock, events
from controlplane.statestore.errors import Conflict, Invalid, Unavailable
from controlplane.statestore.models import Artifact, ArtifactOwner, Container, TaskOutput

from .audit import Actor, record

log = structlog.get_logger(__name__)
PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Once:
    """A body that can be read once, from the connection. read: at most so many bytes, none at its end."""

    read: Callable[[int], bytes]


Body = IO[bytes] | Once
TOUCH_AFTER = dt.timedelta(hours=1)  # how stale ``last_used_at`` may get


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


def _keep(digest: str, body: Body) -> tuple[int, bool]:
    """Verify and store the bytes unless they are there; their size and whether they are new."""
    with _verified(body, digest) as (source, size):
        touched = Artifact.objects.filter(digest=digest).update(last_used_at=clock.now())
        whole = _is_whole(digest, size)
        if touched and whole:
            return size, False
        if not whole:
            _store(digest, source)
    Artifact.objects.update_or_create(digest=digest, defaults={"size": size, "last_used_at": clock.now()})
    return size, True


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
    """Store an account's artifact; (size, whether the bytes are new to the store)."""
    size, new = _keep(digest, body)
    with transaction.atomic():
        _, first = ArtifactOwner.objects.get_or_create(artifact_id=digest, owner_id=actor.user_id)
        if first:
            record(actor, "artifact.upload", f"artifact/{digest}", after={"size": size})
    return size, new


def publish_output(container_id: int, node_id: int, name: str, path: str, digest: str, body: Body) -> int:
    """Keep an output of a live attempt; its size. Repeating it changes nothing.

    ``Conflict`` when the attempt is not live on that node (any more), or has
    published other bytes under that name.
    """
    size, _ = _keep(digest, body)
    with transaction.atomic():
        # The row lock holds the RM's end of this container back until the output is durable, or finds it gone.
        live = Container.objects.select_for_update().filter(pk=container_id, node_id=node_id).first()
        if live is None:
            raise Conflict("the container is not live on this node any more")
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
    return size


def touch(digests: Iterable[str]) -> None:
    """Say that these are in use, at most hourly each, so that retention keeps them."""
    now = clock.now()
    Artifact.objects.filter(digest__in=list(digests), last_used_at__lt=now - TOUCH_AFTER).update(last_used_at=now)
