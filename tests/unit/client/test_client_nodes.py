"""What people type about nodes: time spans, moments, names."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from client.commands import replay, simulating
from client.commands.cluster import chosen, shown_state
from client.commands.nodes import deadline_s, moment, seconds
from client.commands.policy import read
from client.errors import HydraError
from client.hydractl import app
from contract.nodes import Node, NodeMaintenance
from tests import hydractl
from tests.answers import answer, said_by_the_api
from tests.terminals import Terminal


@pytest.mark.parametrize(
    ("text", "found"), [("90", 90), ("45s", 45), ("30m", 1800), ("1.5h", 5400), ("2 h", 7200), ("1d", 86400)]
)
def test_time_spans(text: str, found: int) -> None:
    assert seconds(text, "deadline") == deadline_s(text) == found


@pytest.mark.parametrize("text", ["", "soon", "-5m", "5 weeks", "m", "1h30m"])
def test_what_is_no_time_span_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(HydraError) as error:
        seconds(text, "deadline")
    assert error.value.problem.errors[0].field == "deadline" and "30m" in error.value.problem.errors[0].remedy


def test_never_and_moments() -> None:
    assert deadline_s("never") is None
    assert moment("2026-03-01T22:00Z", "start") == datetime(2026, 3, 1, 22, tzinfo=UTC)
    assert moment("2026-03-01 22:00", "start").tzinfo is not None
    for text, minutes in ("+30m", 30), ("+2d", 2880), ("-4h", -240), ("now", 0):
        assert abs(moment(text, "start") - datetime.now(UTC) - timedelta(minutes=minutes)) < timedelta(seconds=5)
    with pytest.raises(HydraError):
        moment("tomorrow", "start")


@pytest.fixture
def five_hours_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "EST5")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


class Asked:
    """A cluster that notes the windows it is asked about, and says nothing."""

    def __init__(self) -> None:
        self.windows: list[tuple[datetime, datetime]] = []

    def __enter__(self) -> "Asked":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def request_simulation(self, *, begin: datetime, end: datetime, **_: object) -> None:
        self.windows.append((begin, end))
        raise typer.Exit

    def recorded_history(self, begin: datetime, end: datetime, _: Path) -> None:
        self.request_simulation(begin=begin, end=end)


@pytest.mark.parametrize("words", [("policy", "simulate", "1"), ("history", "jobs.jsonl.gz")])
def test_times_that_name_no_zone_are_the_persons_own(
    five_hours_behind: None, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    asked = Asked()
    for command in (simulating, replay):
        monkeypatch.setattr(command, "connected", lambda ctx: asked)
    done = CliRunner().invoke(app, [*words, "--from", "2026-03-01T22:00", "--to", "2026-03-02T04:00Z"])
    assert done.exit_code == 0, done.output
    assert asked.windows == [(datetime(2026, 3, 2, 3, tzinfo=UTC), datetime(2026, 3, 2, 4, tzinfo=UTC))]


def test_states_as_people_see_them() -> None:
    active = said_by_the_api(NodeMaintenance, active=True)
    for said, shown in (
        ({}, "UP"),
        ({"duty": "cordoned"}, "CORDONED"),
        ({"duty": "draining"}, "DRAINING"),
        ({"duty": "draining", "drained": True}, "DRAINED"),
        ({"duty": "decommissioned"}, "LEAVING"),
        ({"maintenance": active}, "MAINTENANCE"),
        ({"maintenance": active | {"active": False}}, "UP"),
        ({"state": "LOST", "duty": "draining"}, "LOST"),
        ({"sub_cluster_state": "draining"}, "DRAINING"),
        ({"sub_cluster_state": "draining", "duty": "cordoned", "drained": True}, "DRAINED"),
        ({"sub_cluster_state": "draining", "duty": "decommissioned"}, "LEAVING"),
    ):
        usual = {"state": "UP", "duty": "in_service", "sub_cluster_state": "running"}
        assert shown_state(answer(Node, **usual | said)) == shown


def test_nodes_are_chosen_as_on_the_page_of_the_fleet() -> None:
    usual = {"state": "UP", "duty": "in_service", "sub_cluster_state": "running", "rack": "r1", "last_seen_s": 0.5}
    fleet = [
        answer(Node, **usual | {"name": name} | said)
        for name, said in (
            ("a", {"labels": {"gpu": "true", "zone": "a"}}),
            ("b", {"rack": "R2", "labels": {"zone": "b"}}),
            ("c", {"duty": "cordoned"}),
            ("d", {"last_seen_s": 9.0}),
            ("e", {"state": "LOST", "last_seen_s": None}),
        )
    ]
    for filters, names in (
        ({}, "abcde"),
        ({"rack": "r2"}, "b"),
        ({"label": "gpu"}, "a"),
        ({"label": "zone = b"}, "b"),
        ({"label": "zone=c"}, ""),
        ({"state": "up"}, "abd"),
        ({"state": "closed"}, "c"),
        ({"state": "stale"}, "de"),
        ({"state": "stale", "rack": "r1"}, "de"),
    ):
        assert "".join(n.name for n in chosen(fleet, **filters)) == names, filters


def test_show_may_be_left_out_and_the_words_are_explained() -> None:
    run = CliRunner().invoke
    for words in (["node", "--help"], ["node", "drain", "--help"], ["maintenance", "--help"], ["node", "show", "-h"]):
        assert run(app, words).exit_code == 0, words
    refused = run(app, ["--url", "http://127.0.0.1:1", "maintenance", "add", "west", "--start", "now"])
    assert refused.exit_code == 2


def test_who_decommissions_at_once_is_asked(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    cluster.nodes = [{"id": 1, "name": "n1", "sub_cluster": "west", "state": "UP", "containers": 3}]
    words = ("node", "decommission", "n1", "--now")
    refused = hydractl.run((*words, "--deadline", "5m"), env)
    assert (refused.returncode, "--deadline: does not go with --now" in refused.stderr) == (2, True), refused.stderr
    with Terminal(words, env, tmp_path) as screen:
        screen.shows(rb"3 containers run on west/n1 and would be lost at once")
        screen.type("n\n")
        screen.shows(rb"Nothing was changed")
    assert not cluster.requests("POST", "/nodes/1/decommission")
    hydractl.run((*words, "--yes"), env)
    (sent,) = cluster.requests("POST", "/nodes/1/decommission")
    assert json.loads(sent.body)["now"] is True


def test_a_window_with_two_ends_and_a_policy_no_json_can_carry_are_refused_with_what_is_wrong(tmp_path: Path) -> None:
    both = ["maintenance", "add", "west", "--start", "now", "--end", "+1h", "--for", "2h", "--rack", "r"]
    refused = CliRunner().invoke(app, ["--url", "http://127.0.0.1:1", *both])
    assert refused.exit_code == 2 and "has two ends" in refused.output
    file = tmp_path / "policy.yaml"
    for value in (".nan", ".inf", "2026-01-01"):
        file.write_text(f"queues:\n  a: {{weight: {value}}}\n")
        with pytest.raises(HydraError) as error:
            read(file)
        assert error.value.problem.errors[0].field == "file" and "finite" in error.value.problem.errors[0].remedy
