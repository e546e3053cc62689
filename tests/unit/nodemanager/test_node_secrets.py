"""What a node does with secrets that it was given: bounded, complete, and never in place of its own names."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nodemanager.config import Config
from nodemanager.isolation import Isolation
from nodemanager.launchcontext import Confidential, launch_context
from nodemanager.lifecycle import Container
from nodemanager.localize import ENV_BYTES, Cache, Localizer, SecretError
from tests.unit.nodemanager.test_node_core import PLAIN, lease
from wire.template import Secret


def given(folder: Path, answer: dict[str, Any], *secrets: Secret) -> dict[str, str]:
    """The values by name, of what web answers."""
    http: Any = SimpleNamespace(request=lambda method, path: answer)
    template: Any = SimpleNamespace(secrets=secrets)
    localizer = Localizer(http, Cache(folder / "cache", 1 << 20), threading.Event())
    return localizer.secrets("c-1-1-1", template, str(folder), -1)


def test_what_a_task_is_told_is_bounded_and_whole(tmp_path: Path) -> None:
    both = Secret("a", env="A"), Secret("b", env="B")
    half = "é" * (ENV_BYTES // 4)
    assert given(tmp_path, {"secrets": {"a": half, "b": half}, "wrong": {}}, *both) == {"a": half, "b": half}
    with pytest.raises(SecretError, match="may come to 131,072: take some as files"):
        given(tmp_path, {"secrets": {"a": half, "b": half + "x"}, "wrong": {}}, *both)
    with pytest.raises(SecretError, match="the secret b was not given"):
        given(tmp_path, {"secrets": {"a": "x"}, "wrong": {}}, *both)
    assert given(tmp_path, {"secrets": {"a": "x"}, "wrong": {}}, Secret("a", path="key")) == {"a": "x"}
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_a_secret_takes_no_name_of_the_nodes_own(tmp_path: Path) -> None:
    container = Container(1, lease=lease(1), template=PLAIN)
    config, isolation = Config("http://x", "n", tmp_path), Isolation(separates_users=False, enforces=[], nproc=10)
    secret = Confidential(env={"HYDRA_JOB_ID": "7", "PGPASSWORD": "x"})
    env = launch_context(container, config, isolation, str(tmp_path), "west", secret).env
    assert env["PGPASSWORD"] == "x" and env["HYDRA_JOB_ID"] == str(lease(1).job_id)
