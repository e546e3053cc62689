"""``manage.py simulate`` on files, without any store."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from simulator.workload import Submission, SubmittedGroup
from simulator.workloads import history
from tests.stores import ROOT, bare_environment

pytestmark = pytest.mark.kernels  # simulations wait for them

LOG = "\n".join(
    ["; MaxProcs: 64", *(f"{n} {n * 5} 0 40 4 -1 -1 4 60 -1 1 {n % 3} 1 -1 1 -1 -1 -1" for n in range(1, 25))]
)
EVEN = "queues: {a: {guaranteed: 0.5}, b: {guaranteed: 0.5}}"
UNEVEN = "queues: {a: {guaranteed: 0.1, maximum: 0.2}, b: {guaranteed: 0.9}}"


def simulate(tmp_path: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    env = bare_environment() | {"HYDRA_HOME": str(tmp_path / "home"), "HYDRA_DEBUG": "1"}
    done = subprocess.run(
        [sys.executable, "manage.py", "simulate", *words], cwd=ROOT, env=env, capture_output=True, text=True,
        timeout=250, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done


def test_two_policies_over_a_recorded_history(tmp_path: Path) -> None:
    group = SubmittedGroup(4, 512, 1000, np.array([20.0, 30.0, 25.0, 40.0]))
    jobs = [Submission(10.0 * n, f"root.{'ab'[n % 2]}", "u1", (group,), n) for n in range(30)]
    recorded, page, kept = (str(tmp_path / name) for name in ("jobs.jsonl", "report.html", "report.json"))
    history.dump(jobs, recorded)
    files = []
    for name, text in (("even", EVEN), ("uneven", UNEVEN)):
        (tmp_path / f"{name}.yaml").write_text(text)
        files += ["--policy", str(tmp_path / f"{name}.yaml")]
    size = ["--machines", "3", "--memory-mib", "4096", "--vcores-milli", "4000"]
    done = simulate(tmp_path, "--workload", "history", recorded, *size, *files, "--html", page, "--json", kept)
    assert done.returncode == 0, done.stderr
    assert "By queue: uneven, and the change from even" in done.stdout and "root.a" in done.stdout
    assert Path(page).read_text().startswith("<!DOCTYPE html>")
    compared = json.loads(Path(kept).read_text())["comparison"]
    assert [policy["policy"] for policy in compared["policies"]] == ["even", "uneven"]
    assert compared["policies"][0]["figures"]["jobs"]["value"]["value"] == 30


def test_a_log_under_even_shares_on_machines_that_suffice(tmp_path: Path) -> None:
    log = tmp_path / "log.swf"
    log.write_text(LOG + "\n")
    done = simulate(tmp_path, "--workload", "swf", str(log), "--option", "queue=root.q")
    assert done.returncode == 0, done.stderr
    assert "By queue: even" in done.stdout and "root.q" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "--workload: is missing"),
        (("--workload", "swf"), "needs a path"),
        (("--workload", "swf", "/not/there"), "/not/there cannot be read"),
        (("--workload", "synthetic", "--option", "queues"), "has no value; write NAME=VALUE"),
        (("--workload", "synthetic", "--option", "queues=none"), "queues: 'none' does not fit"),
        (("--workload", "synthetic", "--policy", "/not/there"), "--policy: /not/there cannot be read"),
        (("--workload", "synthetic", "--seeds", "0"), "--seeds: 0 does not fit"),
        (("--workload", "synthetic", "--machines", "-1"), "--machines: -1 does not fit"),
        (("--run", "1"), "--token: is missing"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    with pytest.raises(CommandError) as found:
        call_command("simulate", *words)
    assert told in str(found.value)
