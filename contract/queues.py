"""Queues: limits and use, who may use them, one queue in all its sub-clusters, what was used over time."""

import datetime as dt
from typing import Annotated

from pydantic import Field

from contract import words
from contract.base import ALL_SAID, Amounts, Answer, Containers, Page, Request, one_of
from contract.fields import SOME

RULES = ("demand", "idle", "vain", "maximum", "guarantee", "capacity", "weight", "size", "none")
Rule = Annotated[str, one_of(*RULES)]  # by which a share was given


class PartitionLimits(Answer):
    guaranteed: Amounts
    maximum: Amounts


class Queue(Answer):
    """A queue of the policy in force. Limits are in units of the whole federation, over all partitions.

    ``state``: ``stopped`` takes no new jobs, and is ``draining`` while jobs still live in it. ``user_limit``:
    what one user may hold. ``max_running_jobs`` counts the queue and all below it;
    ``max_live_...``: what one user may have in a leaf of jobs that have not ended.
    """

    model_config = ALL_SAID

    path: str
    parent: str | None
    policy_version: int
    leaf: bool
    state: Annotated[str, one_of("running", "draining", "stopped")]
    stopped: bool
    open_to_all: bool
    guaranteed: Amounts
    maximum: Amounts
    user_limit: Amounts
    partitions: dict[str, PartitionLimits]  # name -> guaranteed, maximum
    default_partition: str
    weight: float | None
    ordering: Annotated[str, one_of("fifo", "fair", "priority")]
    preemptable: bool
    user_maximum: float
    max_running_jobs: int | None
    max_running_jobs_per_user: int | None
    max_live_jobs_per_user: int | None = None
    max_live_tasks_per_user: int | None = None
    max_live_mib_per_user: int | None = None
    max_am_share: float
    max_priority: int
    default_priority: int
    used: Containers
    pending: int  # containers asked for and not yet placed, here and below; where only your own are seen, here
    live_jobs: int
    running_jobs: int
    may_submit: bool  # you, with this token


class QueueList(Page):
    results: list[Queue]


class QueueRight(Answer):
    """``source``: ``grant`` can be changed here, ``policy`` is an access list of the document in force."""

    user: str
    level: words.Level
    queue: str
    source: Annotated[str, one_of("grant", "policy")]


class QueueRightList(Page):
    results: list[QueueRight]


class QueueRightRequest(Request):
    user: str = Field(min_length=1, max_length=150, pattern=SOME)
    level: words.Level = "submit"


class QueuePlace(Answer):
    """``guaranteed_part``: of ``share``. ``why``: the rule in words. ``by_size``, ``by_demand``: what other ways of
    sharing would guarantee here.
    """

    sub_cluster: str
    counts: bool
    stale: bool
    shares_age_s: float | None
    share: Amounts
    guaranteed_part: Amounts
    used: Amounts
    pending: Amounts
    rule: Rule
    why: str
    by_size: int
    by_demand: int


class QueueUser(Answer):
    user: str
    jobs: int
    used: Amounts


class QueueGranted(Answer):
    who: str
    level: str
    queue: str
    source: Annotated[str, one_of("policy", "grant")]


class Reclaim(Answer):
    queue: str
    sub_cluster: str
    amount: int


class QueueStarves(Answer):
    since: float
    lacking: Amounts
    resource: str
    reclaim: list[Reclaim]
    text: str


class QueueDetail(Answer):
    """``sees``: ``own`` counts the reader's own jobs only. ``pointer``: where it stands in the policy document.

    ``own``: to those who see their own part, why they get what they get, in words.
    """

    model_config = ALL_SAID

    path: str
    sees: Annotated[str, one_of("whole", "own")]
    pointer: str | None
    partition: str
    resource: str
    leaf: bool
    stopped: bool
    open_to_all: bool
    ordering: str
    preemptable: bool
    max_running_jobs: int | None
    max_running_jobs_per_user: int | None
    max_live_jobs_per_user: int | None = None
    max_live_tasks_per_user: int | None = None
    max_live_mib_per_user: int | None = None
    max_am_share: float
    max_priority: int
    default_priority: int
    guaranteed: Amounts
    maximum: Amounts
    user_limit: Amounts
    used: Amounts
    pending: Amounts
    live_jobs: int
    running_jobs: int
    weight: float | None
    siblings_weight: float | None
    places: list[QueuePlace]
    own: list[str]
    users: list[QueueUser]
    starving: QueueStarves | None
    rights: list[QueueGranted] | None


class UsedAmounts(Answer):
    """Of containers that ended in this time. ``memory_mib_s``, ``vcores_milli_s``, ``gpu_s``: units times seconds."""

    containers: int
    failed: int = Field(description="Of the containers, those that FAILED; not what was stopped or lost")
    cpu_ms: int = Field(description="What they took of processors")
    tasks: int = Field(description="That could have started when their job was submitted")
    waited_s: int = Field(description="For how long those did not, together")
    peak_memory_mib_s: int = Field(description="The most memory that each container took, times its seconds")
    memory_mib_s: int
    vcores_milli_s: int
    gpu_s: int


class Used(UsedAmounts):
    """In one queue."""

    queue: str


class UsedHour(Used):
    """In an hour or a day. Of hours before a release kept it, what is beside containers and amounts is 0."""

    at: dt.datetime


class UsedTag(Used):
    """``tag``: of jobs, a job counting for each that it has; "" of those without one, "(others)" past the first of a
    day that are told apart."""

    tag: str


class UsedTags(Answer):
    begin: dt.datetime
    end: dt.datetime
    results: list[UsedTag]
    complete: bool


class UsedAccount(UsedAmounts):
    """``owner``: the account's name, "" of one that is gone."""

    owner: str


class UsedAccounts(Answer):
    begin: dt.datetime
    end: dt.datetime
    results: list[UsedAccount]
    complete: bool


class UsedHours(Answer):
    begin: dt.datetime
    end: dt.datetime
    step: Annotated[str, one_of("hour", "day")]
    results: list[UsedHour]
    complete: bool
