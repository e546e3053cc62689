"""``hydractl submit`` and ``convert`` with batch scripts and manifests: what is sent, said and refused."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from client import Client, HydraError, InvalidJob, convert
from tests import hydractl

ROOT = Path(__file__).parents[3]
SCRIPT = """#!/bin/sh
#SBATCH --job-name=Sums
#SBATCH --array=1-3
#SBATCH --mail-type=END
python3 work.py "$SLURM_ARRAY_TASK_ID"
"""
JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - {name: a, image: perl, command: [perl, -v]}
"""


@pytest.fixture
def run(cluster: Any, tmp_path: Path) -> Any:
    (tmp_path / "job.sh").write_text(SCRIPT)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "work.py").write_text("print('hi')")
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "HYDRA_URL": cluster.url,
        "HYDRA_TOKEN": "secret-token",
    }  # fmt: skip
    return lambda *words, stdin="": hydractl.run(words, env, stdin, tmp_path)


def test_a_script_is_submitted_with_the_files_it_names(cluster: Any, run: Any) -> None:
    done = run("submit", "job.sh", "--queue", "root.a")
    assert (done.returncode, done.stdout) == (0, "job 1 (sums) submitted to root.a\n"), done.stderr
    spec = cluster.jobs[0]["spec"]
    assert [f["path"] for f in spec["files"]] == ["work.py"] and len(cluster.artifacts) == 1
    assert spec["groups"][0]["count"] == 3
    said = done.stderr.splitlines()
    assert said[0] == "job.sh is a batch script."
    assert said[1] == "understood: 2 things that it says; hydractl convert tells each"
    assert next(line.split() for line in said if "--mail" in line)[:3] == ["line", "4", "--mail-type=END"]
    assert "brought, as it names them: work.py" in said


def test_what_would_be_lost_is_submitted_only_where_that_is_accepted(cluster: Any, run: Any) -> None:
    refused = run("submit", "job.yaml")
    assert (refused.returncode, refused.stdout, cluster.jobs) == (2, "", [])
    assert "not in images" in refused.stderr
    assert refused.stderr.splitlines()[-1].startswith("hydractl: job.yaml: 1 of what it says would be lost, see above")
    done = run("submit", "job.yaml", "--accept-losses", "-o", "json")
    assert (done.returncode, json.loads(done.stdout)["name"]) == (0, "pi"), done.stderr


def test_what_convert_prints_is_a_job_file(cluster: Any, run: Any, tmp_path: Path) -> None:
    done = run("convert", "job.sh")
    assert done.returncode == 0 and "--mail-type=END" in done.stderr
    said = done.stderr.splitlines()
    assert said[1] == "understood:" and said[3].split()[:3] == ["line", "3", "--array=1-3"]
    (tmp_path / "made.yaml").write_text(done.stdout)
    assert yaml.safe_load(done.stdout) == json.loads(run("convert", "job.sh", "-o", "json").stdout)
    assert run("validate", "made.yaml").stderr.endswith("a valid job of 1 group, 3 tasks.\n")
    assert run("validate", "job.sh").returncode == 0
    assert run("submit", "made.yaml").returncode == run("submit", "job.sh").returncode == 0
    assert cluster.jobs[0]["spec"] == cluster.jobs[1]["spec"]


def test_a_program_submits_what_the_shell_does(cluster: Any, run: Any, tmp_path: Path) -> None:
    with Client(cluster.url, "secret-token") as client:
        assert client.submit(tmp_path / "job.sh").name == "sums"
        with pytest.raises(InvalidJob) as refused:
            client.submit(tmp_path / "job.yaml")
        assert len(cluster.jobs) == 1
        (lost,) = refused.value.problem.errors
        assert (lost.field, lost.line) == ("containers[0].image", 9) and "accept_losses=True" in lost.remedy, lost
        made = convert(tmp_path / "job.yaml")
        assert [r.line for r in made.lost] == [lost.line] and made.spec["name"] == "pi"
        assert client.submit(tmp_path / "job.yaml", accept_losses=True).name == "pi"
        cluster.refusing = [{"field": "groups.0.count", "message": "are too many", "remedy": "ask for less"}]
        with pytest.raises(HydraError, match=r"groups.0.count \(line 3\): are too many"):
            client.submit(tmp_path / "job.sh")
    cluster.refusing = []
    assert run("submit", "job.sh").returncode == 0
    assert cluster.jobs[0]["spec"] == cluster.jobs[2]["spec"]


def test_stdin_is_known_by_its_content_too(cluster: Any, run: Any) -> None:
    done = run("submit", "-", stdin=SCRIPT)
    assert (done.returncode, cluster.jobs[0]["name"]) == (0, "sums"), done.stderr
    assert done.stderr.startswith("stdin is a batch script.\n")
    assert [f["path"] for f in cluster.jobs[0]["spec"]["files"]] == ["work.py"]


@pytest.mark.parametrize("command", ["submit", "convert", "validate"])
def test_wrong_lines_are_said_and_nothing_is_sent(cluster: Any, run: Any, tmp_path: Path, command: str) -> None:
    (tmp_path / "wrong.sh").write_text("#!/bin/sh\n#SBATCH --time=soon\n#SBATCH --ntask=x\n")
    done = run(command, "wrong.sh", *(["--accept-losses"] if command == "submit" else []))
    assert (done.returncode, done.stdout, cluster.seen) == (2, "", [])
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["line 2", "line 3"]


@pytest.mark.parametrize("words", [["submit"], ["submit", "--dry-run"], ["validate", "--server"]])
def test_what_the_server_finds_wrong_with_a_script_has_its_line(
    cluster: Any, run: Any, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "gpu.sh").write_text("#!/bin/sh\n#SBATCH --mem=1G\n#SBATCH --partition=gpu\ntrue\n")
    wrong = {"field": "groups.0.partition", "message": "there is no partition gpu", "remedy": "use one of: big"}
    cluster.refusing = [wrong]
    done = run(*words, "gpu.sh")
    assert done.returncode == 2
    told = done.stderr.splitlines()[-1]
    assert told == "hydractl: groups.0.partition (line 3): there is no partition gpu. Use one of: big."


def test_a_job_file_needs_no_converting(run: Any, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a\ngroups: []\n")
    done = run("convert", "a.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith("hydractl: a.yaml: is neither a batch script nor a Kubernetes manifest.")
