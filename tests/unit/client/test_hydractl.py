"""hydractl as a person or a script runs it: a process with its own streams and exit status."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tomllib
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from contract.jobs import Revision, RolloutState
from tests import hydractl
from tests.answers import said_by_the_api
from tests.patience import stretched

ROOT = Path(__file__).parents[3]


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "client", *words]


def run(env: dict[str, str], *words: str, stdin: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return hydractl.run(words, env, stdin, cwd)


def job_file(folder: Path) -> Path:
    (folder / "work.py").write_text("print('hi')")
    path = folder / "job.yaml"
    path.write_text(
        "name: a\ngroups:\n  - {name: g, command: [python3, work.py], files: [{path: work.py, source: work.py}]}\n"
    )
    return path


def moving(cluster: Any, *states: str) -> None:
    """Each look at a job finds it one state further."""
    step = count()

    def on(job: dict[str, Any]) -> None:
        job["state"] = states[min(next(step), len(states) - 1)]

    cluster.on_get_job = on


def test_submit_uploads_what_is_new_and_prints_the_job(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    done = run(env, "submit", str(job_file(tmp_path)), "--queue", "root.prod")
    assert (done.returncode, done.stdout) == (0, "job 1 (a) submitted to root.prod\n")
    assert "work.py: stored" in done.stderr
    assert "hydractl wait 1" in done.stderr
    again = json.loads(run(env, "submit", str(tmp_path / "job.yaml"), "-o", "json").stdout)
    assert (again["id"], again["queue"]) == (2, "root.default")
    assert run(env, "submit", str(tmp_path / "job.yaml"), "--quiet").stdout == "3\n"
    digest = hashlib.sha256(b"print('hi')").hexdigest()
    assert len(cluster.requests("PUT", f"/artifacts/{digest}")) == 1


WARNING = {"field": "groups.0.node_labels", "message": "no node has a label 'gpus'", "remedy": "did you mean gpu?"}
SAID = "no node has a label 'gpus'. Did you mean gpu?"
WARNED = f"hydractl: warning: groups.0.node_labels (line 3, column 5): {SAID}"


def test_a_dry_run_tells_and_submits_nothing(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    cluster.warnings = [WARNING]
    done = run(env, "submit", str(job_file(tmp_path)), "--dry-run", "--queue", "root.prod")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [WARNED, "Nothing was submitted."]
    lines = [line.split(maxsplit=1) for line in map(str.strip, done.stdout.splitlines()) if line]
    told = {name: rest for name, *rest in lines}
    assert told["queue"] == ["root.prod"] and told["home"] == ["west (load 0.10)"]
    never = "Not all of it ever starts: see the warnings."
    assert told["starts"] == [f"Within a second: west has room for it. {never}"]
    assert "2 jobs that have not begun" in done.stdout and "now, as far as limits go" in done.stdout
    assert told["west"] == ["yes"] and told["east"][0].split(maxsplit=1) == ["no", "no GPUs"]
    assert cluster.jobs == [] and cluster.artifacts == {}
    as_json = json.loads(run(env, "submit", str(tmp_path / "job.yaml"), "--dry-run", "-o", "json").stdout)
    assert as_json["outlook"]["home"] == "west" and as_json["warnings"][0].items() >= WARNING.items()


def test_what_can_never_start_is_said_on_stderr(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    path = str(job_file(tmp_path))
    assert "warning" not in run(env, "submit", path).stderr
    cluster.warnings = [WARNING]
    for words in (("submit", path), ("submit", path, "-o", "json"), ("validate", path, "--server"), ("retry", "1")):
        done = run(env, *words)
        warned = f"hydractl: warning: groups.0.node_labels: {SAID}" if words[0] == "retry" else WARNED
        assert done.returncode == 0 and warned in done.stderr.splitlines(), (words, done.stderr)
        assert "warning:" not in done.stdout


@pytest.mark.parametrize(("end", "status"), [("SUCCEEDED", 0), ("FAILED", 1), ("KILLED", 1)])
def test_the_exit_status_is_the_jobs(cluster: Any, env: dict[str, str], tmp_path: Path, end: str, status: int) -> None:
    moving(cluster, "RUNNING", end)
    done = run(env, "submit", str(job_file(tmp_path)), "--wait")
    assert done.returncode == status
    assert done.stdout == ""
    assert f"job 1 a: {end}" in done.stderr
    as_json = run(env, "wait", "1", "-o", "json")
    assert (as_json.returncode, json.loads(as_json.stdout)["state"]) == (status, end)


def test_follow_shows_what_tasks_write(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    cluster.tasks = [{"group": "g", "index": 0, "state": "SUCCEEDED", "container": "c-1-1-1"}]
    cluster.containers = [{"id": "c-1-1-1", "group": "g", "index": 0, "attempt": 1, "state": "SUCCEEDED"}]
    cluster.logs["c-1-1-1", "stdout"] = b"hi\n"
    cluster.ended.add("c-1-1-1")
    moving(cluster, "RUNNING", "RUNNING", "SUCCEEDED")
    done = run(env, "submit", str(job_file(tmp_path)), "--follow")
    assert (done.returncode, done.stdout) == (0, "g/0 | hi\n")


def test_a_failure_is_told_with_its_task_and_the_stream_that_says_why(
    cluster: Any, env: dict[str, str], tmp_path: Path
) -> None:
    cluster.tasks = [{"group": "g", "index": 0, "state": "FAILED", "container": "c-1-1-1"}]
    cluster.containers = [{"id": "c-1-1-1", "group": "g", "index": 0, "attempt": 1, "state": "FAILED"}]
    cluster.logs = {("c-1-1-1", "stdout"): b"hi\n", ("c-1-1-1", "stderr"): b"because\n"}
    cluster.ended.add("c-1-1-1")
    moving(cluster, "RUNNING", "RUNNING", "FAILED")
    done = run(env, "submit", str(job_file(tmp_path)), "--follow")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (1, ["g/0 stderr | because", "g/0 | hi"])
    assert done.stderr.splitlines()[-1].endswith("Look at: hydractl logs 1/g/0 --stderr")
    del cluster.logs["c-1-1-1", "stderr"]
    assert run(env, "wait", "1").stderr.splitlines()[-1].endswith("Look at: hydractl logs 1/g/0")
    cluster.tasks = []
    assert "hydractl events 1" in run(env, "wait", "1").stderr.splitlines()[-1]


def test_ctrl_c_leaves_the_job_and_says_how_to_follow_it(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("submit", str(job_file(tmp_path)), "--wait"), env=env, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "job 1 a: SUBMITTED" in line:
            break
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    assert process.wait(timeout=stretched(20)) == 130
    assert "hydractl wait 1" in said
    assert "hydractl kill 1" in said
    assert "Traceback" not in said
    assert not cluster.requests("POST", "/jobs/1/kill")


def test_refusals_are_one_line_per_field(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    errors = [{"field": "queue", "message": "there is no queue root.x", "remedy": "hydractl queues lists them"}]
    errors.append({"field": "groups.0.command.1", "message": "no", "group": "g"})
    body = {"title": "The request has errors", "status": 422, "errors": errors}
    cluster.trouble = lambda request: (422, {}, body) if request.path.endswith("/jobs") else None
    done = run(env, "submit", str(job_file(tmp_path)))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-2:] == [
        "hydractl: queue: there is no queue root.x. hydractl queues lists them.",
        "hydractl: groups.0.command.1 (group g, line 3, column 34): no.",
    ]


def test_a_server_that_is_away_is_another_status(env: dict[str, str]) -> None:
    done = run({**env, "HYDRA_URL": "http://127.0.0.1:9"}, "logout")
    assert done.returncode == 2  # not logged in: nothing to ask a server for
    assert "not logged in" in done.stderr


def test_login_stores_a_token_that_later_commands_use(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    del env["HYDRA_URL"], env["HYDRA_TOKEN"]
    wrong = run(env, "login", cluster.url, "-u", "ada", "--password-stdin", stdin="no\n")
    assert (wrong.returncode, "wrong name or password" in wrong.stderr) == (2, True)
    done = run(env, "login", cluster.url, "-u", "ada", "--password-stdin", stdin="right\n")
    assert done.returncode == 0
    stored = tmp_path / ".config" / "hydra" / "config.yaml"
    assert stored.stat().st_mode & 0o777 == 0o600
    assert json.loads(run(env, "me", "-o", "json").stdout)["username"] == "ada"
    assert "secret-token" not in run(env, "contexts").stdout
    assert run(env, "logout").returncode == 0
    assert run(env, "me").returncode == 2


def test_a_login_to_another_server_leaves_the_first_ones_context(
    cluster: Any, env: dict[str, str], tmp_path: Path
) -> None:
    del env["HYDRA_URL"], env["HYDRA_TOKEN"]
    other = cluster.url.replace("127.0.0.1", "localhost")
    given = "-u", "ada", "--password-stdin"
    done = [run(env, "login", url, *given, stdin="right\n") for url in (cluster.url, other, other)]
    assert [each.returncode for each in done] == [0, 0, 0]
    now = f"Logged in to {other} as ada. The current context is localhost now"
    back = f"; back to ada at {cluster.url} with: hydractl use default"
    assert [each.stderr for each in done[1:]] == [f"{now}{back}.\n", f"{now}.\n"]
    kept = json.loads(run(env, "contexts", "-o", "json").stdout)
    assert [(c["name"], c["url"], c["current"]) for c in kept] == [
        ("default", cluster.url, False), ("localhost", other, True),
    ]  # fmt: skip
    run(env, "login", cluster.url, "-u", "ada", "--password-stdin", stdin="right\n")
    kept = json.loads(run(env, "contexts", "-o", "json").stdout)
    assert [(c["name"], c["current"]) for c in kept] == [("default", True), ("localhost", False)]


def test_a_job_is_submitted_from_stdin(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    text = job_file(tmp_path).read_text()
    done = run(env, "submit", "-", stdin=text, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "job 1 (a) submitted to root.default\n"), done.stderr
    wrong = run(env, "validate", "-", stdin="a: [", cwd=tmp_path)
    assert (wrong.returncode, "is not valid YAML" in wrong.stderr) == (2, True)


def test_a_service_says_how_much_of_it_runs(cluster: Any, env: dict[str, str]) -> None:
    job = cluster.add_job({"name": "web", "groups": [{"name": "g", "count": 3}]}, "RUNNING")
    job["kind"] = "service"
    job["groups"][0] |= {"running": 2, "state": "RUNNING"}
    assert "2 of 3 running" in run(env, "jobs").stdout
    moving(cluster, "RUNNING", "KILLED")
    said = run(env, "wait", "1").stderr
    assert "g: RUNNING 2 of 3 running\n" in said and "done" not in said


def test_jobs_are_listed_for_people_and_programs(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "[red]evil\x1b[2J", "groups": []})
    done = run(env, "jobs", "--state", "running")
    assert "[red]evil\ufffd[2J" in done.stdout
    assert "\x1b" not in done.stdout
    assert cluster.requests("GET", "/jobs")[0].query["state"] == "RUNNING"
    assert [j["id"] for j in json.loads(run(env, "jobs", "--output", "json").stdout)] == [1]


def many(cluster: Any) -> None:
    """Five of everything that is listed."""
    for n in range(5):
        cluster.add_job({"name": f"j{n}", "groups": [{"name": "g", "count": 5}]})
        cluster.tasks.append({"group": "g", "index": n, "state": "RUNNING"})
        cluster.containers.append({"id": f"c-1-1-{n}", "group": "g", "index": n, "attempt": 1, "state": "RUNNING"})
        cluster.nodes.append({"id": n + 1, "name": f"n{n}", "state": "UP", "duty": "in_service"})


@pytest.mark.parametrize("words", [["jobs"], ["tasks", "1"], ["containers", "1"], ["nodes"]])
def test_a_list_that_is_cut_says_so(cluster: Any, env: dict[str, str], words: list[str]) -> None:
    many(cluster)
    said = "3 of 5 shown: --limit 0\n" if words[0] == "tasks" else "3 shown; there are more: --limit 0\n"
    table = run(env, *words, "--limit", "3")
    whose = "What is held and waits there is your own part.\n" if words == ["nodes"] else ""  # a tenant's
    assert (len(table.stdout.splitlines()), table.stderr) == (1 + 3, whose + said)
    as_json = run(env, *words, "--limit", "3", "-o", "json")
    assert (len(json.loads(as_json.stdout)), as_json.stderr) == (3, said)
    for limit in "0", "5":
        whole = run(env, *words, "--limit", limit, "-o", "json")
        assert (len(json.loads(whole.stdout)), whole.stderr) == (5, "")


def test_logs_of_one_and_of_several_tasks(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "a", "groups": [{"name": "g", "count": 3}]}, "RUNNING")
    cluster.tasks = [
        {"group": "g", "index": n, "state": "RUNNING", "container": f"c-1-1-{n}" if n < 2 else None} for n in range(3)
    ]
    cluster.logs = {("c-1-1-0", "stdout"): b"zero\nmore", ("c-1-1-1", "stdout"): b"one\n"}
    cluster.logs["c-1-1-1", "stderr"] = b"oops\n"
    assert run(env, "logs", "1/g/1").stdout == "one\noops\n"
    assert run(env, "logs", "1/g/1", "--stdout").stdout == "one\n"
    assert run(env, "logs", "1/g/1", "--stderr").stdout == "oops\n"
    assert run(env, "logs", "c-1-1-0", "--stdout").stdout == "zero\nmore"
    several = run(env, "logs", "1")
    assert several.stdout == "g/0 | zero\ng/0 | more\ng/1 | one\ng/1 stderr | oops\n"
    assert "Not started yet: g/2" in several.stderr
    found = run(env, "logs", "1", "--grep", "O", "--tail", "2")
    assert found.stdout == "g/0 | zero\ng/0 | more\ng/1 | one\ng/1 stderr | oops\n"
    found = run(env, "logs", "1/g/0", "--grep", "zero", "-o", "json")
    assert json.loads(found.stdout) == {"task": "g/0", "stream": "stdout", "data": "zero"}
    assert found.stderr == "Left out: 1 line without 'zero'.\n"
    cluster.tasks[0]["attempts"] = 2
    found = run(env, "logs", "1/g/0", "--grep", "zero")
    assert found.stderr.endswith("Attempts before the last one were not searched: --previous.\n")
    assert "--all-attempts, or --previous.\n" in run(env, "logs", "1", "--grep", "zero").stderr
    assert "YYYY-MM-DDTHH:MM" in run(env, "logs", "1", "--since", "yesterday").stderr


def test_parts_of_logs(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "a", "groups": [{"name": "g"}]}, "FAILED")
    cluster.tasks = [{"group": "g", "index": 0, "state": "FAILED", "container": "c-1-1-2"}]
    cluster.containers = [{"id": f"c-1-1-{n}", "group": "g", "index": 0, "attempt": n} for n in (2, 1)]
    cluster.logs = {("c-1-1-1", "stderr"): b"first\n", ("c-1-1-2", "stdout"): b"second\nlast\n"}
    assert run(env, "logs", "1", "--previous").stdout == "first\n"
    assert run(env, "logs", "1", "--tail", "1").stdout == "last\n"
    run(env, "logs", "1", "--since", "10m")
    run(env, "logs", "1", "--since", "2030-01-31T12:00Z")
    asked = [r.query for r in cluster.requests("GET", "/containers/c-1-1-2/logs/merged") if "cursor" not in r.query]
    assert [q.get("last_s") or q.get("since") for q in asked] == [None, "600", "2030-01-31T12:00:00+00:00"]
    for wrong in (["--since", "soon"], ["--previous", "-f"], ["--offset", "3", "--tail", "1"]):
        refused = run(env, "logs", "1", *wrong)
        assert refused.returncode == 2 and f"{wrong[0][2:]}:" in refused.stderr


def test_priority_may_be_negative_and_kill_takes_several(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "a"})
    assert run(env, "priority", "1", "-5").returncode == 0
    assert json.loads(cluster.requests("POST", "/jobs/1/priority")[0].body) == {"priority": -5}
    cluster.add_job({"name": "b"})
    done = run(env, "kill", "1", "9", "2", "-m", "enough")
    assert (done.returncode, done.stdout) == (2, "job 1: asked to stop\njob 2: asked to stop\n")
    assert "job 9: there is no job 9" in done.stderr
    (asked,) = (r for r in cluster.seen if "/priority" not in r.path)
    assert json.loads(asked.body) == {"action": "kill", "jobs": [1, 9, 2], "message": "enough"}


def test_a_service_is_scaled_and_its_tasks_restarted(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "a", "kind": "service", "groups": [{"name": "web", "count": 2}]}, "RUNNING")
    done = run(env, "scale", "1", "web", "5")
    assert (done.returncode, done.stdout) == (0, "job 1: asked for 5 of web\n") and "hydractl events 1" in done.stderr
    assert run(env, "restart", "1", "web", "3").stdout == "job 1: asked to restart web/3\n"
    assert run(env, "restart", "1", "web").stdout == "job 1: asked to restart web\n"
    assert json.loads(run(env, "restart", "1", "-o", "json").stdout)["id"] == 1
    asked = [json.loads(r.body) for r in cluster.seen if r.method == "POST"]
    assert asked == [
        {"group": "web", "count": 5}, {"group": "web", "index": 3}, {"group": "web", "index": None},
        {"group": None, "index": None},
    ]  # fmt: skip


def test_a_service_is_updated_and_rolled_back(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    cluster.add_job({"name": "a", "kind": "service", "groups": [{"name": "g", "count": 2}]}, "RUNNING")
    cluster.on_get_job = lambda job: job.update(revision=4)
    file = str(job_file(tmp_path))
    done = run(env, "update", "1", file, "--max-unavailable", "0", "--max-surge", "2", "--deadline", "30")
    assert (done.returncode, done.stdout) == (0, f"job 1: asked to roll {file} out\n"), done.stderr
    assert "work.py: stored" in done.stderr
    asked = json.loads(cluster.requests("PUT", "/jobs/1/spec")[0].body)
    assert (asked["revision"], asked["max_unavailable"], asked["max_surge"], asked["deadline_s"]) == (4, 0, 2, 30)
    assert asked["spec"]["groups"][0]["command"] == ["python3", "work.py"] and "min_ready_s" not in asked
    cluster.on_get_job = lambda job: job.update(revision=4, unchanged=True)
    same = run(env, "update", "1", file)
    assert (same.returncode, same.stdout) == (0, f"job 1: unchanged, it runs what {file} says as revision 4\n")
    assert json.loads(run(env, "update", "1", file, "-o", "json").stdout)["unchanged"]
    there = run(env, "rollback", "1", "--to", "2", "--wait")
    assert (there.returncode, there.stdout) == (0, "job 1: unchanged, it runs what revision 2 ran as revision 4\n")
    cluster.on_get_job = lambda job: job.update(revision=4, unchanged=False)
    cluster.changes = ["g.grace_s: 1 -> 2"]
    back = run(env, "rollback", "1", "--to", "1", "--revision", "4").stdout
    assert back == "job 1: asked to go back to revision 1\n  g.grace_s: 1 -> 2\n"
    assert json.loads(cluster.requests("POST", "/jobs/1/rollback")[-1].body) == {"to": 1, "revision": 4}
    cluster.revisions = [
        said_by_the_api(Revision, revision=2, by="ann", outcome="failed: it was not done within 30 s", back=None)
    ]
    assert run(env, "revisions", "1").stdout.splitlines()[1].split()[:1] == ["2"]
    going = said_by_the_api(RolloutState, revision=3, previous=2, updated=1, tasks=2, failures=1)
    cluster.on_get_job = lambda job: job.update(kind="service", revision=3, rollout=going)
    assert "1/2 tasks at revision 3, on its way from 2, 1 failed" in run(env, "job", "1").stdout


def test_validate_needs_no_server(env: dict[str, str], tmp_path: Path) -> None:
    env["HYDRA_URL"] = "http://127.0.0.1:9"
    path = job_file(tmp_path)
    assert run(env, "validate", str(path)).returncode == 0
    path.write_text("name: a\ngroups: [{name: g, comand: [x]}]\n")
    done = run(env, "validate", str(path))
    assert done.returncode == 2
    assert (
        "hydractl: groups.0.comand (group g, line 2, column 20): there is no such field. Did you mean command?"
        in done.stderr
    )
    assert json.loads(run(env, "validate", str(path), "-o", "json").stdout)["valid"] is False
    path.write_text(
        "name: a\ngroups: [{name: g, command: [x], array: {n: [1, 2], m: [3, 4]}}, {name: h, command: [x]}]\n"
    )
    assert "a valid job of 2 groups, 5 tasks" in run(env, "validate", str(path)).stderr


TEMPLATE = "parameters: {n: 1, data: }\nname: a\ngroups:\n  - name: g\n    count: ${{ n }}\n    command: [cat, x]\n"


def test_parameters_are_set_and_tell_what_is_missing(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(TEMPLATE + '    files: [{path: x, source: "${{ data }}"}]\n')
    (tmp_path / "in=put.csv").write_text("1,2")
    done = run(env, "submit", str(path), "--set", "m=2")
    assert done.returncode == 2 and not cluster.jobs
    assert done.stderr.splitlines()[-2] == "hydractl: set.m: there is no parameter 'm'. Declared here: n, data."
    assert "parameters.data (line 1, column 20): has no value. Give it: in `set`" in done.stderr.splitlines()[-1]
    assert "'n' is not NAME=VALUE" in run(env, "submit", str(path), "--set", "n").stderr
    assert run(env, "validate", str(path), "--set", "data=in=put.csv").returncode == 0
    done = run(env, "submit", str(path), "--set", "data=in=put.csv", "--set", "n=3")
    assert done.returncode == 0, done.stderr
    sent = cluster.jobs[0]["spec"]
    assert sent["groups"][0]["count"] == 3 and not sent.keys() & {"set", "parameters"}
    assert sent["groups"][0]["files"][0]["digest"] == hashlib.sha256(b"1,2").hexdigest()


def test_every_command_takes_output(env: dict[str, str]) -> None:
    from typer.main import get_command

    from client.hydractl import app

    def leaves(command: Any) -> Any:
        for each in getattr(command, "commands", {}).values():
            yield from leaves(each) if hasattr(each, "commands") else [each]

    missing = [c.name for c in leaves(get_command(app)) if not any("--output" in p.opts for p in c.params)]
    assert missing == []


def test_completion_offers_commands_and_recent_jobs(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "census"})
    env["_HYDRACTL_COMPLETE"] = "complete_bash"
    assert "sub-clusters" in run({**env, "COMP_WORDS": "hydractl sub", "COMP_CWORD": "1"}).stdout
    assert "1" in run({**env, "COMP_WORDS": "hydractl job ", "COMP_CWORD": "2"}).stdout.split()


def test_completion_offers_queues_nodes_groups_and_contexts(cluster: Any, env: dict[str, str]) -> None:
    many(cluster)
    env["_HYDRACTL_COMPLETE"] = "complete_bash"

    def offered(line: str) -> list[str]:
        return run({**env, "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}).stdout.split()

    assert offered("hydractl jobs --queue r") == ["root"]
    assert offered("hydractl node show n") == [f"n{n}" for n in range(5)]
    assert offered("hydractl tasks 1 --group ") == ["g"]
    bare = {k: v for k, v in env.items() if not k.startswith(("HYDRA_", "_"))}
    assert run(bare, "login", cluster.url, "-u", "ada", "--password-stdin", stdin="right\n").returncode == 0
    assert offered("hydractl use d") == offered("hydractl --context d") == ["default"]


def test_a_schedule_is_named_by_its_name_its_owner_or_its_number(cluster: Any, env: dict[str, str]) -> None:
    of = [(1, "nightly", "ada"), (2, "nightly", "bob"), (3, "hourly", "bob"), (4, "hourly", "eve"), (5, "night", "bob")]
    cluster.schedules = [{"id": number, "name": name, "owner": owner} for number, name, owner in of]

    def found(name: str) -> str:
        done = run(env, "schedule", name, "-o", "json")
        return str(json.loads(done.stdout)["id"] if done.returncode == 0 else done.stderr)

    assert [found(each) for each in ("nightly", "bob/nightly", "4", "night")] == ["1", "2", "4", "5"]
    assert "Name one of: bob/hourly, eve/hourly" in found("hourly")
    assert "there is no schedule weekly. See: hydractl schedule list" in found("weekly")
    assert "Did you mean bob/nightly or bob/night? See: hydractl schedule list" in found("bob/nightlly")
    env["_HYDRACTL_COMPLETE"] = "complete_bash"
    offered = run({**env, "COMP_WORDS": "hydractl schedule run hou", "COMP_CWORD": "3"}).stdout.split()
    assert set(offered) == {"hourly"}


def test_the_version_is_the_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert run({"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}, "--version").stdout.split() == [
        "hydractl", project["version"],
    ]  # fmt: skip


def test_a_node_that_may_have_been_meant_is_named(cluster: Any, env: dict[str, str]) -> None:
    cluster.nodes = [{"id": 1, "name": "east-1", "state": "UP"}, {"id": 2, "name": "west-9", "state": "UP"}]
    done = run(env, "node", "eats-1")
    assert (done.returncode, "Did you mean east-1? See: hydractl nodes" in done.stderr) == (2, True), done.stderr


def test_endpoints_are_listed_with_the_address_to_open(cluster: Any, env: dict[str, str]) -> None:
    assert "ports:" in run(env, "endpoints", "1").stderr
    cluster.endpoints.append(
        {
            "group": "web", "index": 0, "name": "http", "host": "n1", "port": 20_000, "container": "c-1-1-1",
            "node": "n1", "healthy": True, "checked_at": "2026-01-02T00:00:00Z", "proxy": "/proxy/1/web.0.http/",
        }
    )  # fmt: skip
    shown = run(env, "endpoints", "1").stdout
    assert f"{cluster.url}/proxy/1/web.0.http/" in shown and "healthy" in shown and "n1:20000" in shown
    assert json.loads(run(env, "endpoints", "1", "-o", "json").stdout)[0]["port"] == 20_000
