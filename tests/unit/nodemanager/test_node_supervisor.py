"""The supervisor's parts over real processes and pipes: what it takes over, what it kills, what it reads."""

import json
import selectors
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nodemanager import adoption, proctree
from nodemanager.cgroups import Cgroups
from nodemanager.launch import Order
from nodemanager.task import Task


@pytest.fixture
def selector() -> Iterator[selectors.BaseSelector]:
    with selectors.DefaultSelector() as made:
        yield made


def order(folder: Path, cid: int = 1, **changes: Any) -> Order:
    for name in ("work", "logs"):
        (folder / name).mkdir(parents=True)
    values: dict[str, Any] = {"id": cid, "argv": ["true"], "env": {}, "folder": str(folder), "meta": {"name": "c"}}
    return Order(**(values | changes))


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process of somebody else, the first of its session."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def left_behind(folder: Path, selector: selectors.BaseSelector, pid: int, ticks: int, boot: str) -> Task:
    """The container of a spec that an earlier supervisor wrote."""
    made = order(folder / "c-1")
    spec = {"order": asdict(made), "pid": pid, "ticks": ticks, "boot": boot, "unix": time.time()}
    (folder / "c-1" / "spec.json").write_text(json.dumps(spec))
    (task,) = adoption.load(str(folder), selector, Cgroups())
    return task


@pytest.mark.parametrize("boot", ["", "another"])
def test_whoever_has_the_number_of_a_dead_task_now_is_not_touched(
    tmp_path: Path, selector: selectors.BaseSelector, stranger: "subprocess.Popen[bytes]", boot: str
) -> None:
    task = left_behind(tmp_path, selector, stranger.pid, 1, boot or proctree.boot_id())
    assert task.ended == {"unknown": True} | {"ran_ms": task.ended["ran_ms"]}  # type: ignore[index]
    assert task.tree.members() == set()


def test_a_task_whose_process_was_never_recorded_has_no_processes_of_others(
    tmp_path: Path, selector: selectors.BaseSelector
) -> None:
    task = left_behind(tmp_path, selector, 0, 0, proctree.boot_id())
    assert task.tree.members() == set()  # and not those of session 0, the kernel's own
