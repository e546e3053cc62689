"""``hydractl account``, ``token`` and ``health`` against a real web process."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.api.served import web
from tests.integration.api.world import PASSWORD, World

ROOT = Path(__file__).parents[3]


@pytest.mark.django_db(transaction=True)
def test_accounts_and_tokens_from_the_shell(world: World, tmp_path: Path) -> None:
    with web() as url:

        def hydractl(*words: str, token: str, **more: Any) -> subprocess.CompletedProcess[str]:
            env = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "HYDRA_URL": url, "HYDRA_TOKEN": token}
            command = [sys.executable, "-m", "client", *words]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False, **more)
            assert "Traceback" not in done.stderr, done.stderr
            return done

        operator, tenant = world["operator"].token, world["tenant"].token
        words = ("account", "create", "ada", "--role", "viewer", "--password-stdin")
        weak = hydractl(*words, token=operator, input="password\n")
        assert weak.returncode == 2 and "password" in weak.stderr
        assert hydractl(*words, token=operator, input=PASSWORD + "\n").returncode == 0
        assert "viewer" in hydractl("account", "show", "ada", token=operator).stdout
        assert hydractl("account", "role", "ada", "tenant", token=operator).returncode == 0
        assert hydractl("account", "role", "tenant", "operator", token=tenant).returncode == 2
        refused = hydractl("account", "close", "operator", token=operator)
        assert refused.returncode == 2 and "nobody changes their own account" in refused.stderr
        assert "closed" in hydractl("account", "close", "ada", token=operator).stdout
        listed = hydractl("account", "list", "--name", "ad", token=operator).stdout
        assert "ada" in listed and "admin" in listed and "viewer" not in listed

        made = hydractl("token", "create", "ci", "--valid", "2h", token=tenant).stdout.strip()
        assert "tenant" in hydractl("me", token=made).stdout
        assert "ci" in hydractl("token", "list", token=made).stdout
        assert hydractl("token", "revoke", "ci", token=tenant).returncode == 0
        assert hydractl("me", token=made).returncode == 2

        health = hydractl("health", token=operator).stdout
        assert "postgres" in health and "manage.py worker" in health
        assert hydractl("health", token=tenant).returncode == 2
