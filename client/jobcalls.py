"""Jobs changed and checked, many at once too, and saved views of the job list; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from client import answers, jobfile
from client.conversion import Spec, packed
from client.errors import locating
from client.transport import Transport
from contract.jobs import ActionResult, JobChecked, JobDetail, JobUpdated, Revision, SavedView
from wire.arrays import Scalar

_JOBS = "/api/v1/jobs"
_VIEWS = "/api/v1/saved-views"


def _said(rules: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in rules.items() if value is not None}


class JobCalls:
    _transport: Transport
    upload_all: Callable[[Sequence[jobfile.LocalFile]], None]

    def move(self, job_id: int, queue: str) -> None:
        """Ask for another queue. The job's home decides; ``moved`` or ``not_moved`` is among its events then."""
        self._transport.request("POST", f"{_JOBS}/{job_id}/queue", json={"queue": queue})

    def scale(self, job_id: int, group: str, count: int) -> JobDetail:
        """Have another number of a service's tasks. Its home decides; ``scaled`` or ``not_scaled`` is among its events
        then."""
        body = {"group": group, "count": count}
        return self._change(job_id, "scale", body)

    def restart(self, job_id: int, group: str | None = None, index: int | None = None) -> JobDetail:
        """Start a service's task again at once, or all of a group or of the job, one of a group after the other.

        ``restarting`` of its groups says how many have not yet.
        """
        return self._change(job_id, "restart", {"group": group, "index": index})

    def update(
        self, job_id: int, revision: int, job: Spec | str | Path, *, parameters: Mapping[str, Scalar] | None = None,
        accept_losses: bool = False, dry_run: bool = False, **rules: float | None,
    ) -> JobUpdated:  # fmt: skip
        """Have a service run what ``job`` says, a path or a dict as ``submit`` takes it; files it brings are uploaded.

        revision: the one you know, as ``job`` says; where another one is in force by now it is refused. rules:
        ``max_unavailable``, ``max_surge``, ``min_ready_s``, ``deadline_s``, ``max_failures``. ``rollout`` of the
        job says how far it is; ``unchanged`` that it runs this already, and nothing was begun; ``changes`` what is
        different; ``warnings`` what keeps it from ever starting. dry_run: nothing is begun, and files may be missing
        yet.
        """
        sent, source = packed(job, parameters, accept_losses=accept_losses)
        if not dry_run:
            self.upload_all(sent.uploads)
        body = {"spec": sent.spec, "revision": revision} | ({"dry_run": True} if dry_run else {}) | _said(rules)
        with locating(source, within="spec."), sent.as_written():
            answer = self._transport.request("PUT", f"{_JOBS}/{job_id}/spec", json=body)
        return answers.read(JobUpdated, answer.json())

    def rollback(self, job_id: int, revision: int, to: int | None = None, **rules: float | None) -> JobUpdated:
        """Have a service run what it ran in a revision before; ``to`` None: in the last that did not fail and ran
        something else.

        revision: as of ``update``. rules: ``max_unavailable``, ``max_surge``, ``min_ready_s``; it is not taken back
        itself. ``changes`` of the answer are from what it runs; ``unchanged``: it runs this already.
        """
        body = {"to": to, "revision": revision} | _said(rules)
        answer = self._transport.request("POST", f"{_JOBS}/{job_id}/rollback", json=body)
        return answers.read(JobUpdated, answer.json())

    def revisions(self, job_id: int) -> list[Revision]:
        """What a service ran and runs, the newest first."""
        found = self._transport.request("GET", f"{_JOBS}/{job_id}/revisions").json()["results"]
        return [answers.read(Revision, each) for each in found]

    def _change(self, job_id: int, what: str, body: dict[str, Any]) -> JobDetail:
        answer = self._transport.request("POST", f"{_JOBS}/{job_id}/{what}", json=body)
        return answers.read(JobDetail, answer.json())

    def act(self, action: str, job_ids: Sequence[int], **more: Any) -> list[ActionResult]:
        """``kill`` (``message``), ``priority`` or ``queue`` for up to 1000 jobs; each is answered by itself."""
        body = {"action": action, "jobs": list(job_ids), **more}
        answer = self._transport.request("POST", f"{_JOBS}/actions", json=body, repeatable=True).json()
        return [answers.read(ActionResult, each) for each in answer["results"]]

    def check(
        self, job: Spec | str | Path, *, parameters: Mapping[str, Scalar] | None = None, accept_losses: bool = False
    ) -> JobChecked:
        """What the server would say to ``submit`` of the same, and what would become of it now; nothing is uploaded."""
        sent, source = packed(job, parameters, accept_losses=accept_losses)
        with locating(source), sent.as_written():
            answer = self._transport.request("POST", f"{_JOBS}/validate", json=sent.spec)
        return answers.read(JobChecked, answer.json())

    def saved_views(self) -> list[SavedView]:
        found = self._transport.request("GET", _VIEWS).json()["results"]
        return [answers.read(SavedView, each) for each in found]

    def save_view(self, name: str, query: str) -> SavedView:
        """Keep it, instead of your view of that name."""
        answer = self._transport.request("POST", _VIEWS, json={"name": name, "query": query}, repeatable=True)
        return answers.read(SavedView, answer.json())

    def delete_view(self, view_id: int) -> None:
        self._transport.request("DELETE", f"{_VIEWS}/{view_id}")
