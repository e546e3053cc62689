"""Schedules: jobs that are started again and again, at the times that a cron expression names in a time zone."""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints, WithJsonSchema
from pydantic_core import PydanticCustomError

from contract import words
from contract.atmost import AtMost
from contract.base import ALL_SAID, Answer, Page, Request, one_of
from contract.fields import DAYS_30_S, NO_NUL, WHOLE_SPAN, JobName, Text, Whole
from contract.jobs import Outlook
from contract.parameters import Given
from contract.problems import FieldError

JOB_TEXT_MAX = 128 << 10  # characters of a job file
UPCOMING = 5  # times that are shown ahead
OWN_PARAMETERS = ("schedule_time", "schedule_date", "schedule_name")  # that a schedule gives where they are declared
LAST_YEAR = 9000
_UNTIL_REMEDY = "give a time with its zone, such as YYYY-MM-DDTHH:MM:SSZ"


def _storable(at: dt.datetime) -> dt.datetime:
    if not 1970 < at.year < LAST_YEAR:
        raise PydanticCustomError("written", "is a year that nobody plans for", {"remedy": _UNTIL_REMEDY})
    return at


Moment = Annotated[AwareDatetime, Field(strict=False), AfterValidator(_storable)]
Cron = Annotated[str, StringConstraints(min_length=1, max_length=255, pattern=NO_NUL)]
ZoneName = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=NO_NUL)]
Days = Annotated[str, StringConstraints(min_length=1, max_length=21, pattern=NO_NUL)]
Overlap = Literal["skip", "allow", "replace"]
# Its schema has no pattern beside its length: who makes examples of it would try an expression of 131,072 repetitions.
JobText = Annotated[
    Text,
    Field(min_length=1, max_length=JOB_TEXT_MAX),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": JOB_TEXT_MAX}),
]
StartWithin = Annotated[Whole, Field(ge=10, le=DAYS_30_S), WHOLE_SPAN]
Outcome = Annotated[str, one_of("started", "refused", "overlap", "late", "suspended")]


class ScheduleRequest(Request):
    """A job file that is to run at certain times. Its name is its owner's own.

    cron: five fields, or @hourly, @daily, @weekly, @monthly, @yearly; in ``zone``, a name of the IANA's. except_days:
    on which nothing is started, ``YYYY-MM-DD``, ``YYYY-MM-DD/YYYY-MM-DD`` (both included) or ``MM-DD`` of every year.
    job: the text of a job file, YAML or JSON. set: values of its parameters; ``schedule_time``, ``schedule_date`` and
    ``schedule_name``, where it declares such, are given by the schedule. overlap: what happens at a time at which a job
    of before has not ended. start_within_s: later than so long after its time nothing is started for it. keep: of how
    many times it is kept what became of them. until: after then nothing is started.
    """

    name: JobName
    cron: Cron
    zone: ZoneName = "UTC"
    except_days: Annotated[list[Days], AtMost(100)] = []
    job: JobText
    set: Given = {}
    overlap: Overlap = "skip"
    start_within_s: StartWithin = 3600
    keep: Annotated[Whole, Field(ge=1, le=1000)] = 50
    until: Moment | None = None
    suspended: bool = False


class ScheduleUpdate(ScheduleRequest):
    """The whole schedule as it is to be. revision: the one that is known to whoever asks."""

    revision: Annotated[Whole, Field(ge=1, lt=2**31)]


class RunJob(Answer):
    id: int
    state: words.JobState


class ScheduleRun(Answer):
    """What became of a time. ``at``: the time; of one that somebody asked for, when that was. job: what was started,
    null also where its own history has ended. times: how many times it stands for. by: who asked for it.
    """

    id: int
    at: dt.datetime
    outcome: Outcome
    job: RunJob | None
    message: str
    times: int
    by: str | None
    made_at: dt.datetime


class ScheduleRunPage(Page):
    results: list[ScheduleRun]


class Schedule(Answer):
    """``words``: what the cron expression says. next_at: when it starts something next; null: never, or not while it is
    suspended. Both have the offset that its zone has then."""

    id: int
    name: str
    owner: str
    queue: str
    cron: str
    words: str
    zone: str
    overlap: Annotated[str, one_of("skip", "allow", "replace")]
    suspended: bool
    until: dt.datetime | None
    next_at: dt.datetime | None
    last_run: ScheduleRun | None


class SchedulePage(Page):
    results: list[Schedule]


class ScheduleDetail(Schedule):
    """``upcoming``: the next times, also of one that is suspended. warnings: of a schedule just saved, what keeps its
    job from ever starting, by the nodes there are."""

    model_config = ALL_SAID

    except_days: list[str]
    job: str
    set: dict[str, Any]
    start_within_s: int
    keep: int
    revision: int
    created_at: dt.datetime
    changed_at: dt.datetime
    upcoming: list[dt.datetime]
    warnings: list[FieldError] = []

    def written(self) -> dict[str, Any]:
        """What a ``ScheduleRequest`` says of it."""
        return self.model_dump(mode="json", include={*ScheduleRequest.model_fields})


class SchedulePreview(Answer):
    """What a schedule would do were it saved now. outlook: of a job that it started at once."""

    model_config = ALL_SAID

    words: str
    upcoming: list[dt.datetime]
    queue: str
    warnings: list[FieldError] = []
    outlook: Outlook | None = None
