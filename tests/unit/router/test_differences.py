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
    "health_check": None,
    "shell": False,
    "node_labels": "",
}


def spec(**changes: Any) -> dict[str, Any]:
    return {"files": [], "groups": [{"name": "db"}, GROUP | changes]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, []),
        ({"resources": {"memory_mib": 128, "gpus": 0}}, ["web.resources.memory_mib: 64 -> 128"]),
        ({"command": ["serve"]}, ["web.command: serve --port 80 -> serve"]),
        ({"command": ["x" * 61]}, ["web.command"]),
        ({"command": ["a\nb"]}, ["web.command"]),
        ({"shell": True}, ["web.shell: no -> yes"]),
        ({"env": {"LEVEL": "debug", "NEW": "1"}}, ["web.env: LEVEL", "web.env: NEW (new)", "web.env: KEY (gone)"]),
        ({"files": [{"path": "a", "digest": "3"}]}, ["web.files: a", "web.files: b (gone)"]),
        ({"health_check": {"port": "web"}}, ["web.health_check"]),
        ({"node_labels": "ssd"}, ["web.node_labels: none -> ssd"]),
    ],
)
def test_differences_are_told_in_the_words_of_the_file(changes: dict[str, Any], said: list[str]) -> None:
    assert told(spec(), spec(**changes)) == said


def test_files_of_all_groups_come_first_and_of_very_many_the_first_are_told() -> None:
    files = [{"path": f"{n}", "digest": "1"} for n in range(MOST + 3)]
    found = told(spec(), spec(command=["other"]) | {"files": files})
    assert found[0] == "files: 0 (new)"
    assert found[MOST:] == ["and 4 more"]
