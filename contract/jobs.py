"""Jobs: what is answered about them, their tasks, containers, files and endpoints, and what is done with them."""

import datetime as dt
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from contract import words
from contract.atmost import AtMost
from contract.base import ALL_SAID, Amounts, Answer, Page, Request
from contract.fields import NO_NUL, GroupName, QueuePath, Whole
from contract.problems import FieldError
from contract.waiting import WaitEstimate, WaitReason
from wire import states


class Group(Answer):
    """``restarting``: tasks of a service that are to start again, as somebody wanted, and have not yet."""

    model_config = ALL_SAID

    no: int
    name: str
    count: int
    state: words.GroupState
    pending: int
    running: int
    succeeded: int
    failed: int
    killed: int
    retried: int
    restarting: int = 0
    resources: Amounts
    after: list[str]
    reason: WaitReason | None  # why it waits, with numbers
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


class Job(Answer):
    id: int
    name: str
    kind: words.JobKind
    queue: str
    owner: str
    priority: int
    tags: list[str]
    state: words.JobState
    message: str  # why it ended as it did
    home: str  # the sub-cluster whose RM holds it
    submitted_at: dt.datetime
    admitted_at: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    retry_of: int | None  # the ended job this one repeats
    groups: list[Group]
    waiting: str | None  # in one line

    @property
    def ended(self) -> bool:
        """Whether the job can never change again."""
        return self.state in states.JobState.__members__ and states.terminal(states.JobState[self.state])

    @property
    def succeeded(self) -> bool:
        return self.state == states.JobState.SUCCEEDED.name


class JobSubmitted(Job):
    """``warnings``: what keeps it from ever starting, by the nodes there are, and names that nobody has."""

    model_config = ALL_SAID

    warnings: list[FieldError] = []


class RolloutState(Answer):
    """A service on its way to another revision of what its tasks run. updated: of its ``tasks`` that may change, those
    that do not run ``previous`` any more. failures: ends of its attempts through their own fault, of which
    ``max_failures`` are borne. back: it takes back what has failed, or was not wanted. standing_in: tasks beside those,
    which serve meanwhile.
    """

    model_config = ALL_SAID

    revision: int
    previous: int
    updated: int
    tasks: int
    failures: int
    max_failures: int
    back: bool
    standing_in: int = 0
    began_at: dt.datetime
    due_at: dt.datetime | None  # when it is taken back if it is not done


class JobSchedule(Answer):
    """The schedule that started a job, and the time for which it did."""

    id: int
    name: str
    at: dt.datetime


class JobDetail(Job):
    """``tracking``: path on this server of the page that the application's master has named, while the job lives.

    revision: of what a service runs, from 1; rollout: to it, while some tasks run another one.
    schedule: that started it, while there is such a schedule.
    """

    model_config = ALL_SAID

    spec: dict[str, Any]
    tracking: str | None = None
    revision: int = 1
    rollout: RolloutState | None = None
    schedule: JobSchedule | None = None


class JobUpdated(JobDetail):
    """``unchanged``: it runs what was asked for already, and nothing was begun. warnings: as of a submit. changes:
    as of a revision, from what it runs."""

    model_config = ALL_SAID

    unchanged: bool = False
    warnings: list[FieldError] = []
    changes: list[str] = []


class Revision(Answer):
    """What a service ran, or runs. outcome: what became of it beside being followed by another, in words. back: the
    number of the revision it is the same as, where it was taken back to that. changes: what is different from the
    revision before, as ``web.resources.memory_mib: 64 -> 128``, or only where, as ``web.command``; the first twelve,
    and how many more. Nothing where the cluster went back by itself."""

    revision: int
    at: dt.datetime
    by: str
    outcome: str
    back: int | None
    changes: list[str] = []


class RevisionPage(Page):
    results: list[Revision]


class JobPage(Page):
    results: list[Job]


class Task(Answer):
    group: str
    index: int
    state: words.TaskState
    attempts: int
    container: str | None  # its current or last attempt
    node: str | None
    exit_code: int | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None


class TaskPage(Page):
    results: list[Task]


