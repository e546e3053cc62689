"""The client against the real thing: web, RM and node managers of one stack."""

import json
import os
import re
import subprocess
import venv
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
import yaml

from client import Client, HydraError, Job, PolicyOverride
from client.follow import Reading, follow_task
from tests.machine import FACTOR
from tests.patience import wait_until
from tests.stack import Stack

EXAMPLES = Path(__file__).parents[3] / "examples"


def job(**group: Any) -> dict[str, Any]:
    resources = {"memory_mib": 64, "vcores_milli": 100}
    return {"name": "probe", "groups": [{"name": "g", "shell": True, "resources": resources, **group}]}


def test_the_census_runs_from_the_shell_to_its_report(hydractl: Any) -> None:
    done = hydractl("submit", str(EXAMPLES / "stdlib-census" / "job.yaml"), "--wait", "-o", "json")
    assert done.returncode == 0, done.stderr
    census = json.loads(done.stdout)
    assert [(g["name"], g["succeeded"]) for g in census["groups"]] == [("map", 8), ("reduce", 1)]
    number = str(census["id"])
    report = hydractl("fetch", number, "report", "--stdout").stdout
    assert "The 20 largest modules" in report
    assert hydractl("fetch", number, "--group", "reduce").stdout.splitlines() == [
        f"job-{number}/reduce/report.txt",
        f"job-{number}/reduce/report.json",
    ]
    again = hydractl("submit", str(EXAMPLES / "hello" / "job.yaml"), "--key", "twice", "-o", "json")
    same = hydractl("submit", str(EXAMPLES / "hello" / "job.yaml"), "--key", "twice", "-o", "json")
    assert json.loads(again.stdout)["id"] == json.loads(same.stdout)["id"]


def test_every_look_at_the_cluster_has_an_answer(hydra: Client, hydractl: Any) -> None:
    hydra.submit(job(command="true"))
    for words in (["overview"], ["queues"], ["nodes"], ["node", "1"], ["sub-clusters"], ["me"], ["jobs"], ["contexts"]):
        assert hydractl(*words).returncode == 0, words
        assert json.loads(hydractl(*words, "-o", "json").stdout), words


def test_a_batch_script_runs_as_it_would_under_slurm(hydra: Client, hydractl: Any) -> None:
    script = """#!/bin/bash
#SBATCH --job-name=Squares --array=2,3,7 --ntasks=2 --mem=64M --time=5
srun sh -c 'echo "$SLURM_PROCID: $((SLURM_ARRAY_TASK_ID * SLURM_ARRAY_TASK_ID)) by $SLURM_NTASKS"'
"""
    done = hydractl("submit", "-", "--wait", "-o", "json", stdin=script)
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout)
    assert (job["name"], job["groups"][0]["resources"]["vcores_milli"]) == ("squares", 2000)
    said = [
        sorted("".join(piece.data for piece in hydra.logs(str(task.container), follow=True)).splitlines())
        for task in sorted(hydra.tasks(job["id"]), key=lambda t: t.index)
    ]
    assert said == [[f"{no}: {square} by 2" for no in (0, 1)] for square in (4, 9, 49)]


SWEEP = """
name: sweep-${{ run }}
parameters: {run: , memory: 64 MiB}
groups:
  - name: fit
    array: {rate: [0.5, 2], seed: [7, 8]}
    command: [sh, -c, 'echo "$0 $1 $HYDRA_ARRAY_SEED $RUN"', "${{ rate }}", "r=${{rate}}"]
    env: {RUN: "${{ run }}"}
    resources: {memory_mib: "${{ memory }}", vcores_milli: 100m}
    timeout_s: 5m
"""


