"""What a drain changes, worked out of two runs' waits, and how it is told."""

import datetime as dt
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from client import answers
from client.commands.drained import show_drained
from contract.simulations import SimulatedDrain
from controlplane.whatif import drainedpage
from controlplane.whatif.drained import moved
from simulator.measures import Waited


def waited(job: list[int], wait_s: list[float], waits: list[int] | None = None) -> Waited:
    still = np.isin(np.arange(len(job)), waits or [])
    return Waited(np.array(job), np.zeros(len(job), int), np.array(wait_s), still, max(job) + 1)


def test_who_waits_anew_and_who_longer() -> None:
    job = [0, 0, 1, 1, 2, 3, 4]
    before = waited(job, [0.0, 0.0, 0.0, 50.0, 70.0, 9.0, 30.0])
    after = waited(job, [0.0, 40.0, 0.5, 90.0, 71.0, 0.0, 90.0], [6])
    found = moved(before, after, 1.0)
    assert found.tasks.tolist() == [1, 3, 6], "one second more does not count, and neither does less"
    assert found.figures() == [1, 1, 2, 2, pytest.approx((40 + 40 + 60) / 3)]
    count, longest, whole, still = found.by_job().tolist()
    assert (count, longest, whole) == ([1, 1, 0, 0, 1], [40, 40, 0, 0, 60], [40, 40, 0, 0, 60])
    assert still == [0, 0, 0, 0, 1]
    assert moved(before, before, 1.0).figures() == [0, 0, 0, 0, 0.0]


def test_a_job_with_a_task_that_would_not_have_waited_counts_as_that() -> None:
    found = moved(waited([0, 0], [0.0, 20.0]), waited([0, 0], [10.0, 30.0]), 1.0)
    assert found.figures() == [1, 1, 0, 1, 10.0]


def one(value: float | None) -> dict[str, Any]:
    return {"value": value, "low": None, "high": None, "over": "", "count": 1}


def answer(**more: Any) -> dict[str, Any]:
    figures = {name: one(2.0) for name in ("jobs", "containers", "longer_jobs", "longer_containers", "wait_mean_s")}
    return figures | {
        "sub_cluster": "east", "at": dt.datetime(2026, 3, 1, tzinfo=dt.UTC).isoformat(), "horizon_s": 7200.0,
        "waits_s": 1.0, "running": 5, "services": 1, "empty_s": one(None), "left": 3.5,
        "seen_s": 9000.0, "deadline_s": None, "lost_core_hours": one(0.0),
        "queues": [{"queue": "root.<a>", "jobs": 1.5, "containers": 2.0, "wait_s": 61.0}], "total_queues": 1,
        "live": [{"job": 7, "name": "a&b", "owner": "ann", "queue": "root.a", "containers": 2.0, "wait_s": 3900.0,
                  "open": True}],
        "total_live": 1, "never": [], "total_never": 0, "never_jobs": 0, "never_forecast": 0,
    } | more  # fmt: skip


def test_the_page_says_it_and_takes_no_name_for_markup() -> None:
    text = drainedpage.section_of(answer())
    ElementTree.fromstring(text)
    assert "east would not be empty within 150 min: 3.5 containers would be left." in text
    assert "root.&lt;a&gt;" in text and "7 a&amp;b" in text and "65 min or more" in text
    assert "What could start nowhere else: none." in text
    stuck = {"job": 9, "name": "n", "owner": "bob", "queue": "root.a", "group": "g", "containers": 4, "why": "no room"}
    told = drainedpage.section_of(
        answer(never=[stuck], total_never=1, never_jobs=1, never_forecast=2, empty_s=one(30.0))
    )
    assert "neither could 2 of the jobs" in told and "no room" in told and "empty after 30.0 s" in told


def test_what_a_deadline_costs_is_told_where_there_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "stopped" not in drainedpage.section_of(answer())
    stopped = answer(deadline_s=600.0, lost_core_hours=one(1.25))
    told = drainedpage.section_of(stopped)
    assert "after 10 min would be stopped and begin elsewhere: 1.25 core hours of work would be lost." in told
    show_drained(answers.read(SimulatedDrain, stopped), 30)
    assert (
        "what still runs there after 600.0 s is stopped, and begins elsewhere: 1.25 core h" in capsys.readouterr().out
    )


def test_answers_from_before_there_were_deadlines_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    old = {name: value for name, value in answer().items() if name not in ("seen_s", "deadline_s", "lost_core_hours")}
    show_drained(answers.read(SimulatedDrain, old), 30)
    assert "it is not empty within 2.0 h: 3.5 containers left then" in capsys.readouterr().out


def test_a_terminal_says_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_drained(answers.read(SimulatedDrain, answer()), 30)
    out = capsys.readouterr().out
    assert "seen 2.0 h ahead" in out and "it is not empty within 2.5 h: 3.5 containers left then" in out
    assert "7 a&b" in out and "1.1 h or more" in out and "NOWHERE ELSE" not in out
    ends = answer(empty_s=one(40.0) | {"low": 30.0, "high": 50.0, "over": "pairs of seeds"}, queues=[], live=[])
    show_drained(answers.read(SimulatedDrain, ends), 30)
    assert "it is empty after 40.0 s (30.0 s to 50.0 s)" in capsys.readouterr().out
