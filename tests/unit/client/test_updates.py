"""What hydractl says of a service that is updated, and of whom a job tells."""

import json
import subprocess
from pathlib import Path
from typing import Any

from contract.jobs import Event, Revision, RolloutState
from contract.notifications import JobReceiver
from tests import hydractl
from tests.answers import said_by_the_api


def run(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return hydractl.run(words, env, "", None)


def job_file(folder: Path) -> Path:
    path = folder / "job.yaml"
    path.write_text(json.dumps({"name": "a", "groups": [{"name": "g", "command": ["true"]}]}))
    return path


def test_an_update_is_waited_for_until_it_serves_or_was_undone(
    cluster: Any, env: dict[str, str], tmp_path: Path
) -> None:
    cluster.add_job({"name": "a", "kind": "service", "groups": [{"name": "g", "count": 2}]}, "RUNNING")
    file = str(job_file(tmp_path))
    going = said_by_the_api(RolloutState, revision=5, previous=4, updated=1, tasks=2)

    def steps(*looks: dict[str, Any]) -> None:
        left = list(looks)
        cluster.on_get_job = lambda job: job.update(kind="service", **(left.pop(0) if len(left) > 1 else left[0]))

    before, now = {"revision": 4, "rollout": None}, {"revision": 5, "rollout": going}
    steps(before, before, now, {"revision": 5, "rollout": None})
    cluster.revisions = [said_by_the_api(Revision, revision=5, outcome="", back=None)]
    done = run(env, "update", "1", file, "--wait")
    assert (done.returncode, done.stdout) == (0, "job 1: serves as revision 5\n"), done.stderr
    assert "job 1: 1/2 tasks at revision 5, on its way from 4" in done.stderr

    why = "failed: 2 of its attempts failed, and 1 may; the last failure: g/0 failed its health check too often"
    cluster.revisions = [
        said_by_the_api(Revision, revision=6, by="the cluster", outcome="", back=4, at="2026-03-02T09:00:00Z"),
        said_by_the_api(Revision, revision=5, outcome=why, back=None),
        said_by_the_api(Revision, revision=4, outcome="", back=None),
    ]
    steps(before, {"revision": 6, "rollout": None})
    undone = run(env, "update", "1", file, "--wait")
    assert (undone.returncode, undone.stdout) == (1, "")
    assert "hydractl: undone: revision 5 at 2026-03-0" in undone.stderr
    assert f"back to what revision 4 ran: {why}. Look at: hydractl events 1" in undone.stderr
    shown = " ".join(run(env, "job", "1").stdout.split())
    assert "undone revision 5 at 2026-03-0" in shown and "health check" in shown

    steps(before)
    not_updated = said_by_the_api(Event, id=7, message="long ago") | {"kind": "not_updated"}
    cluster.events = [not_updated]
    cluster.trouble = lambda request: (
        cluster.events.append(not_updated | {"id": 8, "message": "no room for it"})
        if request.method == "PUT" and request.path.endswith("/spec") else None
    )  # fmt: skip
    refused = run(env, "update", "1", file, "--wait")
    assert refused.returncode == 1 and "it was not begun: no room for it. Look at" in refused.stderr


def test_a_job_says_whom_it_tells_and_whether_that_arrived(cluster: Any, env: dict[str, str]) -> None:
    cluster.add_job({"name": "a", "groups": [{"name": "g"}]}, "FAILED")
    assert "tells" not in run(env, "job", "1").stdout
    failing = {"waiting": 1, "error": "answered 500", "next_at": "2026-03-02T09:00:00Z"}
    told = {"receiver": "ci", "events": ["succeeded", "failed"]}
    cluster.told = [said_by_the_api(JobReceiver, **told, **failing)]
    shown = " ".join(run(env, "job", "1").stdout.split())
    assert (
        "tells ci of succeeded, failed: 1 to be told, the last error: answered 500; tried again at 2026-03-0" in shown
    )


def test_an_update_is_warned_of_on_stderr_and_a_dry_run_sends_no_file(
    cluster: Any, env: dict[str, str], tmp_path: Path
) -> None:
    cluster.add_job({"name": "a", "kind": "service", "groups": [{"name": "g", "count": 2}]}, "RUNNING")
    cluster.on_get_job = lambda job: job.update(kind="service", revision=4)
    cluster.warnings = [{"field": "spec.groups.0.command", "message": "no node is so large", "remedy": "ask for less"}]
    (tmp_path / "data").write_text("x")
    path = job_file(tmp_path)
    job = json.loads(path.read_text())
    job["groups"][0]["files"] = [{"path": "data", "source": "data"}]
    path.write_text(json.dumps(job, indent=1))
    cluster.changes = ["g.command: one -> two", "g.shell: no -> yes"]
    told = "\n  ".join(["", *cluster.changes, ""]).rstrip(" ")
    tried = run(env, "update", "1", str(path), "--dry-run")
    assert (tried.returncode, tried.stdout) == (0, f"job 1: would be rolled out as revision 5: {path}{told}"), (
        tried.stderr
    )
    assert "hydractl: warning: groups.0.command (line 6, column 4): no node is so large" in tried.stderr
    assert tried.stderr.endswith("Nothing was begun.\n")
    assert json.loads(cluster.requests("PUT", "/jobs/1/spec")[0].body)["dry_run"]
    assert not [r for r in cluster.seen if "/artifacts/" in r.path]
    done = run(env, "update", "1", str(path))
    assert done.returncode == 0 and "no node is so large" in done.stderr
    assert done.stdout == f"job 1: asked to roll {path} out{told}"
    cluster.changes = ["g.node_labels: none -> \x1b[2J"]
    assert "\x1b" not in run(env, "update", "1", str(path)).stdout, "others' texts draw nothing on this terminal"
    assert "dry_run" not in json.loads(cluster.requests("PUT", "/jobs/1/spec")[1].body)
