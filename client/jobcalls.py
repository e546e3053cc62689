"""Jobs changed and checked, many at once too, and saved views of the job list; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from client import answers
from client.transport import Transport

_JOBS = "/api/v1/jobs"
_VIEWS = "/api/v1/saved-views"


@dataclass(frozen=True, slots=True)
class ActionResult:
    """``refused``: why nothing was asked for this job, empty where it was."""

    job: int
    accepted: bool = False
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What a submit would take: ``spec`` with defaults filled in, amounts of all its tasks together."""

    queue: str
    priority: int = 0
    groups: int = 0
    tasks: int = 0
    memory_mib: int = 0
    vcores_milli: int = 0
    gpus: int = 0
    spec: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SavedView:
    """Filters of the job list under a name of your own; ``query`` as the list's address has it."""

    id: int
    name: str
    query: str = ""
    created_at: datetime | None = None


class JobCalls:
    _transport: Transport

    def move(self, job_id: int, queue: str) -> None:
        """Ask for another queue. The job's home decides; ``moved`` or ``not_moved`` is among its events then."""
        self._transport.request("POST", f"{_JOBS}/{job_id}/queue", json={"queue": queue})

    def act(self, action: str, job_ids: Sequence[int], **more: Any) -> list[ActionResult]:
        """``kill`` (``message``), ``priority`` or ``queue`` for up to 1000 jobs; each is answered by itself."""
        body = {"action": action, "jobs": list(job_ids), **more}
        answer = self._transport.request("POST", f"{_JOBS}/actions", json=body, repeatable=True).json()
        return [answers.read(ActionResult, each) for each in answer["results"]]

    def check(self, spec: dict[str, Any]) -> Checked:
        """What the server would say to a submit of this; files need not be there yet."""
        return answers.read(Checked, self._transport.request("POST", f"{_JOBS}/validate", json=spec).json())

    def saved_views(self) -> list[SavedView]:
        found = self._transport.request("GET", _VIEWS).json()["results"]
        return [answers.read(SavedView, each) for each in found]

    def save_view(self, name: str, query: str) -> SavedView:
        """Keep it, instead of your view of that name."""
        answer = self._transport.request("POST", _VIEWS, json={"name": name, "query": query}, repeatable=True)
        return answers.read(SavedView, answer.json())

    def delete_view(self, view_id: int) -> None:
        self._transport.request("DELETE", f"{_VIEWS}/{view_id}")
