"""Schedules: jobs that are started again and again; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from client import answers
from client.transport import Transport
from contract.schedules import Schedule, ScheduleDetail, SchedulePreview, ScheduleRun

_PATH = "/api/v1/schedules"


class ScheduleCalls:
    _transport: Transport

    def schedules(
        self, *, owner: str | None = None, queue: str | None = None, name: str | None = None
    ) -> Iterator[Schedule]:
        """Those whose jobs you may see, the newest first; ``name``: the beginning of it."""
        params: dict[str, Any] = {"owner": owner, "queue": queue, "name": name, "page_size": 100}
        return (answers.read(Schedule, row) for row in self._rows(_PATH, params))

    def schedule(self, schedule_id: int) -> ScheduleDetail:
        """One with its job file and its next times."""
        return answers.read(ScheduleDetail, self._transport.request("GET", f"{_PATH}/{schedule_id}").json())

    def create_schedule(self, name: str, cron: str, job: str, **more: Any) -> ScheduleDetail:
        """Start what ``job``, the text of a job file, says at the times of ``cron``.

        Files of this machine cannot be in it: those are uploaded before (``upload``) and named by their digest.
        ``more``: zone, except_days, set, overlap (skip,
        allow, replace), start_within_s, keep, until (ISO 8601), suspended.
        """
        body = {"name": name, "cron": cron, "job": job, **more}
        return answers.read(ScheduleDetail, self._transport.request("POST", _PATH, json=body).json())

    def preview_schedule(self, name: str, cron: str, job: str, **more: Any) -> SchedulePreview:
        """What would be said of it, and its next times; nothing is kept."""
        body = {"name": name, "cron": cron, "job": job, **more}
        answer = self._transport.request("POST", f"{_PATH}/preview", json=body, repeatable=True)
        return answers.read(SchedulePreview, answer.json())

    def update_schedule(self, schedule_id: int, revision: int, **fields: Any) -> ScheduleDetail:
        """Change it to what ``fields`` say, all of them: ``schedule(n).written() | {"cron": "@daily"}``.

        revision: the one that you know; where another one is in force it is refused. Times that have passed are let go.
        """
        answer = self._transport.request("PUT", f"{_PATH}/{schedule_id}", json=fields | {"revision": revision})
        return answers.read(ScheduleDetail, answer.json())

    def suspend_schedule(self, schedule_id: int) -> ScheduleDetail:
        """Start nothing by itself until it is resumed."""
        return self._do(schedule_id, "suspend")

    def resume_schedule(self, schedule_id: int) -> ScheduleDetail:
        """Go on with the times to come; those that passed meanwhile start nothing."""
        return self._do(schedule_id, "resume")

    def run_schedule(self, schedule_id: int) -> ScheduleRun:
        """Start its job now, also while it is suspended."""
        return answers.read(ScheduleRun, self._transport.request("POST", f"{_PATH}/{schedule_id}/run", json={}).json())

    def delete_schedule(self, schedule_id: int) -> None:
        """Start nothing by it any more; its jobs run on."""
        self._transport.request("DELETE", f"{_PATH}/{schedule_id}")

    def schedule_runs(self, schedule_id: int) -> Iterator[ScheduleRun]:
        """What became of its times, the last one first."""
        rows = self._rows(f"{_PATH}/{schedule_id}/runs", {"page_size": 100})
        return (answers.read(ScheduleRun, row) for row in rows)

    def _do(self, schedule_id: int, what: str) -> ScheduleDetail:
        answer = self._transport.request("POST", f"{_PATH}/{schedule_id}/{what}", json={}, repeatable=True)
        return answers.read(ScheduleDetail, answer.json())

    def _rows(self, path: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        while True:
            page = self._transport.request("GET", path, params=params).json()
            yield from page["results"]
            if not page.get("next"):
                return
            params = {key: values[-1] for key, values in parse_qs(urlsplit(page["next"]).query).items()}
