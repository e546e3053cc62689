"""A pytest plugin: a state folder for this run, known to the settings before Django reads them.

The embedded stores start with the first test that needs them (fixture
``stores``). With DATABASE_URL and REDIS_URL set, those are used instead. Of
several processes that share a run (``-n``) each has a folder and stores of its own.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane import heap
from controlplane.embedded import stack
from controlplane.embedded.home import Home
from tests import made

ROOT = Path(__file__).resolve().parent.parent
heap.relax()
DERIVED = "HYDRA_TEST_DERIVED"  # names of the settings below; those of the process that started this one are not ours
for _name in os.environ.pop(DERIVED, "").split():
    os.environ.pop(_name, None)
ORIGINAL = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}


def _prepare() -> Home:
    """Secrets, ports and environment of a fresh folder; nothing is started."""
    os.environ["HYDRA_HOME"] = tempfile.mkdtemp(prefix="hydra-test-")
    os.environ.setdefault("HYDRA_VENV", sys.prefix)
    home = Home.from_environment()
    home.create()
    if made.shared():
        made.copy_secrets(home)
    home.secrets(create=True)
    home.ports(create=True)
    home.prepare("test")
    os.environ[DERIVED] = " ".join(name for name, value in os.environ.items() if ORIGINAL.get(name) != value)
    return home


HOME = _prepare()


def bare_environment() -> dict[str, str]:
    """The environment as it was before this plugin, for processes that are to find their own folder."""
    dropped = ("DATABASE_URL", "REDIS_URL", "HYDRA_")
    kept = {name: value for name, value in ORIGINAL.items() if not name.startswith(dropped)}
    return kept | {"HYDRA_VENV": os.environ["HYDRA_VENV"]}


def migrated() -> bool:
    """Whether the database of this folder is a copy of one with all tables, which tests' own can be made from."""
    return made.shared() and HOME.uses_own_postgres(os.environ)


@pytest.fixture(scope="session")
def stores() -> Iterator[Home]:
    """Postgres and the two Valkeys, running for the rest of the session."""
    if HOME.uses_own_postgres(os.environ) or HOME.uses_own_redis(os.environ):
        if migrated():
            made.copy_database(HOME, bare_environment())
        stack.start(HOME, [], 0, detach=False, show=lambda _: None, stores=True)
    yield HOME
    stack.stop(HOME, lambda _: None)


def pytest_unconfigure() -> None:
    stack.stop(HOME, lambda _: None)
    shutil.rmtree(HOME.root, ignore_errors=True)
