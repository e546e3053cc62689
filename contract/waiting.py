"""Why jobs wait."""

import datetime as dt
from typing import Any

from pydantic import Field

from contract.base import Answer


class WaitLimit(Answer):
    """One limit that binds: what was asked of it, and what it has left.

    queue: whose maximum or share. after: groups that must succeed first. now,
    most: what a limit of jobs or amounts counts, and up to what. level: how
    near to its data it insists to be, for ``wait_s`` more.
    """

    limit: str
    text: str
    asked: dict[str, int]
    available: dict[str, int]
    queue: str | None = None
    after: list[str] | None = None
    now: int | None = None
    most: int | None = None
    level: str | None = None
    wait_s: float | None = None


class WaitPosition(Answer):
    """What stands before it in its queue."""

    jobs_ahead: int
    containers_ahead: int | None


class WaitEstimate(Answer):
    """Seconds from ``at``: behind its own queue's work only, and behind all; null where nobody can say."""

    earliest_s: float | None
    latest_s: float | None
    text: str


class WaitChange(Answer):
    """The smallest change that would start it. starts: at once; else it only could start later.

    what: wait, locality, gang (``at_once``), nodes, container
    (``per_container_at_most``), maximum (``raise``), or several (``changes``).
    """

    what: str
    text: str
    starts: bool = False
    at_once: int | None = None
    per_container_at_most: dict[str, int] | None = None
    raised: list[dict[str, Any]] | None = Field(default=None, alias="raise")
    changes: list[dict[str, Any]] | None = None


class WaitReason(Answer):
    """Why containers of a group wait. code, text: the first of ``limits``, which stand in the order they bind.

    waiting: containers. asked: of each. at: when this was found.
    """

    code: str
    text: str
    waiting: int
    asked: dict[str, int]
    limits: list[WaitLimit]
    position: WaitPosition | None
    estimate: WaitEstimate | None
    change: WaitChange | None
    at: dt.datetime | None = None


class WaitElsewhere(Answer):
    """Tasks of a group that wait in another sub-cluster than the job's home; reason: null until it has answered."""

    sub_cluster: str
    waiting: int
    since: dt.datetime
    reason: WaitReason | None


class GroupExplanation(Answer):
    """reason: null where nothing of the group waits, or its resource manager has not answered yet."""

    no: int
    name: str
    state: str
    pending: int
    as_of: dt.datetime | None
    reason: WaitReason | None
    elsewhere: list[WaitElsewhere]  # what of it waits in other sub-clusters, and why


class JobExplanation(Answer):
    job: int
    state: str
    waiting: str | None  # in one line
    groups: list[GroupExplanation]
