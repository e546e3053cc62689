"""Whose output is meant, and following it over attempts."""

from typing import Any

import pytest

from client import Client, HydraError
from client.follow import (
    LogTarget,
    Printer,
    Reading,
    attempt_before,
    follow_task,
    follow_tasks,
    parse_target,
    tasks_of,
)
from contract.jobs import LogPart, Task
from tests import hydractl
from tests.answers import answer

SPEC = {"name": "a", "groups": [{"name": "map", "count": 2, "command": ["true"]}]}


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("7", LogTarget(7)),
        ("7/map", LogTarget(7, "map")),
        ("7/map/3", LogTarget(7, "map", 3)),
        ("c-1-2-3", LogTarget(container="c-1-2-3")),
    ],
)
def test_targets(text: str, target: LogTarget) -> None:
    assert parse_target(text) == target


@pytest.mark.parametrize("text", ["", "x", "7/", "7//1", "7/map/x", "7/map/1/2", "c-1", "c-1-2-x", "-1"])
def test_what_is_no_target_is_refused(text: str) -> None:
    with pytest.raises(HydraError, match="target:"):
        parse_target(text)


def test_a_missing_task_is_answered_with_those_there_are(cluster: Any) -> None:
    cluster.add_job(SPEC)
    with Client(cluster.url, "secret-token") as client, pytest.raises(HydraError, match=r"map \(0 to 1\)"):
        tasks_of(client, LogTarget(1, "mop"))


def test_following_goes_on_with_the_next_attempt(cluster: Any) -> None:
    job = cluster.add_job(SPEC, "RUNNING")
    first = {"id": "c-1-1-1", "group": "map", "index": 0, "attempt": 1, "state": "FAILED"}
    second = {"id": "c-1-1-2", "group": "map", "index": 0, "attempt": 2, "state": "SUCCEEDED"}
    cluster.logs = {("c-1-1-1", "stdout"): b"oh no\n", ("c-1-1-2", "stdout"): b"fine\n"}
    cluster.ended = {"c-1-1-1", "c-1-1-2"}
    cluster.tasks = [{"group": "map", "index": 0, "state": "RUNNING"}]

    def next_attempt(_job: dict[str, Any]) -> None:
        """The first look at the job finds no attempt, the second the first one, and so on."""
        if len(cluster.containers) < 2:
            cluster.containers.append([first, second][len(cluster.containers)])

    cluster.on_get_job = next_attempt
    notes: list[str] = []
    with Client(cluster.url, "secret-token") as client:
        pieces = list(follow_task(client, 1, answer(Task, group="map", index=0), Reading(), notes.append))
    assert "".join(p.data for p in pieces) == "oh no\nfine\n"
    assert notes == ["map/0: again, in c-1-1-2"]
    assert job["state"] == "RUNNING", "the task has ended, not the job"


def test_following_ends_with_the_job_when_a_task_never_started(cluster: Any) -> None:
    cluster.add_job(SPEC, "KILLED")
    with Client(cluster.url, "secret-token") as client:
        assert list(follow_task(client, 1, answer(Task, group="map", index=1), Reading(), print)) == []


def test_tasks_that_will_never_start_are_not_to_be_waited_for(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "a", "groups": [{"name": "map", "count": 2}, {"name": "merge"}]}, "FAILED")
    of = [("map", 0, "FAILED", "c-1-1-1"), ("map", 1, "PENDING", None), ("merge", 0, "KILLED", None)]
    cluster.tasks = [dict(zip(("group", "index", "state", "container"), each, strict=True)) for each in of]
    for words in (("1/merge/0",), ("1/merge/0", "-f")):
        done = hydractl.run(("logs", *words), env)
        said = "Never started, as job 1 has failed: merge/0. See: hydractl tasks 1\n"
        assert (done.returncode, done.stdout, done.stderr) == (0, "", said)
    cluster.jobs[0]["state"] = "RUNNING"
    assert hydractl.run(("logs", "1"), env).stderr.splitlines() == [
        "Never started, as their group has ended: merge/0. See: hydractl tasks 1",
        "Not started yet: map/1. Wait for them with: hydractl logs -f",
    ]


