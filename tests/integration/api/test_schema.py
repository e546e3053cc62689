"""The schema holds what it says: every check of schemathesis, as three roles, against a real web process.

The gate sends what an operator may send, to whom every route answers; that refusals to others are documented as well is
asked of every route in ``test_matrix``.
"""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.integration.api.served import web
from tests.integration.api.world import World, job
from tests.machine import FACTOR
from tests.patience import wait_until

CONFIG = Path(__file__).with_name("schemathesis.toml")
ENDS_THE_CALLER = (
    "auth_logout",
    "session_delete",
    "accounts_close",
    "accounts_role",
    "accounts_sign_out",
    "tokens_revoke",
)
OPTIONS = [
    "--max-examples=2", "--seed=1", "--request-timeout=10", "--no-color",
    "--suppress-health-check=all", *(f"--exclude-operation-id={name}" for name in ENDS_THE_CALLER),
]  # fmt: skip


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "role", ["operator", *(pytest.param(r, marks=pytest.mark.faults) for r in ("tenant", "viewer"))]
)
def test_every_answer_is_documented(role: str, world: World, tmp_path: Path) -> None:
    if role != "viewer":
        world[role].post("jobs", job())
    check(world, role, "fuzzing", tmp_path)


@pytest.mark.faults  # for its length
@pytest.mark.timeout(1200 * FACTOR)
@pytest.mark.django_db(transaction=True)
def test_every_border_of_a_parameter_is_documented(world: World, tmp_path: Path) -> None:
    """Tried once, by who may send everything."""
    world["operator"].post("jobs", job())
    check(world, "operator", "coverage", tmp_path)


def check(world: World, role: str, phase: str, folder: Path) -> None:
    with web() as url:
        schema = f"{url}/api/v1/schema"  # made once, which takes long on a machine that does much else
        wait_until(lambda: httpx.get(schema, timeout=30, trust_env=False).is_success, 60, "web has its schema")
        command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]
        command += [f"--config-file={CONFIG}", "run", schema, f"--phases={phase}", *OPTIONS]
        command += ["-H", f"Authorization: Token {world[role].token}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=1000 * FACTOR, check=False, cwd=folder)
    assert done.returncode == 0, f"{done.stdout[-8000:]}\n{done.stderr[-2000:]}"
