"""What is said of a job before it is submitted: where it would go, when it could start, and what never can."""

from __future__ import annotations

from collections.abc import Sequence

from client.screen import Column, Format, print_json, say, show, show_one
from contract import yamltext
from contract.jobs import JobChecked, Outlook, SubClusterFit
from contract.problems import FieldError

_FITS: list[Column[SubClusterFit]] = [
    ("SUB-CLUSTER", lambda f: f.sub_cluster),
    ("COULD HOLD IT", lambda f: f.fits),
    ("LACKS", lambda f: f.why or " "),
]


def warn(warnings: Sequence[FieldError], text: str | None = None) -> None:
    """What keeps a job from ever starting, a line each, on stderr. text: of the job file, in which they stand."""
    for each in yamltext.located(warnings, text) if warnings and text else warnings:
        say(f"hydractl: warning: {each.said()}")


def told_before(checked: JobChecked, output: Format, text: str | None = None) -> None:
    """What the server said of a job that it was only asked about, whose job file has this text."""
    warn(checked.warnings, text)
    if output is Format.json:
        print_json(checked)
        return
    ahead = checked.outlook
    pairs = [("job", checked.spec.get("name")), ("tasks", checked.tasks), ("queue", checked.queue)]
    show_one(checked, [*pairs, ("priority", checked.priority), *(_pairs(ahead) if ahead else [])], output)
    if ahead:
        print()
        show(ahead.sub_clusters, _FITS, output, nothing="There is no sub-cluster.")
    say("Nothing was submitted.")


def _pairs(ahead: Outlook) -> list[tuple[str, object]]:
    return [
        ("home", f"{ahead.home} ({ahead.why})" if ahead.home else f"none now: {ahead.why}"),
        ("begins", "now, as far as limits go" if ahead.admitted else f"later: {'; '.join(ahead.limits)}"),
        ("before it", None if ahead.jobs_ahead is None else f"{ahead.jobs_ahead:,} jobs that have not begun"),
        ("starts", ahead.estimate.text),
    ]