class Container(Answer):
    id: str
    job: int
    group: str
    index: int
    attempt: int
    node: str
    sub_cluster: str
    state: words.ContainerState
    reason: str | None  # a name of ``wire.states.ContainerReason``
    exit_code: int | None
    allocated_at: dt.datetime
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    memory_mib: int
    vcores_milli: int
    gpus: list[int]
    peak_memory_mib: int | None
    cpu_ms: int | None


class ContainerPage(Page):
    results: list[Container]


class JobPlace(Answer):
    """A job in a sub-cluster. ``first_at``: when the first container was granted there; ``last_at``: when the last of
    them ended, null while one lives. ``running``: of ``containers``, those that have not ended.
    """

    sub_cluster: str
    first_at: dt.datetime
    last_at: dt.datetime | None
    containers: int
    running: int


class JobPlaces(Answer):
    """Where a job was given containers, the first place first. ``complete``: whether all of them were counted."""

    results: list[JobPlace]
    complete: bool


class Event(Answer):
    id: int
    at: dt.datetime
    kind: str
    message: str


class EventPage(Page):
    results: list[Event]


class Output(Answer):
    group: str
    index: int
    name: str
    path: str  # relative to the task's work folder
    digest: str
    size: int
    container: str


class OutputPage(Page):
    results: list[Output]


class LogPiece(Answer):
    data: str
    offset: int
    next_offset: int  # where to go on
    skipped: int
    complete: bool  # the stream has ended


class LogPart(Answer):
    """What a container wrote to one stream, as it came in one piece."""

    stream: Literal["stdout", "stderr"]
    data: str
    offset: int  # bytes of the stream before it
    skipped: int  # bytes just before it that are not kept
    at: dt.datetime | None  # when it came to the control plane; of older ones only the day is known


class MergedLog(Answer):
    """Both streams, in the order in which their pieces came, about a second apart."""

    pieces: list[LogPart]
    next: str  # the ``cursor`` with which to go on
    complete: bool  # all has ended


class Artifact(Answer):
    digest: str  # SHA-256, hex
    size: int  # bytes


class BulkIds(Answer):
    """``warnings``: of all the jobs, at most 50; each job's own are among its events."""

    model_config = ALL_SAID

    ids: list[int]
    warnings: list[FieldError] = []


class Endpoint(Answer):
    """``healthy``: null before the first verdict and without a health check. ``proxy``: its path on this server.

    revision: of what its service runs there.
    """

    model_config = ALL_SAID

    name: str
    group: str
    index: int
    container: str
    node: str
    host: str
    port: int
    healthy: bool | None
    checked_at: dt.datetime
    proxy: str  # path on the server, under which it passes requests on
    revision: int = 1


class EndpointPage(Page):
    results: list[Endpoint]


class KillRequest(Request):
    message: str = Field(default="", max_length=1000, pattern=NO_NUL)


class PriorityRequest(Request):
    priority: Whole = Field(ge=-500, le=499)


MOST_AT_ONCE = 1000


Message = Annotated[str, Field(max_length=1000, pattern=NO_NUL)]


class MoveRequest(Request):
    queue: QueuePath


class ScaleRequest(Request):
    group: GroupName
    count: Whole = Field(ge=1, le=1_000_000)


class RestartRequest(Request):
    """One task of a group; without ``index`` all of it; without ``group`` all of the job."""

    group: GroupName | None = None
    index: Annotated[Whole, Field(ge=0, lt=1_000_000)] | None = None


class RolloutRequest(Request):
    """``revision``: the one that is known to whoever asks; another one has been rolled out if it is not in force.

    max_unavailable: tasks of a group that are down at a time. max_surge: so many
    tasks of the new revision start beside a group's own, where there is room,
    and of these as many more may be down as serve; when all is done they stop.
    One of both is 1 or more. min_ready_s: so long a task without a health check has to run until it counts. deadline_s:
    by when all tasks serve, or it is taken back; 0: whenever. max_failures: so
    many of its attempts may fail; with one more it is taken back.
    """

    revision: Annotated[Whole, Field(ge=1, lt=2**31)]
    max_unavailable: Annotated[Whole, Field(ge=0, le=1_000_000)] = 1
    max_surge: Annotated[Whole, Field(ge=0, le=10_000)] = 0
    min_ready_s: Annotated[float, Field(ge=0, le=3600)] = 10.0
    deadline_s: Annotated[float, Field(ge=0, le=604_800)] = 600.0
    max_failures: Annotated[Whole, Field(ge=0, le=1_000_000)] = 1

    @model_validator(mode="after")
    def _gets_on(self) -> Self:
        if not self.max_unavailable and not self.max_surge:
            raise ValueError("max_unavailable: none may be down, and nothing stands in; set max_surge to 1 or more")
        return self


