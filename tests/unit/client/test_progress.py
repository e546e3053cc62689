"""In which order a job's progress is told where lines are."""

import datetime as dt
from typing import Any

from client.progress import Lines
from contract.jobs import Group, JobDetail
from tests.answers import said_by_the_api

BEGAN = dt.datetime(2030, 1, 1, tzinfo=dt.UTC)


def group(name: str, state: str, began_s: int | None = None, ended_s: int | None = None) -> dict[str, Any]:
    at = {
        what: None if s is None else (BEGAN + dt.timedelta(seconds=s)).isoformat()
        for what, s in (("started_at", began_s), ("finished_at", ended_s))
    }
    return said_by_the_api(Group, name=name, state=state, count=1, **at)


def told(*pictures: tuple[str, list[dict[str, Any]]]) -> list[str]:
    """The first words of each line, of these pictures of a job: its state and its groups."""
    lines: list[str] = []
    show = Lines(lines.append).show
    for state, groups in pictures:
        job = said_by_the_api(JobDetail, id=1, name="a", state=state, groups=groups) | {"kind": "batch"}
        show(JobDetail.model_validate(job))
    return [" ".join(line.strip().removeprefix("job 1 ").split()[:2]) for line in lines]


def test_a_job_runs_before_its_groups_end_and_ends_after_them() -> None:
    waits, ended = group("g", "PENDING"), group("g", "SUCCEEDED", 1, 2)
    assert told(("ADMITTED", [waits]), ("RUNNING", [ended]), ("SUCCEEDED", [ended])) == [
        "a: ADMITTED", "g: PENDING", "a: RUNNING", "g: SUCCEEDED", "a: SUCCEEDED",
    ]  # fmt: skip


def test_a_state_that_is_older_than_what_was_told_is_not_told() -> None:
    waits, runs, ended = group("g", "PENDING"), group("g", "RUNNING", 1), group("g", "SUCCEEDED", 1, 2)
    behind = [("SUBMITTED", [waits]), ("SUBMITTED", [runs]), ("ADMITTED", [runs]), ("ADMITTED", [ended])]
    assert told(*behind, ("RUNNING", [ended]), ("SUCCEEDED", [ended])) == [
        "a: SUBMITTED", "g: PENDING", "g: RUNNING", "g: SUCCEEDED", "a: SUCCEEDED",
    ]  # fmt: skip
    other = group("h", "RUNNING", 3)
    assert told(("RUNNING", [ended, other]), ("KILLING", [ended, other]))[-1] == "a: KILLING"


def test_groups_are_told_as_they_came_to_be() -> None:
    assert told(("RUNNING", [group("late", "SUCCEEDED", 1, 9), group("early", "SUCCEEDED", 1, 2)]))[1:] == [
        "early: SUCCEEDED", "late: SUCCEEDED",
    ]  # fmt: skip