def test_too_many_tasks_are_refused(cluster: Any) -> None:
    with Client(cluster.url, "secret-token") as client, pytest.raises(HydraError, match="40 tasks are too many"):
        follow_tasks(
            client,
            1,
            [answer(Task, group="g", index=n) for n in range(40)],
            reading=Reading(),
            printer=Printer(True),
            note=print,
        )


def part(data: str, skipped: int = 0, stream: str = "stdout") -> LogPart:
    return answer(LogPart, data=data, skipped=skipped, stream=stream)


def test_lines_of_several_tasks_stay_whole(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(prefixed=True)
    printer.piece("a/0", part("one\ntw"))
    printer.piece("b/0", part("other\n"))
    printer.piece("a/0", part("o\nrest"))
    printer.end("a/0")
    assert capsys.readouterr().out == "a/0 | one\nb/0 | other\na/0 | two\na/0 | rest\n"


def test_one_task_is_printed_as_it_is_and_gaps_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(prefixed=False)
    printer.piece("a/0", part("one", skipped=0))
    printer.piece("a/0", part("two", skipped=99))
    assert capsys.readouterr().out == "one[99 bytes left out]\ntwo"


def test_lines_of_both_streams_stay_whole_and_say_which_stream(capsys: pytest.CaptureFixture[str]) -> None:
    for prefixed, expected in ((True, "a/0 | one\na/0 stderr | bad\na/0 | two\n"), (False, "one\nbad\ntwo\n")):
        printer = Printer(prefixed, both=True)
        printer.piece("a/0", part("one\nt"))
        printer.piece("a/0", part("bad\n", stream="stderr"))
        printer.piece("a/0", part("wo"))
        printer.end("a/0")
        assert capsys.readouterr().out == expected


def test_only_lines_with_a_text_are_printed_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer(False, both=True, grep="error")
    printer.piece("a/0", part("fine\nan Err"))
    printer.piece("a/0", part("or\nfine\nlast ERROR"))
    printer.piece("a/0", part("x\n", 7, "stderr"))
    printer.end("a/0")
    assert capsys.readouterr().out == "an Error\n[7 bytes left out]\nlast ERROR\n"
    assert printer.left_out == 3


def test_the_attempt_before_and_what_follows_a_tail(cluster: Any) -> None:
    cluster.add_job(SPEC, "FAILED")
    attempts = [("c-1-1-1", 1), ("c-1-1-2", 2), ("c-1-1-3", 3)]
    cluster.containers = [
        {"id": c, "group": "map", "index": 0, "attempt": n, "state": "FAILED"} for c, n in reversed(attempts)
    ]
    cluster.ended = {c for c, _ in attempts}
    cluster.logs = {(c, "stdout"): f"{n} a\n{n} b\n".encode() for c, n in attempts}
    with Client(cluster.url, "secret-token") as client:
        of = {c: answer(Task, group="map", index=0, container=c) for c, _ in attempts}
        assert [attempt_before(client, 1, of[c]) for c, _ in attempts] == [None, "c-1-1-1", "c-1-1-2"]
        assert attempt_before(client, 1, answer(Task, group="map", index=0)) is None
        notes: list[str] = []
        parts = list(follow_task(client, 1, of["c-1-1-3"], Reading(tail=1), notes.append))
    assert ("".join(p.data for p in parts), notes) == ("3 b\n", [])


def test_failed_tasks_come_first(cluster: Any) -> None:
    cluster.add_job(SPEC)
    states = ["RUNNING", "FAILED", "SUCCEEDED", "FAILED"]
    cluster.tasks = [{"group": "map", "index": n, "state": state} for n, state in enumerate(states)]
    with Client(cluster.url, "secret-token") as client:
        assert [t.index for t in tasks_of(client, LogTarget(1))] == [1, 3, 0, 2]
