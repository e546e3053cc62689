"""What is said of a job: pure."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

from wire.states import JobState

Json = dict[str, Any]
_ENDED = {"succeeded": "has succeeded", "failed": "has failed", "killed": "was killed", "started": "has begun"}
SUBJECTS_MAX = 3  # jobs named in the subject of a mail


@dataclass(frozen=True, slots=True)
class Told:
    """Something to tell. ``job``: 0 of a test. why: how the job says that it ended."""

    event: str
    at: dt.datetime
    job: int = 0
    name: str = ""
    queue: str = ""
    owner: str = ""
    tags: tuple[str, ...] = ()
    state: int = 0
    why: str = ""
    submitted_at: dt.datetime | None = None
    started_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None


def line(told: Told) -> str:
    """In one line."""
    if not told.job:
        return "This is a test: notifications of Hydra arrive here."
    why = f": {' '.join(told.why.split())}" if told.why and told.event != "started" else ""
    return f"Job {told.job} {told.name} {_ENDED.get(told.event, told.event)}{why}"


def link(told: Told, site: str) -> str:
    """Where more is to be seen."""
    return f"{site.rstrip('/')}/jobs/{told.job}" if told.job else f"{site.rstrip('/')}/account"


def payload(told: Told, site: str) -> Json:
    """The body of a webhook: its ``type`` says what happened, ``text`` is what chat systems show."""
    data: Json = {"link": link(told, site)}
    if told.job:
        data |= {
            "job": told.job,
            "name": told.name,
            "owner": told.owner,
            "queue": told.queue,
            "tags": list(told.tags),
            "state": JobState(told.state).name,
            "message": told.why,
            "submitted_at": _iso(told.submitted_at),
            "started_at": _iso(told.started_at),
            "finished_at": _iso(told.finished_at),
        }
    kind = f"job.{told.event}" if told.job else "test"
    return {"type": kind, "timestamp": _iso(told.at), "text": f"{line(told)} {data['link']}", "data": data}


def subject(all_of: list[Told]) -> str:
    """Of a mail that tells all of these."""
    if len(all_of) == 1:
        return f"[Hydra] {line(all_of[0])}"[:200]
    named = ", ".join(f"{each.name or 'test'} {each.event}" for each in all_of[:SUBJECTS_MAX])
    more = ", ..." if len(all_of) > SUBJECTS_MAX else ""
    return f"[Hydra] {len(all_of)} jobs: {named}{more}"[:200]


def mail(all_of: list[Told], site: str) -> str:
    """Its text."""
    parts = []
    for told in all_of:
        lines = [line(told)]
        if told.job:
            lines.append(f"Queue {told.queue}{_took(told)}.")
        parts.append("\n".join([*lines, link(told, site)]))
    end = f"--\nYou asked for this: {site.rstrip('/')}/account, or hydractl receiver list."
    return "\n\n".join([*parts, end]) + "\n"


def _took(told: Told) -> str:
    if not told.submitted_at or not told.started_at:
        return ", never started" if told.finished_at else ""
    waited = f", waited {_span(told.started_at - told.submitted_at)}"
    return f"{waited}, ran {_span(told.finished_at - told.started_at)}" if told.finished_at else waited


def _span(passed: dt.timedelta) -> str:
    return str(dt.timedelta(seconds=max(0, round(passed.total_seconds()))))


def _iso(at: dt.datetime | None) -> str | None:
    return at.astimezone(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z") if at else None
