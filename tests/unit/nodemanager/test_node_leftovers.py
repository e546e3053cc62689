"""What a tenant's tasks leave where everybody may write goes with the last of them."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nodemanager import leftovers
from nodemanager.leftovers import Leftovers, Users
from tests.patience import wait_until

USER, SEALED, OTHER = 234_567, 284_567, 234_568
_IPC_SET = 1
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root has others' files")


def users_of(uid: int) -> Users:
    return frozenset((USER, SEALED)) if uid in (USER, SEALED) else frozenset((uid,))


def as_user(uid: int, left: Path) -> int:
    """Leaves a file, a folder, a file in another's folder, and a segment of shared memory; its number."""
    inner, outer = os.pipe()
    if (pid := os.fork()) == 0:
        try:
            os.setresuid(uid, uid, uid)
        except OSError:
            os._exit(3)
        try:
            (left / f"file-{uid}").write_text("x")
            (left / f"folder-{uid}" / "below").mkdir(parents=True)
            (left / "shared" / f"given-{uid}").write_text("x")
            os.write(outer, str(given_away(ctypes.CDLL(None).shmget(0, 4096, 0o1600))).encode())
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    os.close(outer)
    with os.fdopen(inner) as told:
        if os.waitstatus_to_exitcode(status) == 3:
            pytest.skip("this host has no other users")
        return int(told.read())


def given_away(number: int) -> int:
    """A segment is said to be root's, which its maker may say."""
    described = ctypes.create_string_buffer(256)
    libc = ctypes.CDLL(None)
    assert libc.shmctl(number, 2, described) == 0  # IPC_STAT: its key, then the numbers of user and group
    described[4:8] = (0).to_bytes(4, "little")
    assert libc.shmctl(number, _IPC_SET, described) == 0
    return number


def segments() -> set[int]:
    return {int(line.split()[1]) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]}


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "left"
    for folder in (found, found / "shared"):
        folder.mkdir()
        folder.chmod(0o1777)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(folder.stat().st_mode | 0o011)
    monkeypatch.setattr(leftovers, "FOLDERS", (str(found), "/nowhere"))
    return found


@pytest.fixture
def swept(tmp_path: Path) -> Leftovers:
    (tmp_path / "containers").mkdir()
    return Leftovers(tmp_path / "containers", users_of, threading.Event())


@contextmanager
def running(uid: int) -> Iterator[None]:
    begun, end = os.pipe()
    if (pid := os.fork()) == 0:
        os.setresuid(uid, uid, uid)
        os.close(end)
        os.read(begun, 1)
        os._exit(0)
    try:
        wait_until(lambda: Path(f"/proc/{pid}").stat().st_uid == uid, what="it runs as the user")
        yield
    finally:
        os.close(end)
        os.waitpid(pid, 0)
        os.close(begun)


def things(left: Path) -> set[str]:
    return {path.name for path in left.iterdir() if path.name != "shared"}


def test_what_a_tenant_has_left_goes_and_nothing_of_others(left: Path, swept: Leftovers) -> None:
    mine, theirs = as_user(USER, left), as_user(OTHER, left)
    swept.sweep()
    assert len(things(left)) == 4, "nothing has ended"
    swept.ended(USER)
    swept.sweep()
    assert things(left) == {f"file-{OTHER}", f"folder-{OTHER}"}
    assert {path.name for path in (left / "shared").iterdir()} == {f"given-{USER}", f"given-{OTHER}"}
    assert theirs in segments() and mine not in segments()
    swept.ended(OTHER)
    swept.sweep()
    assert not things(left) and theirs not in segments()


@pytest.mark.parametrize("other", [USER, SEALED])
def test_nothing_goes_while_something_of_the_tenant_runs(left: Path, swept: Leftovers, other: int) -> None:
    as_user(USER, left)
    with running(other):
        swept.ended(USER)
        swept.sweep()
        assert len(things(left)) == 2
    swept.ended(other)
    swept.sweep()
    assert not things(left)


@pytest.mark.parametrize("other", [USER, SEALED])
def test_nothing_goes_while_the_tenant_has_a_container(
    left: Path, swept: Leftovers, tmp_path: Path, other: int
) -> None:
    """One that is about to start has a folder, and no process yet."""
    as_user(USER, left)
    work = tmp_path / "containers" / "one" / "work"
    work.mkdir(parents=True)
    os.chown(work, other, other)
    swept.ended(USER)
    swept.sweep()
    assert len(things(left)) == 2
    work.rmdir()
    swept.ended(USER)
    swept.begins(other)
    swept.sweep()
    assert len(things(left)) == 2
    swept.ended(other)
    swept.sweep()
    assert not things(left)


def test_it_goes_by_itself(left: Path, swept: Leftovers) -> None:
    as_user(USER, left)
    swept.start()
    swept.ended(USER)
    wait_until(lambda: not things(left), what="what was left goes")
    swept._stopping.set()
    swept._wake.set()
