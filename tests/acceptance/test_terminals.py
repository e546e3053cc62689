"""``hydractl`` at a terminal: a shell in a task, a list that is watched, log-ins."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests import hydractl
from tests.acceptance.cluster import Cluster
from tests.patience import wait_until
from tests.terminals import Terminal

pytestmark = pytest.mark.acceptance


@pytest.fixture
def env(cluster: Cluster, tmp_path: Path) -> dict[str, str]:
    """Of a person who is logged in nowhere."""
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}


@pytest.fixture
def tenants(cluster: Cluster, env: dict[str, str]) -> dict[str, str]:
    return env | {"HYDRA_URL": cluster.stack.url, "HYDRA_TOKEN": cluster.stack.token()}


def size(screen: Terminal) -> bytes:
    """As the shell has it."""
    screen.type("stty size\n")
    return screen.shows(rb"\n(\d+ \d+)\r")[1]


def test_a_shell_in_a_task_has_keys_and_size_and_hands_its_status_on(
    cluster: Cluster, tenants: dict[str, str], tmp_path: Path
) -> None:
    job = cluster.task_job("entered", cluster.gate("entered"))
    wait_until(lambda: [row[4] for row in cluster.live(job)] == [2], 20, "it is known to run")
    stale = {"COLUMNS": "90", "LINES": "30"}  # as some shells export them
    with Terminal(("exec", "-it", str(job.id), "sh"), tenants | stale, tmp_path, 40, 100) as screen:
        screen.shows(rb"%d/[a-z-]+/0[^\n]*\$ " % job.id)
        screen.type("echo $((6*7)) of $HYDRA_JOB_ID\n")
        screen.shows(rb"\n42 of %d\r" % job.id)
        assert size(screen) == b"40 100"
        screen.resize(50, 120)
        wait_until(lambda: size(screen) == b"50 120", 10, "the shell has the other size")
        screen.type("echo now; sleep 600\n")
        screen.shows(rb"\nnow\r")
        screen.type("\x03")
        screen.shows(rb"\^C\r")
        screen.type("echo was $?\n")
        screen.shows(rb"\nwas 130\r")
        screen.type("exit 7\n")
        assert screen.status() == 7
        assert screen.as_before


def test_a_watched_list_is_drawn_anew_in_place_and_left_by_control_c(
    cluster: Cluster, tenants: dict[str, str], tmp_path: Path
) -> None:
    job = cluster.task_job("watched", cluster.gate("watched"))
    words = ("jobs", "--watch", "0.2", "--name", "watched", "--columns", "job,state")
    with Terminal(words, tenants, tmp_path) as screen:
        screen.shows(rb"\b%d [^\n]*RUNNING" % job.id)
        screen.shows(rb"\x1b\[1A")
        cluster.open_gate("watched")
        screen.shows(rb"\b%d [^\n]*SUCCEEDED" % job.id)
        screen.type("\x03")
        assert screen.status() == 130
        assert b"Traceback" not in screen.seen
        assert screen.seen.rfind(b"\x1b[?25h") > screen.seen.rfind(b"\x1b[?25l"), "the cursor is there again"


def test_a_log_in_under_another_name_is_told_and_leaves_the_first_as_it_was(
    cluster: Cluster, env: dict[str, str], tmp_path: Path
) -> None:
    url, known = cluster.stack.url, cluster.stack.home.secrets()
    for context, account in (("default", "tenant"), ("ops", "operator")):
        with Terminal(("-c", context, "login", url), env, tmp_path) as screen:
            screen.shows(rb"Username: ")
            screen.type(f"{account}\n")
            screen.shows(rb"Password: ")
            screen.type(f"{known[f'{account}_password']}\n")
            screen.shows(rb"as %b. The current context is %b now" % (account.encode(), context.encode()))
            assert screen.status() == 0
            assert known[f"{account}_password"].encode() not in screen.seen

    def answer(*words: str) -> Any:
        return json.loads(hydractl.run((*words, "-o", "json"), env, cwd=tmp_path).stdout)

    assert [(c["name"], c["username"], c["current"]) for c in answer("contexts")] == [
        ("default", "tenant", False), ("ops", "operator", True),
    ]  # fmt: skip
    assert answer("me")["username"] == "operator"
    assert answer("-c", "default", "me")["username"] == "tenant"
    assert answer("use", "default")["context"] == "default"
    assert answer("me")["username"] == "tenant"