def test_an_array_runs_with_its_values_and_parameters(hydra: Client, hydractl: Any) -> None:
    refused = hydractl("submit", "-", "--set", "rn=x", "--set", "memory=lots", stdin=SWEEP)
    assert refused.returncode == 2
    assert [line.split(": ")[1] for line in refused.stderr.splitlines()] == [
        "set.rn", "parameters.run (line 3, column 14)",
        "groups.0.resources.memory_mib (group fit, line 9, column 17)",
    ]  # fmt: skip
    done = hydractl("submit", "-", "--set", "run=one", "--wait", "-o", "json", stdin=SWEEP)
    assert done.returncode == 0, done.stderr
    job = json.loads(done.stdout)
    assert (job["name"], job["groups"][0]["count"], job["groups"][0]["resources"]["memory_mib"]) == ("sweep-one", 4, 64)
    tasks = sorted(hydra.tasks(job["id"]), key=lambda t: t.index)
    said = ["".join(piece.data for piece in hydra.logs(str(t.container), follow=True)) for t in tasks]
    assert said == [f"{rate} r={rate} {seed} one\n" for rate in (0.5, 2) for seed in (7, 8)]
    listed = hydractl("tasks", str(job["id"])).stdout.splitlines()
    assert "VALUES" in listed[0] and "rate=2, seed=7" in next(row for row in listed if "fit/2" in row)


