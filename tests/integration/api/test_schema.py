"""The schema holds what it says: every check of schemathesis, as three roles, against a real web process."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.api.served import web
from tests.integration.api.world import World, job

CONFIG = Path(__file__).with_name("schemathesis.toml")
OPTIONS = [
    "--phases=coverage,fuzzing", "--max-examples=4", "--seed=1", "--request-timeout=10", "--no-color",
    "--suppress-health-check=all", "--exclude-operation-id=auth_logout",
]  # fmt: skip


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(180)
def test_every_answer_is_documented(world: World, tmp_path: Path) -> None:
    for role in ("tenant", "viewer", "operator"):
        if role != "viewer":
            world[role].post("jobs", job())
        with web() as url:
            command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]
            command += [f"--config-file={CONFIG}", "run", f"{url}/api/v1/schema", *OPTIONS]
            command += ["-H", f"Authorization: Token {world[role].token}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False, cwd=tmp_path)
        assert done.returncode == 0, f"{role}:\n{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
