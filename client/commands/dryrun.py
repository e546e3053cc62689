"""What is said of a job before it is submitted: where it would go, when it could start, and what never can."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from client import jobfile
from client.commands.common import connected
from client.errors import HydraError, InvalidJob, Source, placed
from client.screen import Column, Format, print_json, say, show, show_one
from contract.jobs import JobChecked, SubClusterFit
from contract.problems import FieldError
from wire.counts import counted

_INVALID = 422
_FITS: list[Column[SubClusterFit]] = [
    ("SUB-CLUSTER", lambda f: f.sub_cluster),
    ("COULD HOLD IT", lambda f: f.fits),
    ("LACKS", lambda f: f.why or " "),
]


def warn(warnings: Sequence[FieldError], text: Source = None, within: str = "", options: Collection[str] = ()) -> None:
    """What keeps a job from ever starting, a line each, on stderr. text: of the job file, in which they stand.

    within: the field of what was sent that held the file, with its dot. options: as for ``placed``.
    """
    for each in placed([replace(each, field=each.field.removeprefix(within)) for each in warnings], text, options):
        say(f"hydractl: warning: {each.said()}")


def packed(ctx: typer.Context, spec: dict[str, Any], base: Path) -> jobfile.Packed:
    """As ``jobfile.pack``; a job that is refused here tells what the server finds wrong with it, too."""
    try:
        return jobfile.pack(spec, base)
    except InvalidJob as refused:
        raise InvalidJob(with_servers(ctx, spec, refused.problem.errors)) from None


def with_servers(ctx: typer.Context, spec: dict[str, Any], wrong: Sequence[FieldError]) -> list[FieldError]:
    """These errors, and those that only the server knows: of queues, secrets, receivers. These alone without one."""
    known = {(error.field, error.message) for error in wrong}
    return [*wrong, *(error for error in _servers(ctx, spec) if (error.field, error.message) not in known)]


def _servers(ctx: typer.Context, spec: dict[str, Any]) -> list[FieldError]:
    try:
        with connected(ctx, retry_s=0, timeout_s=5) as client:
            client.check(jobfile.as_if_stored(spec))
    except HydraError as refused:
        return refused.problem.errors if refused.status == _INVALID else []
    except (TypeError, ValueError):  # a date, or a number that is none: JSON has no word for it
        return []
    return []


def told_before(checked: JobChecked, output: Format, text: Source = None, options: Collection[str] = ()) -> None:
    """What the server said of a job that it was only asked about, whose job file has this text; as of ``warn``."""
    warn(checked.warnings, text, options=options)
    if output is Format.json:
        print_json(checked)
        return
    ahead = checked.outlook
    show_one(checked, _pairs(checked), output)
    if ahead:
        print()
        show(ahead.sub_clusters, _FITS, output, nothing="There is no sub-cluster.")
    say("Nothing was submitted.")


def _not_begun(jobs: int) -> str:
    return counted(jobs, "job that has not begun", "jobs that have not begun")


def _begun_small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _pairs(checked: JobChecked) -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = [("job", checked.spec.get("name")), ("tasks", checked.tasks)]
    pairs += [("queue", checked.queue), ("priority", checked.priority)]
    ahead = checked.outlook
    if ahead is None:
        return pairs
    first = "Its first task: " if checked.tasks > 1 else ""
    never = " Not all of it ever starts: see the warnings." if checked.warnings else ""
    return [
        *pairs,
        ("home", f"{ahead.home} ({ahead.why})" if ahead.home else f"none now: {ahead.why}"),
        ("begins", "now, as far as limits go" if ahead.admitted else f"later: {'; '.join(ahead.limits)}"),
        ("before it", None if ahead.jobs_ahead is None else _not_begun(ahead.jobs_ahead)),
        ("starts", f"{first}{_begun_small(ahead.estimate.text) if first else ahead.estimate.text}{never}"),
    ]