def test_a_kubernetes_job_runs_and_its_failures_are_retried(hydra: Client, hydractl: Any) -> None:
    spec = {
        "backoffLimit": 1, "completions": 2, "completionMode": "Indexed",
        "template": {"spec": {"restartPolicy": "Never", "containers": [{
            "name": "main", "image": "busybox", "command": ["sh", "-c"],
            "args": ['echo "$JOB_COMPLETION_INDEX on $NODE"; exit $JOB_COMPLETION_INDEX'],
            "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        }]}},
    }  # fmt: skip
    manifest = yaml.safe_dump({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "k"}, "spec": spec})
    assert hydractl("submit", "-", stdin=manifest).returncode == 2
    done = hydractl("submit", "-", "--accept-losses", "--wait", "-o", "json", stdin=manifest)
    assert done.returncode == 1, done.stderr
    job = json.loads(done.stdout)["id"]
    ends = {(c.index, c.attempt): (c.state, c.node, c.id) for c in hydra.containers(job)}
    assert {place: end[0] for place, end in ends.items()} == {
        (0, 1): "SUCCEEDED", (1, 1): "FAILED", (1, 2): "FAILED",
    }  # fmt: skip
    for (index, _), (_, node, container) in ends.items():
        assert "".join(p.data for p in hydra.logs(container, follow=True)) == f"{index} on {node}\n"
    found = {(line.index, line.attempt): line.text for line in hydra.find_in_logs(job, " ON ")}
    assert found == {(index, attempt): f"{index} on {node}" for (index, attempt), (_, node, _) in ends.items()}


def test_hello_says_where_it_runs(hydra: Client) -> None:
    done = hydra.wait(hydra.submit(EXAMPLES / "hello" / "job.yaml").id, timeout_s=60)
    assert done.succeeded
    (task,) = hydra.tasks(done.id)
    assert task.container is not None
    assert f"Hello from {task.node}" in "".join(piece.data for piece in hydra.logs(task.container, follow=True))


def test_a_dry_run_says_what_becomes_of_the_job(hydra: Client, hydractl: Any, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job(command="true")))
    before = [each.id for each in hydra.jobs()]
    told = json.loads(hydractl("submit", str(path), "--dry-run", "-o", "json").stdout)
    assert told["outlook"]["home"] and told["outlook"]["estimate"]["earliest_s"] == 0.0 and told["warnings"] == []
    name = next(hydra.nodes()).name
    path.write_text(yaml.safe_dump(job(command="true", locality={"nodes": [f"{name}x"], "relax": False})))
    asked = hydractl("submit", str(path), "--dry-run")
    assert asked.returncode == 0 and "never starts" in asked.stdout
    assert f"there is no node '{name}x'. Did you mean {name}" in asked.stderr
    assert [each.id for each in hydra.jobs()] == before, "nothing was submitted"
    taken = hydractl("submit", str(path), "-o", "json")
    assert f"there is no node '{name}x'" in taken.stderr
    number = json.loads(taken.stdout)["id"]
    assert [e.kind for e in hydra.events(number)][:2] == ["routed", "warned"]
    hydra.kill(number)


def test_a_service_is_kept_running_until_it_is_killed(hydra: Client) -> None:
    service = hydra.submit(EXAMPLES / "service" / "job.yaml")
    seen: list[Job] = []

    def on_change(now: Job) -> None:
        seen.append(now)
        if now.groups[0].running == 2 and not any(j.groups[0].running == 2 for j in seen[:-1]):
            hydra.kill(now.id, "enough")

    done = hydra.wait(service.id, on_change, timeout_s=60)
    assert (done.state, done.message) == ("KILLED", "killed by tenant: enough")


def test_jobs_seen_on_their_node_are_killed_at_once(hydra: Client, hydractl: Any) -> None:
    ids = hydra.submit_many([job(command="sleep 600") for _ in range(2)])
    for each in ids:
        wait_until(lambda each=each: hydra.job(each).state == "RUNNING", 30, "it runs")
    nodes = {str(t.node) for each in ids for t in hydra.tasks(each)}
    shown = [json.loads(hydractl("node", n, "--containers", "-o", "json").stdout) for n in nodes]
    assert {c["job"] for found in shown for c in found} >= set(ids)
    on_nodes = [json.loads(hydractl("jobs", "--node", n, "--name", "probe", "-o", "json").stdout) for n in nodes]
    assert {j["id"] for found in on_nodes for j in found} >= set(ids)
    assert not json.loads(hydractl("jobs", "--node", sorted(nodes)[0], "--name", "other", "-o", "json").stdout)
    top = hydractl("top", "--once", "--rows", "100").stdout
    assert all(str(each) in top for each in ids) and "root.default" in top and "IN SERVICE" in top
    mine = json.loads(hydractl("top", "--once", "-o", "json").stdout)["jobs"]
    assert {j["id"] for j in mine} >= set(ids) and {j["owner"] for j in mine} == {"tenant"}
    table = hydractl("node", sorted(nodes)[0], "--containers").stdout
    assert "USED MIB" in table and "probe" in table and "RUNNING" in table
    killed = hydractl("kill", *map(str, ids), "999999", "-m", "enough")
    assert killed.returncode == 2 and "job 999999: " in killed.stderr
    assert killed.stdout.splitlines() == [f"job {each}: asked to stop" for each in ids]
    ended = {(j.state, j.message) for j in (hydra.wait(each, timeout_s=60) for each in ids)}
    assert ended == {("KILLED", "killed by tenant: enough")}
    again = hydractl("kill", str(ids[0]), "-o", "json")
    assert again.returncode == 2 and "ended already" in json.loads(again.stdout)[0]["refused"]


def test_what_ran_is_listed_completed_and_told_by_its_tag(hydra: Client, hydractl: Any) -> None:
    done = hydra.wait(hydra.submit(job(command="true") | {"tags": ["nightly"]}).id, timeout_s=60)
    listed = hydractl("jobs", "--tag", "nightly", "--columns", "tags,home,kind,job", "--sort", "-job").stdout
    assert [line.split() for line in listed.splitlines()] == [
        ["TAGS", "HOME", "KIND", "JOB"], ["nightly", "east", "batch", str(done.id)],
    ]  # fmt: skip
    typed = "hydractl usage --queue root.de"
    offered = hydractl(_HYDRACTL_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD="3").stdout.split()
    assert offered == ["root.default"]
    assert hydractl("--version").stdout.startswith("hydractl ")
    (of_tag,) = wait_until(
        lambda: [t for t in json.loads(hydractl("usage", "--by-tag", "-o", "json").stdout) if t["tag"] == "nightly"],
        30, "what it used is told",
    )  # fmt: skip
    assert (of_tag["containers"], of_tag["failed"]) == (1, 0)
    table = hydractl("usage", "--by-tag", "--columns", "tag,containers,core-hours-wasted,hours-waited").stdout
    assert re.split(r"  +", table.splitlines()[0].strip()) == ["TAG", "CONTAINERS", "CORE HOURS WASTED", "HOURS WAITED"]
    assert any(line.split()[:2] == ["nightly", "1"] for line in table.splitlines())
    assert ",nightly," in hydractl("usage", "--by-tag", "--csv").stdout
    (day,) = json.loads(hydractl("usage", "--tag", "nightly", "-o", "json").stdout)
    assert (day["containers"], day["at"][10:]) == (1, "T00:00:00Z")
    assert "--tag" in hydractl("usage", "--tag", "nightly", "--hourly").stderr


def test_why_a_job_waits_is_told_and_what_is_told_starts_it(hydra: Client, hydractl: Any) -> None:
    wanted = job(command="true", node_labels="moon")
    waits = str(hydra.submit(wanted).id)

    def told() -> str:
        (group,) = json.loads(hydractl("explain", waits, "-o", "json").stdout)["groups"]
        change = (group["reason"] or {}).get("change") or {}
        return str(change["text"]) if change.get("starts") else ""

    text = wait_until(told, 30, "what would start it is told")
    shown = hydractl("explain", waits).stdout
    assert "g: 1 task waits" in shown and text in shown
    term = text.removeprefix("Drop the label condition '").removesuffix("'.")
    wanted["groups"][0]["node_labels"] = wanted["groups"][0]["node_labels"].replace(term, "")
    assert hydra.wait(hydra.submit(wanted).id, timeout_s=60).succeeded
    hydractl("kill", waits)


def test_the_policys_schema_is_printed(hydractl: Any) -> None:
    schema = json.loads(hydractl("policy", "schema", "-o", "json").stdout)
    assert schema["properties"]["queues"]
    assert yaml.safe_load(hydractl("policy", "schema").stdout) == schema


def test_files_and_unicode_arrive_byte_for_byte(hydra: Client, tmp_path: Path) -> None:
    data = bytes(range(256)) * 4000
    (tmp_path / "in").write_bytes(data)
    spec = job(
        command="cp 'där/in' out; printf 'grüße 漢字 \\360\\237\\220\\211\\n'",
        files=[{"path": "där/in", "source": str(tmp_path / "in")}],
        outputs=[{"name": "out", "path": "out"}],
    )
    done = hydra.wait(hydra.submit(spec).id, timeout_s=60)
    assert done.succeeded, done
    (output,) = hydra.outputs(done.id)
    assert hydra.download(output.digest, tmp_path / "back").read_bytes() == data
    (task,) = hydra.tasks(done.id)
    said = "".join(piece.data for piece in hydra.logs(str(task.container), follow=True, limit_bytes=5))
    assert said == "grüße 漢字 \U0001f409\n"


def test_a_failure_is_explained_followed_over_attempts_and_retried(hydra: Client, hydractl: Any) -> None:
    spec = job(command='echo "attempt $HYDRA_ATTEMPT"; echo "because" >&2; exit 3', retries=1)
    failed = hydra.wait(hydra.submit(spec).id, timeout_s=60)
    assert failed.state == "FAILED"
    assert [(c.state, c.reason, c.exit_code) for c in hydra.containers(failed.id)] == [("FAILED", "EXIT_CODE", 3)] * 2
    (task,) = hydra.tasks(failed.id, state="FAILED")
    notes: list[str] = []
    said = "".join(piece.data for piece in follow_task(hydra, failed.id, task, Reading("stdout"), notes.append))
    assert said == "attempt 1\nattempt 2\n"
    assert hydractl("logs", f"{failed.id}/g/0", "--stderr").stdout == "because\n"
    assert hydractl("logs", str(failed.id)).stdout == "attempt 2\nbecause\n"
    assert hydractl("logs", str(failed.id), "--previous", "--tail", "2").stdout == "attempt 1\nbecause\n"
    found = hydractl("logs", f"{failed.id}/g", "-f", "--since", "1h", "--grep", "BECAUSE")
    assert (found.stdout, "Left out: 2 lines" in found.stderr) == ("because\n" * 2, True)
    assert hydractl("logs", str(failed.id), "--since", "0s", "--stdout").stdout == ""
    waited = hydractl("wait", str(failed.id), "--follow")
    assert (waited.returncode, sorted(waited.stdout.splitlines())) == (
        1, ["g/0 stderr | because"] * 2 + ["g/0 | attempt 1", "g/0 | attempt 2"],
    )  # fmt: skip
    assert f"Look at: hydractl logs {failed.id}/g/0 --stderr" in waited.stderr


def test_a_retry_is_a_new_job_and_the_old_one_stays_as_it_ended(hydra: Client) -> None:
    failed = hydra.wait(hydra.submit(job(command="exit 3")).id, timeout_s=60)
    again = hydra.wait(hydra.retry(failed.id).id, timeout_s=60)
    assert (again.retry_of, again.state, again.name) == (failed.id, "FAILED", failed.name)
    assert again.id != failed.id
    assert hydra.job(failed.id) == failed


def test_refusals_of_the_server_name_field_and_remedy(hydra: Client, hydractl: Any, tmp_path: Path) -> None:
    with pytest.raises(HydraError) as caught:
        hydra.submit({**job(command="true"), "queue": "root.nowhere"})
    (error,) = caught.value.problem.errors
    assert error.field == "queue"
    assert error.remedy
    with pytest.raises(HydraError, match=r"groups\.0\.tomorrow"):
        hydra.submit(job(command="true", tomorrow=1))
    done = hydractl("job", "999999")
    assert (done.returncode, done.stdout) == (2, "")
    assert "999999" in done.stderr


def test_an_upload_that_is_there_is_not_sent_again(hydra: Client, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(os.urandom(1000))
    stored = hydra.upload(tmp_path / "x")
    assert hydra.has_artifact(stored.digest)
    sent: list[int] = []
    hydra.upload(tmp_path / "x", lambda _file, so_far: sent.append(so_far))
    assert sent == [1000]
    assert not hydra.has_artifact("0" * 64)


def test_what_is_kept_is_listed_and_deleted(hydra: Client, hydractl: Any, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(os.urandom(1000))
    before, stored = hydra.artifacts_kept(), hydra.upload(tmp_path / "x")
    kept = hydra.artifacts_kept()
    assert (kept.files, kept.size) == (before.files + 1, before.size + 1000)
    assert next(a for a in hydra.artifacts() if a.digest == stored.digest).output is None
    done = hydractl("artifacts", "rm", stored.digest)
    assert done.returncode == 0, done.stderr
    assert not hydra.has_artifact(stored.digest) and hydra.artifacts_kept() == before


REPORT = """# Kept as it is written.
name: report
parameters: {schedule_date: , schedule_name: , to: paper}
groups:
  - name: g
    command: [sh, -c, 'cat note.txt; echo "$DAY of $NAME to $0"', "${{ to }}"]
    env: {DAY: "${{ schedule_date }}", NAME: "${{ schedule_name }}"}
    resources: {memory_mib: 64, vcores_milli: 100}
"""


def test_a_schedule_starts_its_job_by_itself(cluster: Stack, hydra: Client, hydractl: Any, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("a note\n")
    file = tmp_path / "report.yaml"
    file.write_text(REPORT + "    files: [{path: note.txt, source: note.txt}]\n")
    words = ("schedule", "create", "daily", str(file), "--cron", "@daily", "--zone", "Asia/Tokyo", "--set", "to=screen")
    told = hydractl(*words, "--dry-run")
    assert "At 00:00 every day" in told.stdout and "+0900" in told.stdout and not list(hydra.schedules())
    made = hydractl(*words, "--except", "12-25", "--overlap", "allow", "-o", "json")
    assert made.returncode == 0, made.stderr
    number = json.loads(made.stdout)["id"]
    with psycopg.connect(cluster.database_url()) as store:  # as if a day had passed
        passed = "next_at = next_at - interval '1 day', look_at = look_at - interval '1 day', start_within_s = 90000"
        store.execute(f"UPDATE statestore_schedule SET {passed} WHERE id = %s", (number,))
    wait_until(lambda: any(run.job for run in hydra.schedule_runs(number)), 60, "its time has a job")
    (run,) = json.loads(hydractl("schedule", "history", "daily", "-o", "json").stdout)
    done = hydra.wait(run["job"]["id"], timeout_s=60)
    assert done.succeeded and done.schedule is not None and done.schedule.name == "daily"
    day = done.schedule.at.astimezone(ZoneInfo("Asia/Tokyo")).date()
    (task,) = hydra.tasks(done.id)
    said = "".join(piece.data for piece in hydra.logs(str(task.container), follow=True))
    assert said == f"a note\n{day} of daily to screen\n"
    assert f"{number} daily, for " in hydractl("job", str(done.id)).stdout


def test_a_file_that_was_not_uploaded_is_named_as_the_job_file_has_it(hydractl: Any, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "lib" / name).write_text(name)
    file = tmp_path / "job.yaml"
    own = f"    files:\n      - {{path: lib, source: lib}}\n      - {{path: w, digest: {'0' * 64!r}}}\n"
    file.write_text(f"name: a\ngroups:\n  - name: g\n    command: [cat, w]\n{own}")
    for words in (("submit", str(file)), ("schedule", "create", "x", str(file), "--cron", "@daily")):
        refused = hydractl(*words)
        assert refused.returncode == 2, words
        assert "hydractl: groups.0.files.1.digest (group g, line 7, column 19): you have not" in refused.stderr, words
        assert "hydractl artifacts put FILE uploads it" in refused.stderr


def test_what_is_done_with_a_schedule(hydra: Client, hydractl: Any) -> None:
    def ok(*words: str, stdin: str = "") -> str:
        done = hydractl("schedule", *words, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    assert "next 2" in ok("create", "hourly", "-", "--cron", "@hourly", "--start-within", "30m", stdin=REPORT)
    assert ok("show", "hourly", "--file") == REPORT, "with its comments"
    assert "is suspended" in ok("suspend", "tenant/hourly")
    assert "suspended" in ok("list", "--name", "hour")
    assert "job " in ok("run", "hourly")
    assert "At 09:30 on Monday" in ok("update", "hourly", "--cron", "30 9 * * mon", "--set", "to=ink")
    (kept,) = hydra.schedules(name="hourly")
    known = hydra.schedule(kept.id)
    assert (known.cron, known.set, known.start_within_s, known.job) == ("30 9 * * mon", {"to": "ink"}, 1800, REPORT)
    assert "goes on" in ok("resume", str(kept.id))
    assert "tenant" in ok("history", "hourly") and ok("delete", "hourly") == ""
    gone = hydractl("schedule", "show", "hourly")
    assert gone.returncode == 2 and "hydractl schedule list" in gone.stderr
    wrong = hydractl("schedule", "create", "x", "-", "--cron", "61 * * * *", "--zone", "Tokyo", stdin=REPORT)
    assert wrong.returncode == 2 and "cron" in wrong.stderr and "zone" in wrong.stderr


def test_lists_of_several_pages_are_complete(hydra: Client, hydractl: Any) -> None:
    ids = hydra.submit_many([job(command="true") for _ in range(7)])
    assert len(set(ids)) == 7
    for each in ids:
        hydra.wait(each, timeout_s=60)
    assert {j.id for j in hydra.jobs(page_size=3, name="probe")} >= set(ids)
    many = hydra.wait(hydra.submit(job(command="true", count=12)).id, timeout_s=60)
    assert [t.index for t in hydra.tasks(many.id, page_size=5)] == list(range(12))
    cut = hydractl("tasks", str(many.id), "--limit", "11", "-o", "json")
    assert (len(json.loads(cut.stdout)), cut.stderr) == (11, "11 of 12 shown: --limit 0\n")
    assert json.loads(hydractl("jobs", "--since", "-1h", "--limit", "1", "-o", "json").stdout)[0]["id"] == many.id


def test_waiting_outlasts_a_killed_web_process(cluster: Stack, hydra: Client) -> None:
    running = hydra.submit(job(command="sleep 3; echo done"))
    killed: list[int] = []

    def on_change(now: Job) -> None:
        if now.state == "RUNNING" and not killed:
            killed.append(cluster.kill("web"))

    assert hydra.wait(running.id, on_change, timeout_s=90).succeeded
    assert killed


def test_the_launcher_says_what_to_do_without_an_environment(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(EXAMPLES.parent / "hydractl"), "jobs"], env={"PATH": os.environ["PATH"], "HYDRA_VENV": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "in HYDRA_VENV, or make it with" in done.stderr and done.stderr.endswith("manage.py install\n")


def test_the_launcher_names_packages_that_its_environment_lacks(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", symlinks=True)
    done = subprocess.run(
        [str(EXAMPLES.parent / "hydractl"), "jobs"], capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "HYDRA_VENV": str(tmp_path / "bare"), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "has no package " in done.stderr and "in HYDRA_VENV, or install them" in done.stderr


def test_a_pushed_policy_is_in_force(cluster: Stack) -> None:
    operator = cluster.client("operator")
    old = operator.policy()
    assert old.document is not None
    queues = old.document["queues"] | {"default": {"open_to_all": True, "maximum": {"memory_mib": "100 MiB"}}}
    new = operator.apply_policy(old.document | {"queues": queues}, "a small default queue", parent=old.version)
    wait_until(lambda: operator.sub_clusters()[0].policy_version == new.version, 5, "the leader says so")
    group = {"name": "g", "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    assert operator.wait(operator.submit({"name": "fits", "groups": [group]}).id, timeout_s=30).succeeded
    large = group | {"resources": {"memory_mib": 101, "vcores_milli": 100}}
    waiting = operator.submit({"name": "too-large", "groups": [large]})
    operator.apply_policy(old.document, "as before")
    assert operator.wait(waiting.id, timeout_s=30).succeeded


def test_an_override_begins_and_ends_by_itself(cluster: Stack) -> None:
    """A duty puts it in force and out of it; the RM lets the job wait meanwhile, and start afterwards."""
    operator, now = cluster.client("operator"), datetime.now(UTC)
    begins, ends = now + timedelta(seconds=2), now + timedelta(seconds=2 + 6 * FACTOR)
    made = operator.add_override("root.default", "max_running_jobs", {"to": 0}, ends, "a pause", starts_at=begins)
    assert isinstance(made, PolicyOverride) and made.state == "planned"
    wait_until(lambda: operator.policy().overrides == [made.id], 10, "in force")
    assert datetime.now(UTC) >= begins
    version = operator.policy().version
    wait_until(lambda: operator.sub_clusters()[0].policy_version == version, 5, "taken in by the RM")
    group = {"name": "g", "command": ["true"], "resources": {"memory_mib": 64, "vcores_milli": 100}}
    waiting = operator.submit({"name": "waits", "groups": [group]})
    done = operator.wait(waiting.id, timeout_s=30)
    assert done.succeeded and done.finished_at is not None and done.finished_at >= ends
    assert operator.policy().overrides == [] and [o.state for o in operator.overrides(everything=True)] == ["over"]
    assert [v.message.split(":")[0] for v, _ in zip(operator.policy_versions(), range(2), strict=False)] == [
        f"override {made.id} is over", f"override {made.id} begins"
    ]  # fmt: skip
