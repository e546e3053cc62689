"""A pytest plugin: the processes of a run load and collect one after another.

At once, each would compile what all load, and rewrite the assertions of all tests: two thirds of what this takes.
"""

import fcntl
import os
from pathlib import Path
from typing import IO

import pytest

_turn: list[IO[str]] = []  # taken; it ends with the process at the latest


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    taken = open(Path(os.environ["HYDRA_TEST_RECORD"]) / "collecting", "w")  # noqa: SIM115
    fcntl.flock(taken, fcntl.LOCK_EX)
    _turn.append(taken)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """One that only tells others what to test collects nothing."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        _end()


def pytest_collection_finish() -> None:
    _end()


def _end() -> None:
    while _turn:
        _turn.pop().close()
