"""What a live container's group declares: files and secrets it may have, outputs it leaves behind, ports it serves.

Neither a revision of a specification nor an ask or a launch ever changes, so that what
was read of one is kept: a look at one of its thousand files does not read all of them again.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import Any

from controlplane.statestore.models import Container, Job

from .masters import container_group, container_spec
from .services import revision_of, revisions

MOST = 50_000  # names that a process keeps, of all groups together: some ten MiB


@dataclass(frozen=True, slots=True)
class Declared:
    """files: digests. inputs: pairs of group and output. outputs: pairs of name and path. ports, secrets: names."""

    files: frozenset[str]
    inputs: frozenset[tuple[str, str]]
    outputs: frozenset[tuple[str, str]]
    ports: frozenset[str]
    secrets: frozenset[str]

    @property
    def names(self) -> int:
        """How many there are; 1 of a group that declares nothing."""
        return 1 + sum(len(getattr(self, each.name)) for each in fields(self))


class _Kept:
    """The last ones that were asked for. most: names of all together."""

    def __init__(self, most: int) -> None:
        self._most, self._names, self._lock = most, 0, threading.Lock()
        self._of: OrderedDict[tuple[Any, ...], Declared] = OrderedDict()

    def get(self, *keys: tuple[Any, ...]) -> Declared | None:
        """Of the first of these keys that is known."""
        with self._lock:
            for key in keys:
                if key in self._of:
                    self._of.move_to_end(key)
                    return self._of[key]
        return None

    def put(self, key: tuple[Any, ...], declared: Declared) -> None:
        with self._lock:
            before = self._of.pop(key, None)
            self._names += declared.names - (before.names if before else 0)
            self._of[key] = declared
            while self._names > self._most:
                self._names -= self._of.popitem(last=False)[1].names


_kept = _Kept(MOST)


def declared(container: Container) -> tuple[Job, Declared]:
    """A live container's job, of which little is read, and what its group declares in the revision that it runs."""
    job = Job.objects.only("submitted_at", "owner_id", "services").get(pk=container.job_id)
    of_group = _group_key(container, job)
    known = _kept.get(of_group, (*of_group, container.pk))
    if known is not None:
        return job, known
    now, group = container_group(container)
    of_group = _group_key(container, now)  # read with the specification: an update may have come between
    if (revision := of_group[-1]) != (now.services or {}).get("revision", 1):
        before = next((r["spec"] for r in revisions(now) if r["revision"] == revision), None)
        group = group if before is None else container_spec(container, before)
    found = _of(group)
    if not group.get("held"):
        _kept.put(of_group, found)
    elif group["command"]:  # else it is not launched yet
        _kept.put((*of_group, container.pk), found)
    return job, found


def _group_key(container: Container, job: Job) -> tuple[Any, ...]:
    revision = revision_of(job.services, container.group_no, container.task_index, container.attempt)
    return (job.pk, job.submitted_at, container.group_no, revision)


def _of(group: dict[str, Any]) -> Declared:
    return Declared(
        files=frozenset(f["digest"] for f in group["files"]),
        inputs=frozenset((i["group"], i["name"]) for i in group["inputs"]),
        outputs=frozenset((o["name"], o["path"]) for o in group["outputs"]),
        ports=frozenset(p["name"] for p in group.get("ports") or ()),
        secrets=frozenset(s["name"] for s in group.get("secrets") or ()),
    )
