"""What of a job can still be looked at when some fields have the wrong shape, so that all errors are told at once."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

Loc = tuple[int | str, ...]
Json = dict[str, Any]
_NAMES = re.compile(r"groups(\.\d+(\.name)?)?")  # fields by which other groups name a group
_DATA = re.compile(r"groups\.\d+\.(outputs|after)")
_ABOUT_NAMES = re.compile(r"groups\.\d+\.(after|inputs)\b")
_ABOUT_DATA = re.compile(r"groups\.\d+\.inputs\b")
_BESIDE = {"ports": "health_check", "shell": "command"}  # of the second nothing can be said without the first


class Unreadable:
    """Fields that were left out of a job, and what nothing can be said of without them."""

    def __init__(self, fields: Iterable[str] = ()) -> None:
        self._fields = set(fields)
        self._names = any(_NAMES.fullmatch(field) for field in self._fields)
        self._data = any(_DATA.fullmatch(field) for field in self._fields)
        for field in list(self._fields):
            holder, _, last = field.rpartition(".")
            if last in _BESIDE:
                self._fields.add(f"{holder}.{_BESIDE[last]}")

    def __contains__(self, field: str) -> bool:
        """Whether what a rule says of this field may only follow from what was left out."""
        if (self._names and _ABOUT_NAMES.match(field)) or (self._data and _ABOUT_DATA.match(field)):
            return True
        parts = field.split(".")
        return any(".".join(parts[:end]) in self._fields for end in range(1, len(parts) + 1))

    @property
    def kind(self) -> bool:
        """Whether it is unknown what the job is made of."""
        return not self._fields.isdisjoint({"kind", "groups", "master"})


def sound(data: Json, wrong: Sequence[Loc]) -> tuple[Json, Unreadable]:
    """The job without its fields in which something has the wrong shape, and which these are.

    What every job must have stands in for what is missing. ``data`` is not changed.
    """
    job = dict(data)
    if isinstance(job.get("groups"), list):
        job["groups"] = [dict(each) if isinstance(each, dict) else {} for each in job["groups"]]
    if isinstance(job.get("master"), dict):
        job["master"] = dict(job["master"])
    left_out = set()
    for loc in wrong:
        at = loc[: _depth(loc, job)]
        left_out.add(".".join(map(str, at)))
        _drop(job, at)
    _complete(job)
    return job, Unreadable(left_out)


def _depth(loc: Loc, job: Json) -> int:
    """How much of a place is the field that cannot be read: one of the job, of a group or of its master."""
    inside = {"groups": 3, "master": 2}.get(str(loc[0]), 1) if isinstance(job.get(str(loc[0])), (dict, list)) else 1
    if loc[inside - 1 :][:1] == ("env",):  # of which each variable is a field
        inside += 1
    return min(inside, len(loc))


def _drop(job: Json, at: Loc) -> None:
    holder: Any = job
    for part in at[:-1]:
        if isinstance(holder, dict) and part not in holder:  # all of it is out already
            return
        holder = holder[part]
    if isinstance(holder, dict):
        holder.pop(at[-1], None)
    else:
        holder[at[-1]] = {}


def _complete(job: Json) -> None:
    job.setdefault("name", "unreadable")
    for no, group in enumerate(job.get("groups") or ()):
        group.setdefault("name", f"unreadable-{no}")
        group.setdefault("command", ["unreadable"])
    if job.get("master") is not None:
        job["master"].setdefault("command", ["unreadable"])
