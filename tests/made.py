"""The state folder that others are copies of: initdb and migrations are half of what a first start costs.

Made once for all processes of a run, whose folder HYDRA_TEST_RECORD names; outside of a run, once for each process that
wants it.
"""

import atexit
import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from controlplane.embedded import stack
from controlplane.embedded.home import Home

_ROOT = Path(__file__).resolve().parent.parent


def shared() -> bool:
    """Whether a run's other processes share it, so that it is worth making for one of them."""
    return bool(os.environ.get("HYDRA_TEST_RECORD"))


def copy_secrets(home: Home) -> None:
    """Give a folder without secrets those of the database that it may get."""
    with _alone() as folder:
        _known(folder)
        shutil.copy2(folder / "secrets.json", home.root / "secrets.json")


def copy_database(home: Home, environ: Mapping[str, str]) -> None:
    """Give a folder with these secrets a database that holds the sub-cluster ``east`` and nothing else.

    environ: in which it is made.
    """
    shutil.copytree(_complete(environ) / "pg", home.root / "pg")


@functools.cache
def _folder() -> Path:
    if record := os.environ.get("HYDRA_TEST_RECORD"):
        return Path(record) / "made"
    own = Path(tempfile.mkdtemp(prefix="hydra-made-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own


@contextmanager
def _alone() -> Iterator[Path]:
    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _known(folder: Path) -> None:
    """The secrets are there."""
    if not (folder / "secrets.json").exists():
        known = Home(folder / "secret")
        known.create()
        known.join_token("east")
        (known.root / "secrets.json").rename(folder / "secrets.json")
        shutil.rmtree(known.root)
        known.remove_short()


def _complete(environ: Mapping[str, str]) -> Path:
    """A home with a database in which nothing runs."""
    with _alone() as folder:
        home = folder / "home"
        if not (folder / "complete").exists():
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            _known(folder)
            shutil.copy2(folder / "secrets.json", home / "secrets.json")
            _make(Home(home), environ)
            (folder / "complete").touch()
        return home


def _make(home: Home, environ: Mapping[str, str]) -> None:
    """As ``up`` would make it."""
    with mock.patch.dict(os.environ, {**environ, "HYDRA_HOME": str(home.root)}, clear=True):
        home.prepare("up")
        stack.start(home, [], 0, detach=False, show=lambda _: None, stores=True)
        try:
            command = [sys.executable, str(_ROOT / "manage.py"), "prepare", "--sub-clusters", "east"]
            subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.DEVNULL)
        finally:
            stack.stop(home, lambda _: None)