class UpdateRequest(RolloutRequest):
    """``spec``: the whole job as for a submit. Its groups say what they run; what else it says is left as it is.

    dry_run: begin nothing, and say what else would be said; files need not be uploaded yet.
    """

    spec: dict[str, Any]
    dry_run: bool = False


class RollbackRequest(RolloutRequest):
    """``to``: a revision that the job had; without it the last that did not fail and ran something else, or the one
    before while another is rolled out. It is not taken back itself, so that ``deadline_s`` and ``max_failures`` mean
    nothing to it."""

    to: Annotated[Whole, Field(ge=1, lt=2**31)] | None = None


class ActionsRequest(Request):
    """``priority`` and ``queue`` belong to the actions of that name; ``message`` to a kill."""

    action: Literal["kill", "priority", "queue"]
    jobs: Annotated[list[Annotated[Whole, Field(ge=1, lt=2**63)]], AtMost(MOST_AT_ONCE, least=1)]
    message: Message = ""
    priority: Annotated[Whole, Field(ge=-500, le=499)] | None = None
    queue: QueuePath | None = None

    def wrong(self) -> list[FieldError]:
        """What is missing for the action, and what belongs to another one."""
        found = []
        for name in ("priority", "queue"):
            given = getattr(self, name) is not None
            if name == self.action and not given:
                found.append(FieldError(name, "is missing", f"say which {name} the jobs are to have"))
            elif given and name != self.action:
                found.append(
                    FieldError(name, f"is not changed by {self.action}", f"leave it out, or use action: {name}")
                )
        if self.message and self.action != "kill":
            found.append(FieldError("message", f"is not kept by {self.action}", "leave it out"))
        return found


class ActionResult(Answer):
    """``refused``: why nothing was asked for this job, empty where it was."""

    job: int
    accepted: bool
    refused: str


class ActionsAnswer(Answer):
    accepted: int
    results: list[ActionResult]


class SubClusterFit(Answer):
    """Whether a sub-cluster could hold all of a job, were its nodes empty; ``why``: what it lacks, or what keeps it
    from taking the job now, such as that it is draining."""

    sub_cluster: str
    fits: bool
    why: str


class Outlook(Answer):
    """What would become of a job that is submitted now.

    home: the sub-cluster that would take it, null where none does now; why: the words of that choice. admitted: whether
    it may begin now; limits: those that do not let it, and that nothing takes work, in words. jobs_ahead: jobs of its
    queue that wait before it, null for accounts that see only their own part of the queue. estimate: of its first
    container, from now.
    """

    home: str | None
    why: str
    sub_clusters: list[SubClusterFit]
    admitted: bool
    limits: list[str]
    jobs_ahead: int | None
    estimate: WaitEstimate


class JobChecked(Answer):
    """``spec``: the job with every default filled in. Amounts: of all its tasks together.

    warnings: what keeps it from ever starting, by the nodes there are, and names that nobody has.
    """

    model_config = ALL_SAID

    queue: str
    priority: int
    groups: int
    tasks: int
    memory_mib: int
    vcores_milli: int
    gpus: int
    spec: dict[str, Any]
    warnings: list[FieldError] = []
    outlook: Outlook | None = None


class SavedViewRequest(Request):
    name: str = Field(min_length=1, max_length=63, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")
    query: str = Field(default="", max_length=2000, pattern=r"^[^\x00-\x20\x7f#]*$")


class SavedView(Answer):
    """``query``: a query string, as the address of the job list has it."""

    id: int
    name: str
    query: str
    created_at: dt.datetime


class SavedViewList(Page):
    results: list[SavedView]
