"""Options of a push in stages, as the API takes them."""

from typing import Any

import pytest
from typer.testing import CliRunner

from client.commands import rolling
from client.commands.rolling import OnBreach, guards_of, plan_of, stages_of
from client.errors import HydraError
from client.hydractl import app
from contract.rollouts import Rollout, Stage
from tests.answers import said_by_the_api


def test_stages_and_their_soak_times() -> None:
    assert stages_of(["canary=west", "east, north"], [30.0]) == [
        {"sub_clusters": ["west"], "soak_s": 30.0},
        {"sub_clusters": ["east", "north"], "soak_s": 30.0},
    ]
    assert [s["soak_s"] for s in stages_of(["west", "east"], [1.0, 2.0])] == [1.0, 2.0]
    assert [s["soak_s"] for s in stages_of(["west", "east"], [])] == [60.0, 60.0]


def test_guards_are_numbers_or_percentages() -> None:
    assert guards_of(["failure_share=5%", "pending_p99_s = 30"]) == {"failure_share": 0.05, "pending_p99_s": 30.0}


@pytest.mark.parametrize(
    ("staged", "soak", "guard"),
    [
        (["canary="], [], []),
        (["west"], [1.0, 2.0], []),
        (["west"], [], ["failure_share"]),
        ([], [5.0], []),
        ([], [], ["failure_share=1"]),
    ],
)
def test_what_cannot_be_read_names_its_option(staged: list[str], soak: list[float], guard: list[str]) -> None:
    with pytest.raises(HydraError) as refused:
        plan_of(staged, soak, None, guard, OnBreach.pause)
    assert any("--" in line for line in refused.value.lines())


def test_without_a_stage_a_push_is_a_push() -> None:
    assert plan_of([], [], None, [], OnBreach.rollback) == {}
    assert plan_of(["west"], [5.0], None, [], OnBreach.pause) == {
        "stages": [{"sub_clusters": ["west"], "soak_s": 5.0}], "guards": {}, "on_breach": "pause",
    }  # fmt: skip


def test_what_holds_for_all_may_be_watched_with_stages_before_or_alone() -> None:
    everywhere = {"everywhere": True, "soak_s": 300.0}
    staged = plan_of(["west"], [], 300.0, [], OnBreach.rollback)
    assert staged["stages"] == [{"sub_clusters": ["west"], "soak_s": 60.0}, everywhere]
    alone = plan_of([], [], 300.0, ["failure_share=5%"], OnBreach.rollback)
    assert alone == {"stages": [everywhere], "guards": {"failure_share": 0.05}, "on_breach": "rollback"}


@pytest.mark.parametrize("states", [["soaking", "paused"], ["paused"]])
def test_following_ends_where_a_rollout_is_paused(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, states: list[str]
) -> None:
    monkeypatch.setattr(rolling, "POLL_S", 0)
    left = iter(states)

    def answer(request: Any) -> Any:
        stages = [said_by_the_api(Stage, sub_clusters=["west"])]
        known = {"id": 7, "live": True, "message": "6 % failed", "stages": stages}
        return 200, {}, said_by_the_api(Rollout, state=next(left), **known)

    cluster.trouble = answer
    words = ["--url", cluster.url, "--token", "secret-token", "policy", "rollout", "status", "7", "-f"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1 and not list(left)
    assert "6 % failed" in done.stdout
    assert all(f"hydractl policy rollout {what} 7" in done.stderr for what in ("resume", "abort")), done.stderr
