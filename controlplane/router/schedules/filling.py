"""The job that a schedule starts at a time: its job file, with the values that its parameters have then."""

import datetime as dt
from collections.abc import Mapping
from typing import Any


def job_of(job: Any, given: Mapping[str, Any], name: str, at: dt.datetime, zone: dt.tzinfo) -> Any:
    """What is submitted for the time ``at``, of what a job file holds; one that is no mapping stays as it is.

    ``schedule_time``, ``schedule_date`` and ``schedule_name`` are given where the file declares parameters of these
    names; a value that people give themselves stays.
    """
    if not isinstance(job, dict):
        return job
    local = at.astimezone(zone)
    own = {
        "schedule_time": local.isoformat(timespec="seconds"),
        "schedule_date": local.date().isoformat(),
        "schedule_name": name,
    }
    declared = job.get("parameters")
    known = {key: own[key] for key in own if isinstance(declared, dict) and key in declared}
    said = job.get("set")
    values = known | (said if isinstance(said, dict) else {}) | dict(given)
    if said is not None and not isinstance(said, dict):
        return job  # what is wrong with it is told by who reads it
    return job | {"set": values} if values else job
