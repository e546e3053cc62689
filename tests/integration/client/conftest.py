"""One stack of one sub-cluster for all of these tests: they add jobs, and leave the policy as it was."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client import Client
from tests import hydractl as client
from tests.homes import ready_made
from tests.machine import FACTOR
from tests.stack import UNHURRIED, Stack

ROOT = Path(__file__).parents[3]
Hydractl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(
        ready_made(tmp_path_factory.mktemp("cluster") / "home"), sub_clusters=1, nodes=2, environ=UNHURRIED
    ) as running:
        yield running


@pytest.fixture(scope="module")
def hydra(cluster: Stack) -> Client:
    return cluster.client()


@pytest.fixture(scope="module")
def hydractl(cluster: Stack, tmp_path_factory: pytest.TempPathFactory) -> Hydractl:
    """The client, logged in as the tenant by the launcher at the repository's root; run in an empty folder."""
    here = tmp_path_factory.mktemp("person")
    env = {"PATH": os.environ["PATH"], "HOME": str(here), "HYDRA_VENV": sys.prefix}
    done = subprocess.run(
        [str(ROOT / "hydractl"), "login", cluster.url, "-u", "tenant", "--password-stdin"],
        env=env, cwd=here, input=cluster.home.secrets()["tenant_password"] + "\n",
        capture_output=True, text=True, timeout=120 * FACTOR, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr

    def run(*words: str, stdin: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
        return client.run(words, env | environ, stdin, here)

    return run
