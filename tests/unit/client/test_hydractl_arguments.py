"""What people type as names, numbers and times, as hydractl understands it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from client.commands.common import state_word
from tests import hydractl


def run(env: dict[str, str], *words: str) -> Any:
    return hydractl.run(words, env)


def test_a_name_of_digits_is_no_number_alone(cluster: Any, env: dict[str, str]) -> None:
    """Node 101 is not drained where the node named 101 was meant."""
    of = [(7, "101", "west"), (101, "n1", "east"), (8, "102", "east"), (103, "103", "east")]
    cluster.nodes = [{"id": number, "name": name, "sub_cluster": place} for number, name, place in of]
    cluster.schedules = [{"id": number, "name": name, "owner": owner} for number, name, owner in of]

    def found(what: str, name: str) -> str:
        done = run(env, what, name, "-o", "json")
        return str(json.loads(done.stdout)["id"] if done.returncode == 0 else done.stderr)

    for what in ("node", "schedule"):
        told = [found(what, each) for each in ("102", "103", "8", "west/101", "east/n1")]
        assert told == ["8", "103", "8", "7", "101"], what
        assert "Name one of: west/101, east/n1 (number 101)" in found(what, "101")
        assert f"there is no {what} 9" in found(what, "9")
    assert run(env, "node", "drain", "101").returncode == 2
    assert not [request for request in cluster.seen if request.method == "POST"]


@pytest.mark.parametrize("ahead_s", [3600, -3600])
def test_times_go_by_the_servers_clock(cluster: Any, env: dict[str, str], ahead_s: int) -> None:
    cluster.ahead_s = ahead_s
    there = datetime.now(UTC) + timedelta(seconds=ahead_s)
    job = cluster.add_job({"name": "a", "groups": []}, "RUNNING")
    job["started_at"] = (there - timedelta(seconds=70)).isoformat()
    done = run(env, "jobs", "--since", "-10m")
    assert done.returncode == 0 and "1 min " in done.stdout, done.stdout + done.stderr
    asked = datetime.fromisoformat(cluster.requests("GET", "/jobs")[0].query["since"])
    assert abs(asked - there + timedelta(minutes=10)) < timedelta(seconds=30)


@pytest.mark.parametrize(
    ("typed", "sent"), [("running", "RUNNING"), ("Live", "live"), ("bogus", "bogus"), ("ENDED", "ended"), (None, None)]
)
def test_a_state_is_found_in_any_case_and_another_word_is_sent_as_typed(typed: str | None, sent: str | None) -> None:
    assert state_word(typed) == sent


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("kill", "1", "abc"), "'abc' is not a job's number"),
        (("move", "1", "root.robots"), "'root.robots' is not a job's number; the queue goes to --to: --to root.robots"),
        (("move", "1", "abc"), "'abc' is not a job's number; hydractl jobs lists them."),
        (("token", "create", "ci", "--valid", "500d"), "--valid: 500d is out of bounds. Give 1m to 366d."),
        (("token", "create", "ci", "--valid", "9s"), "--valid: 9s is out of bounds"),
    ],
)
def test_what_is_refused_is_named_as_it_was_typed(
    cluster: Any, env: dict[str, str], words: tuple[str, ...], told: str
) -> None:
    done = run(env, *words)
    said = " ".join(done.stderr.replace("│", " ").split())  # which is framed
    assert done.returncode == 2 and told in said, done.stderr
    assert not [request for request in cluster.seen if request.method == "POST"]
