"""Counts of admitted jobs that sub-clusters share: what is requested, and what is to be written."""

from dataclasses import dataclass, field
from typing import NamedTuple

Key = tuple[str, int]  # queue, owner; owner 0: the queue with all below it


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """A count to be raised from ``own`` to ``requested``, where the whole federation may have ``most``."""

    own: int
    requested: int
    most: int


class Claimed(NamedTuple):
    """What came of a request. elsewhere: what all others run; granted: the count that now stands for this one."""

    elsewhere: int
    granted: int


@dataclass(slots=True)
class Counts:
    """Absolute counts of this sub-cluster to be written; 0 removes a row.

    recounted: the policy version under which ``running`` is all there is to
    count; None when only these have changed.
    """

    running: dict[Key, int] = field(default_factory=dict)
    recounted: int | None = None
