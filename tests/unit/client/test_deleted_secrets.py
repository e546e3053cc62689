"""``hydractl secret delete`` says which jobs and schedules name what is gone."""

import json
from typing import Any

from tests import hydractl

WARNING = {"field": "name", "message": "your job 4 names it", "remedy": "put it again: hydractl secret put db"}


def test_who_names_a_deleted_secret_is_warned_of(cluster: Any, env: dict[str, str]) -> None:
    cluster.trouble = lambda request: (200, {}, {"name": "db", "warnings": [WARNING]})
    done = hydractl.run(("secret", "delete", "db"), env)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "hydractl: warning: name: your job 4 names it. Put it again: hydractl secret put db." in done.stderr
    assert "secret db is deleted" in done.stderr
    told = json.loads(hydractl.run(("secret", "delete", "db", "-o", "json"), env).stdout)
    assert told["deleted"] == "db" and [each["message"] for each in told["warnings"]] == ["your job 4 names it"]


def test_an_older_server_says_nothing_of_it(cluster: Any, env: dict[str, str]) -> None:
    cluster.trouble = lambda request: (204, {}, None)
    done = hydractl.run(("secret", "delete", "db"), env)
    assert (done.returncode, done.stderr.strip()) == (0, "secret db is deleted")
