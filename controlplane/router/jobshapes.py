"""Shapes of what is done with jobs beyond submitting them: moves, many at once, checks, and saved views of the list."""

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from controlplane.router.jobspec import QueuePath, Whole
from controlplane.router.shapes import PageOf, Shape

MOST_AT_ONCE = 1000
Message = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")]


class MoveRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    queue: QueuePath


class ActionsRequest(Shape):
    """``priority`` and ``queue`` belong to the actions of that name; ``message`` to a kill."""

    model_config = ConfigDict(extra="forbid", strict=True)

    action: Literal["kill", "priority", "queue"]
    jobs: list[Annotated[Whole, Field(ge=1, lt=2**63)]] = Field(min_length=1, max_length=MOST_AT_ONCE)
    message: Message = ""
    priority: Annotated[Whole, Field(ge=-500, le=499)] | None = None
    queue: QueuePath | None = None


class ActionResult(Shape):
    """``refused``: why nothing was asked for this job, empty where it was."""

    job: int
    accepted: bool
    refused: str


class ActionsAnswer(Shape):
    accepted: int
    results: list[ActionResult]


class JobChecked(Shape):
    """``spec``: the job with every default filled in. Amounts: of all its tasks together."""

    queue: str
    priority: int
    groups: int
    tasks: int
    memory_mib: int
    vcores_milli: int
    gpus: int
    spec: dict[str, Any]


class SavedViewRequest(Shape):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(min_length=1, max_length=63, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")
    query: str = Field(default="", max_length=2000, pattern=r"^[^\x00-\x20\x7f#]*$")


class SavedViewInfo(Shape):
    """``query``: a query string, as the address of the job list has it."""

    id: int
    name: str
    query: str
    created_at: dt.datetime


class SavedViewList(PageOf):
    results: list[SavedViewInfo]
