"""``hydractl policy`` and ``hydractl queue`` against a real web process."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.served import web
from tests.integration.api.world import World

ROOT = Path(__file__).parents[3]


@pytest.mark.django_db(transaction=True)
def test_an_operator_changes_the_policy_with_hydractl(world: World, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    with web() as url:

        def hydractl(*words: str, role: str = "operator", **more: Any) -> subprocess.CompletedProcess[str]:
            env = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "HYDRA_URL": url, "HYDRA_TOKEN": world[role].token}
            command = [sys.executable, "-m", "client", *words]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False, **more)
            assert "Traceback" not in done.stderr, done.stderr
            return done

        old = hydractl("policy", "get").stdout
        file.write_text(old.replace("guaranteed: 0.5", "guaranteed: 45%\n    max_running_jobs: 7"))
        assert "6 queues" in hydractl("policy", "validate", "-f", str(file)).stdout
        applied = hydractl("policy", "apply", "-f", str(file), "-m", "less by default")
        assert applied.returncode == 0 and "is in force" in applied.stdout, applied.stderr
        again = hydractl("policy", "apply", "-f", str(file), "-m", "twice")
        assert again.returncode == 2 and "Read it again" in again.stderr, "the file was made from an older version"
        assert (
            hydractl("policy", "apply", "-f", "-", "-m", "piped", input=hydractl("policy", "get").stdout).returncode
            == 0
        )
        shown = [line.split() for line in hydractl("policy", "versions").stdout.splitlines()]
        assert [row[1] for row in shown[1:]] == ["yes", "no", "no"] and "piped" in shown[1]
        queues = {q["path"]: q for q in json.loads(hydractl("queues", "-o", "json").stdout)}
        assert queues["root.default"]["max_running_jobs"] == 7
        table = hydractl("queues", "--long").stdout
        assert "3.6 GiB, 3.6 cores" in table and "MAX JOBS" in table
        file.write_text("queues: {default: {guarantee: 1}}")
        wrong = hydractl("policy", "apply", "-f", str(file))
        assert wrong.returncode == 2 and "queues.default.guarantee: " in wrong.stderr
        file.write_text("- a list")
        assert hydractl("policy", "validate", "-f", str(file)).returncode == 2

        assert hydractl("queue", "rights", "grant", "root.prod.etl", "other", "--level", "admin").returncode == 0
        rights = hydractl("queue", "rights", "list", "root.prod.etl").stdout
        assert "other" in rights and "admin" in rights
        assert hydractl("queue", "rights", "withdraw", "root.prod.etl", "other").returncode == 0
        assert "other" not in hydractl("queue", "rights", "list", "root.prod.etl").stdout
        assert hydractl("policy", "get", role="tenant").returncode == 2
