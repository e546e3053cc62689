"""State folders whose database is made already: initdb and migrations are half of what a stack's first start costs."""

import atexit
import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

from controlplane.embedded import stack
from controlplane.embedded.home import Home
from tests.stores import ROOT, bare_environment


def ready_made(folder: Path) -> Path:
    """Fill a folder that does not exist yet with a database that holds the sub-cluster ``east`` and nothing else."""
    home = Home(folder.absolute())
    home.create()
    for name in ("pg", "secrets.json"):
        source, target = _made() / name, home.root / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
    return folder


@functools.cache
def _made() -> Path:
    """The folder that the others are copies of, made once for all processes of a run."""
    if record := os.environ.get("HYDRA_TEST_RECORD"):
        return _made_in(Path(record) / "made")
    own = Path(tempfile.mkdtemp(prefix="hydra-made-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return _made_in(own)


def _made_in(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (done := folder / "complete").exists():
            shutil.rmtree(folder / "home", ignore_errors=True)
            _make(Home(folder / "home"))
            done.touch()
    return folder / "home"


def _make(home: Home) -> None:
    """As ``up`` would make it."""
    with mock.patch.dict(os.environ, bare_environment() | {"HYDRA_HOME": str(home.root)}, clear=True):
        home.prepare("up")
        home.join_token("east")
        stack.start(home, [], 0, detach=False, show=lambda _: None, stores=True)
        try:
            command = [sys.executable, str(ROOT / "manage.py"), "prepare", "--sub-clusters", "east"]
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        finally:
            stack.stop(home, lambda _: None)
