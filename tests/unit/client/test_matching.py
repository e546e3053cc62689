"""Options that mean nothing beside one another are refused, and those of which something is wrong are named."""

import json
from pathlib import Path
from typing import Any

import pytest

from contract.logsearch import FoundLine
from tests import hydractl
from tests.answers import said_by_the_api
from tests.unit.client.conftest import problem

JOB = "name: a\nqueue: root.default\ngroups: [{name: g, command: [x]}]\n"


def run(env: dict[str, str], *words: str) -> Any:
    return hydractl.run(words, env)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("queues --sub-cluster west", "--sub-cluster: is of --tree. Add --tree, or leave it out."),
        ("queues --long --under root", "--under: is of --matrix. Add --matrix, or leave it out."),
        ("queues --tree --resource cores", "--resource: is of --matrix and --why. Add --matrix, or leave it out."),
        ("queues --why root --tree", "--tree: does not go with --why. Leave one of them out."),
        ("queues --why root -w 1", "--watch: does not go with --why."),
        ("queues --tree --matrix", "--tree: does not go with --matrix."),
        ("queues -l --matrix", "--long: does not go with --matrix."),
        ("queues -l --tree", "--long: does not go with --tree."),
        ("usage --csv --hourly", "--hourly: does not go with --csv."),
        ("usage --csv --sort at", "--sort: does not go with --csv."),
        ("usage --by-tag --hourly", "--hourly: does not go with --by-tag."),
        ("containers 1 --usage --task g/0", "--task: does not go with --usage."),
        ("containers 1 --places -n 200", "--limit: does not go with --places."),
        ("containers 1 --usage --places", "--usage: does not go with --places."),
        ("series allocated_gpus --last 1h --from -2h", "--from: does not go with --last."),
        ("submit FILE --dry-run --wait", "--wait: does not go with --dry-run."),
        ("submit FILE --dry-run --key x", "--key: does not go with --dry-run."),
        ("submit FILE --dry-run -q", "--quiet: does not go with --dry-run."),
        ("logs 1 --all-attempts", "--all-attempts: is of --grep. Add --grep, or leave it out."),
        ("logs 1 --all-attempts --grep x -f", "--follow: does not go with --all-attempts."),
        ("logs 1/g/0 --all-attempts --grep x", "--all-attempts: is of a job or a group. Give JOB or JOB/GROUP."),
        ("scale 1 web 0", "count: a service cannot be scaled to none. Stop the whole job: hydractl kill 1"),
        ("update 1 FILE --dry-run -w", "--wait: does not go with --dry-run."),
    ],
)
def test_what_does_not_go_together_is_refused(
    cluster: Any, env: dict[str, str], tmp_path: Path, typed: str, told: str
) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    done = run(env, *typed.replace("FILE", str(tmp_path / "job.yaml")).split())
    assert (done.returncode, done.stdout) == (2, "") and told in done.stderr, done.stderr
    assert not cluster.seen


def test_an_option_is_named_and_not_the_line_it_stands_for(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    wrong = {"field": "queue", "message": "there is no queue", "remedy": "name another"}
    other = {"field": "groups.0.command", "message": "is odd", "remedy": ""}
    cluster.refusing = [other, wrong]
    of_file = "groups.0.command (line 3, column 20): is odd."
    lines = [f"hydractl: --queue: there is no queue. Name another.\nhydractl: {of_file}\n"]
    lines += [f"hydractl: queue (line 2, column 1): there is no queue. Name another.\nhydractl: {of_file}\n"]
    for more in ((), ("--dry-run",)):
        assert run(env, "submit", str(path), "--queue", "root.prd", *more).stderr == lines[0]
        assert run(env, "submit", str(path), *more).stderr == lines[1]
    cluster.refusing, cluster.warnings = [], [wrong | {"field": "priority", "message": "is low"}]
    for more in ((), ("--dry-run",)):
        said = run(env, "submit", str(path), "--priority", "-3", *more).stderr
        assert said.startswith("hydractl: warning: --priority: is low. Name another.\n"), said


def test_a_service_that_is_waited_for_does_not_end(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "a", "groups": []}, "RUNNING")
    seen = []

    def killed(job: dict[str, Any]) -> None:
        seen.append(job)
        job |= {"kind": "service", "state": "RUNNING" if len(seen) < 2 else "KILLED"}

    cluster.on_get_job = killed
    said = "A service does not end by itself: watching until it is killed, or Ctrl-C."
    done = run(env, "wait", "1")
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, said)
    assert said not in run(env, "wait", "1").stderr, "it has ended"


def test_json_tells_of_warnings(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(JOB)
    cluster.warnings = [{"field": "groups.0", "message": "no node is so large", "remedy": ""}]
    told = json.loads(run(env, "validate", "--server", str(path), "-o", "json").stdout)
    (warning,) = told["warnings"]
    assert told["valid"] and (warning["message"], warning["line"]) == ("no node is so large", 3)
    assert json.loads(run(env, "validate", str(path), "-o", "json").stdout)["warnings"] == []


@pytest.mark.parametrize(("option", "of"), [("--usage", "that ended were looked at"), ("--places", "were counted")])
def test_what_is_of_some_containers_only_says_so(cluster: Any, env: dict[str, str], option: str, of: str) -> None:
    complete = False
    cluster.trouble = lambda request: (200, {}, {"results": [], "complete": complete})
    said = f"Not all containers {of}: there are very many.\n"
    for more in ((), ("-o", "json")):
        assert run(env, "containers", "1", option, *more).stderr.startswith(said)
    complete = True
    assert said not in run(env, "containers", "1", option).stderr


def test_a_group_that_is_none_is_said(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "a", "groups": [{"name": "map"}]}, "RUNNING")
    refused = [{"field": "group", "message": "'mpa' is not a group of this job", "remedy": "use one of map"}]
    cluster.trouble = lambda request: problem(422, "wrong", refused) if request.query.get("group") == "mpa" else None
    done = run(env, "tasks", "1", "-g", "mpa")
    assert (done.returncode, done.stderr) == (2, "hydractl: group: 'mpa' is not a group of this job. Use one of map.\n")


def test_a_text_is_found_in_every_attempt(cluster: Any, env: dict[str, str]) -> None:
    lines = [
        said_by_the_api(FoundLine, group="g", index=3, attempt=n, stream=stream, text=f"oops {n}", cut=n > 1)
        for n, stream in ((1, "stdout"), (2, "stderr"))
    ]
    cluster.trouble = lambda request: (200, {}, {"results": lines, "next": None, "previous": None, "searched": 9})
    words = ("logs", "1/g", "--grep", "oops", "--all-attempts")
    assert run(env, *words).stdout == "g/3 attempt 1 | oops 1\ng/3 attempt 2 stderr | oops 2 ...\n"
    asked = cluster.seen[0]
    assert (asked.path, asked.query["contains"], asked.query["group"]) == ("/api/v1/jobs/1/logs", "oops", "g")
    found = [json.loads(line) for line in run(env, *words, "-o", "json").stdout.splitlines()]
    assert [(each["attempt"], each["data"]) for each in found] == [(1, "oops 1"), (2, "oops 2")]
    lines.clear()
    nothing = run(env, *words)
    assert (nothing.stdout, nothing.stderr) == ("", "No attempt wrote a line with 'oops'.\n")
