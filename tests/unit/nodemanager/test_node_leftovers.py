"""What a tenant's tasks leave where everybody may write goes with the last of them."""

import ctypes
import os
import time
from pathlib import Path

import pytest

from nodemanager import leftovers
from tests.patience import wait_until

USER, OTHER = 234_567, 234_568
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has others' files")


def as_user(uid: int, left: Path) -> int:
    """Leaves a file, a folder and a segment of shared memory; its number, or -1 where users of others are not had."""
    inner, outer = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.setresuid(uid, uid, uid)
            (left / f"file-{uid}").write_text("x")
            (left / f"folder-{uid}" / "below").mkdir(parents=True)
            number = ctypes.CDLL(None).shmget(0, 4096, 0o1600)
        except BaseException:
            number = -1
        os.write(outer, str(number).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(outer)
    with os.fdopen(inner) as told:
        return int(told.read())


def segments() -> set[int]:
    return {int(line.split()[1]) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o1777)
    for folder in (tmp_path.parent, tmp_path.parent.parent, tmp_path.parent.parent.parent):
        folder.chmod(folder.stat().st_mode | 0o011)
    monkeypatch.setattr(leftovers, "FOLDERS", (str(tmp_path), "/nowhere"))
    return tmp_path


def test_what_a_user_has_left_goes_and_nothing_of_others(left: Path) -> None:
    mine, theirs = as_user(USER, left), as_user(OTHER, left)
    if min(mine, theirs) < 0:
        pytest.skip("this host has no other users")
    try:
        leftovers.clear(USER, time.time() - 60)
        assert len(list(left.iterdir())) == 4 and {mine, theirs} <= segments(), "it has changed since"
        leftovers.clear(USER, time.time() + 2)
        assert {each.name for each in left.iterdir()} == {f"file-{OTHER}", f"folder-{OTHER}"}
        assert theirs in segments() and mine not in segments()
    finally:
        leftovers.clear(OTHER, time.time() + 2)


def test_nothing_goes_while_something_of_the_user_runs(left: Path) -> None:
    if as_user(USER, left) < 0:
        pytest.skip("this host has no other users")
    begun, end = os.pipe()
    if (pid := os.fork()) == 0:
        os.setresuid(USER, USER, USER)
        os.close(end)
        os.read(begun, 1)
        os._exit(0)
    try:
        wait_until(lambda: Path(f"/proc/{pid}").stat().st_uid == USER, what="it runs as the user")
        leftovers.clear(USER, time.time() + 2)
        assert len(list(left.iterdir())) == 2
    finally:
        os.close(end)
        os.waitpid(pid, 0)
        os.close(begun)
    leftovers.clear(USER, time.time() + 2)
    assert not list(left.iterdir())
