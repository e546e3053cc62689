"""What is told of a job that is refused: what hydractl finds itself, and what only the server knows."""

import json
from pathlib import Path
from typing import Any

from tests import hydractl
from tests.unit.client.conftest import problem


def test_a_refused_job_tells_what_only_the_server_knows_too(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("name: a\nqueue: root.non\ngroups: [{name: g, comand: [x], files: [{path: x, source: gone}]}]\n")
    here = hydractl.run(("submit", str(path)), env | {"HYDRA_URL": "http://127.0.0.1:9"})
    assert here.returncode == 2
    lines = here.stderr.splitlines()
    assert len(lines) == 3 and not [line for line in lines if "queue" in line]
    unknown = {"field": "groups.0.comand", "message": "there is no such field", "remedy": "did you mean command?"}
    queue = {"field": "queue", "message": "there is no queue 'root.non'", "remedy": "did you mean root.nine?"}
    cluster.refusing = [unknown, queue]
    said = "hydractl: queue (line 2, column 1): there is no queue 'root.non'. Did you mean root.nine?"
    for words in (["submit"], ["submit", "--dry-run"], ["validate", "--server"]):
        done = hydractl.run((*words, str(path)), env)
        assert done.returncode == 2 and done.stderr.splitlines() == [said, *lines]
    assert [entry["digest"] for entry in json.loads(cluster.seen[-1].body)["groups"][0]["files"]] == ["0" * 64]
    cluster.add_job({"name": "a", "kind": "service", "groups": []}, "RUNNING")
    held = {**queue, "field": "spec.queue"}
    cluster.trouble = lambda request: problem(422, "wrong", [held]) if request.method == "PUT" else None
    path.write_text("name: a\nqueue: root.non\ngroups: [{name: g, command: [x]}]\n")
    assert hydractl.run(("update", "1", str(path), "--revision", "1"), env).stderr.splitlines() == [said]
    path.write_text("name: 2024-02-03\ngroups: [{name: g, command: [x], count: .nan}]\n")
    assert hydractl.run(("submit", str(path)), env).returncode == 2
    assert len(cluster.jobs) == 1 and not cluster.artifacts
