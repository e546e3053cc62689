"""What a live container's group declares: the files it may have, the outputs it leaves behind, the ports it serves.

Neither a stored specification nor an ask or a launch ever changes, so that what
was read of one is kept: a look at one of its thousand files does not read all of them again.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from controlplane.statestore.models import Container, Job

from .masters import container_group

MOST = 50_000  # names that a process keeps, of all groups together: some ten MiB


@dataclass(frozen=True, slots=True)
class Declared:
    """files: digests. inputs: pairs of group and output. outputs: pairs of name and path. ports: names."""

    files: frozenset[str]
    inputs: frozenset[tuple[str, str]]
    outputs: frozenset[tuple[str, str]]
    ports: frozenset[str]

    @property
    def names(self) -> int:
        """How many there are; 1 of a group that declares nothing."""
        return 1 + len(self.files) + len(self.inputs) + len(self.outputs) + len(self.ports)


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
    """A live container's job, of which only its number and its day are read, and what its group declares."""
    job = Job.objects.only("submitted_at").get(pk=container.job_id)
    of_group = (job.pk, job.submitted_at, container.group_no)
    of_launch = (*of_group, container.pk)
    known = _kept.get(of_group, of_launch)
    if known is not None:
        return job, known
    _, group = container_group(container)
    found = _of(group)
    if not group.get("held"):
        _kept.put(of_group, found)
    elif group["command"]:  # else it is not launched yet
        _kept.put(of_launch, found)
    return job, found


def _of(group: dict[str, Any]) -> Declared:
    return Declared(
        files=frozenset(f["digest"] for f in group["files"]),
        inputs=frozenset((i["group"], i["name"]) for i in group["inputs"]),
        outputs=frozenset((o["name"], o["path"]) for o in group["outputs"]),
        ports=frozenset(p["name"] for p in group.get("ports") or ()),
    )
