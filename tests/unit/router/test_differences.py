"""What an update changes, in words."""

from typing import Any

import pytest

from controlplane.router.differences import MOST, told

GROUP = {
    "name": "web",
    "command": ["serve", "--port", "80"],
    "resources": {"memory_mib": 64, "gpus": 0},
    "env": {"LEVEL": "info", "KEY": "secret"},
    "files": [{"path": "a", "digest": "1"}, {"path": "b", "digest": "2"}],
    "health_check": {"http": "/?key=secret", "interval_s": 10.0},
    "timeout_s": 0,
    "shell": False,
    "node_labels": "",
}


def spec(**changes: Any) -> dict[str, Any]:
    return {"files": [], "groups": [{"name": "db"}, GROUP | changes]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"resources": {"memory_mib": 1_234_567, "gpus": 0}}, ["web.resources.memory_mib: 64 -> 1234567"]),
        ({"timeout_s": 0.5}, ["web.timeout_s: 0 -> 0.5"]),
        ({"command": ["serve"]}, ["web.command"]),
        ({"shell": True}, ["web.shell: no -> yes"]),
        ({"env": {"LEVEL": "debug", "NEW": "1"}}, ["web.env: LEVEL", "web.env: NEW (new)", "web.env: KEY (gone)"]),
        ({"files": [{"path": "a", "digest": "3"}]}, ["web.files: a", "web.files: b (gone)"]),
        ({"files": GROUP["files"][::-1]}, ["web.files: their order"]),
        ({"health_check": None}, ["web.health_check"]),
        (
            {"health_check": {"http": "/", "interval_s": 5.0}},
            ["web.health_check.http", "web.health_check.interval_s: 10 -> 5"],
        ),
        ({"node_labels": "none"}, ['web.node_labels: none -> "none"']),
    ],
)
def test_differences_are_told_in_the_words_of_the_file(changes: dict[str, Any], said: list[str]) -> None:
    assert told(spec(), spec(**changes)) == said


def test_what_may_have_been_a_secret_is_never_told() -> None:
    changes = {"command": ["new"], "env": {}, "health_check": {"http": "/new", "interval_s": 10.0}}
    assert "secret" not in f"{told(spec(), spec(**changes))}"


def test_of_very_many_the_first_are_told_and_files_last() -> None:
    files = [{"path": f"{n}", "digest": "1"} for n in range(MOST + 3)]
    found = told(spec(), spec(command=["other"]) | {"files": files})
    assert found[:2] == ["web.command", "files: 0 (new)"]
    assert found[MOST:] == ["and 4 more"]
