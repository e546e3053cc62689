"""The supervisor's parts over real processes and pipes: what it takes over, what it kills, what it reads."""

import errno
import json
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from nodemanager import adoption, jsonfiles, procfs
from nodemanager.capture import STREAMS
from nodemanager.cgroups import Cgroups
from nodemanager.isolation import marker_gid
from nodemanager.launch import LaunchContext
from nodemanager.runtimes import RuntimeEvent
from nodemanager.runtimes.process import START_S, ProcessRuntime
from nodemanager.supervisor import Supervisor
from nodemanager.task import Task
from tests.patience import stretched, wait_until


@pytest.fixture
def selector() -> Iterator[selectors.BaseSelector]:
    with selectors.DefaultSelector() as made:
        yield made


def order(folder: Path, cid: int = 1, **changes: Any) -> LaunchContext:
    for name in ("work", "logs"):
        (folder / name).mkdir(parents=True)
    values: dict[str, Any] = {"id": cid, "argv": ["true"], "env": {}, "folder": str(folder), "meta": {"name": "c"}}
    return LaunchContext(**(values | changes))


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
    spec = {"order": asdict(made), "pid": pid, "ticks": ticks, "boot": boot}
    (folder / "c-1" / "spec.json").write_text(json.dumps(spec))
    (task,) = adoption.load(str(folder), selector, Cgroups())
    return task


@pytest.mark.parametrize("boot", ["", "another"])
def test_whoever_has_the_number_of_a_dead_task_now_is_not_touched(
    tmp_path: Path, selector: selectors.BaseSelector, stranger: "subprocess.Popen[bytes]", boot: str
) -> None:
    task = left_behind(tmp_path, selector, stranger.pid, 1, boot or procfs.boot_id())
    assert task.ended == {"unknown": True} | {"ran_ms": task.ended["ran_ms"]}  # type: ignore[index]
    assert task.tree.members() == set()


def test_a_process_that_cannot_be_watched_is_ended(
    tmp_path: Path,
    selector: selectors.BaseSelector,
    stranger: "subprocess.Popen[bytes]",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when no descriptor is left: unlisted, it would run on while its container starts anew elsewhere."""

    def none_left(pid: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(os, "pidfd_open", none_left)
    found = procfs.read(stranger.pid)
    assert found is not None
    task = left_behind(tmp_path, selector, stranger.pid, found.start_ticks, procfs.boot_id())
    told: list[dict[str, Any]] = []
    wait_until(lambda: task.check(time.monotonic(), set(), told.append) or told, 10, "its end is told")
    assert told[0]["exit"]["unknown"] and stranger.wait(stretched(10)) == -signal.SIGKILL


def test_a_task_whose_process_was_never_recorded_has_no_processes_of_others(
    tmp_path: Path, selector: selectors.BaseSelector
) -> None:
    task = left_behind(tmp_path, selector, 0, 0, procfs.boot_id())
    assert task.tree.members() == set()  # and not those of session 0, the kernel's own


def test_a_task_whose_number_cannot_be_written_down_does_not_run_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the two writes of its spec the disk becomes full."""
    (tmp_path / "containers").mkdir()
    supervisor = Supervisor(str(tmp_path), str(tmp_path / "containers"), "", 60.0)
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(supervisor, "send", said.append)
    write, written = jsonfiles.write_json, []

    def full(path: str, value: Any, durable: bool = False) -> None:
        written.append(path)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, value, durable)

    monkeypatch.setattr(jsonfiles, "write_json", full)
    made = order(tmp_path / "containers" / "c-1", argv=["/bin/sleep", "600"])
    supervisor.op_start({"order": asdict(made)})
    pid = supervisor.tasks[1].pid

    def ended() -> bool:
        supervisor.reap()
        supervisor.check(time.monotonic())
        return any(news["ev"] != "sample" for news in said)

    try:
        wait_until(ended, 10)
    finally:
        subprocess.run(["kill", "-9", str(pid)], check=False, capture_output=True)
    told = [(news["ev"], news["error"]) for news in said if news["ev"] != "sample"]
    assert told == [("start_failed", "[Errno 28] No space left on device")]
    assert procfs.read(pid) is None


@pytest.fixture
def runtime(
    tmp_path: Path, selector: selectors.BaseSelector, request: pytest.FixtureRequest
) -> Iterator[ProcessRuntime]:
    """An agent's end of a real supervisor; ``heard`` is what it tells. The parameter: further settings of it."""
    (tmp_path / "run").mkdir()
    (tmp_path / "containers").mkdir()
    heard: list[RuntimeEvent] = []
    settings = {"cgroup": "", "max_disconnect_s": 1.0} | getattr(request, "param", {})
    made = ProcessRuntime(
        root=tmp_path, containers=tmp_path / "containers", selector=selector, on_event=heard.append, **settings
    )
    made.heard = heard  # type: ignore[attr-defined]
    yield made
    made.close(quit_runtime=True)
    if made.child is not None:
        made.child.kill()
        made.child.wait()


def heard(runtime: ProcessRuntime, *kinds: str) -> list[RuntimeEvent]:
    """All news of these kinds so far, after a turn of the agent's loop."""
    runtime.tick(time.monotonic())
    for key, mask in runtime.selector.select(0.05):
        key.data(mask)
    return [news for news in runtime.heard if news.kind in kinds]  # type: ignore[attr-defined]


def listed(runtime: ProcessRuntime) -> list[int]:
    """The containers that the supervisor says it holds, when it has been found."""

    (news,) = wait_until(lambda: heard(runtime, "list", "down"), 20)
    assert news.kind == "list"
    return [record.container_id for record in news.containers]


def test_a_supervisor_that_cannot_be_started_is_tried_again(runtime: ProcessRuntime) -> None:
    log = runtime.root / "run" / "supervisor.log"
    log.mkdir()  # nothing can be written there, as on a disk that has failed
    runtime.tick(time.monotonic())
    assert runtime.child is None
    log.rmdir()
    runtime.tick(time.monotonic() + START_S + 1.0)
    assert listed(runtime) == []


def write_spec(folder: Path, cid: int, pid: int, **changes: Any) -> None:
    """What an earlier supervisor wrote of a container that runs as this process."""
    made = order(folder / f"c-{cid}", cid, **changes)
    for stream in STREAMS:
        os.mkfifo(f"{made.logs}/{stream}.pipe")
    process = procfs.read(pid)
    assert process is not None
    spec = {"order": asdict(made), "pid": pid, "ticks": process.start_ticks, "boot": procfs.boot_id()}
    (folder / f"c-{cid}" / "spec.json").write_text(json.dumps(spec))


def test_as_many_containers_are_taken_over_as_the_machine_has_files_for(
    runtime: ProcessRuntime, stranger: "subprocess.Popen[bytes]"
) -> None:
    for cid in range(1, 101):
        write_spec(runtime.containers, cid, stranger.pid)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    try:
        runtime.tick(time.monotonic())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert sorted(listed(runtime)) == list(range(1, 101))


def test_a_list_longer_than_a_line_may_be_is_told_in_parts(
    runtime: ProcessRuntime, stranger: "subprocess.Popen[bytes]"
) -> None:
    outputs = [[f"o{i}", "x" * 1024, True] for i in range(256)]  # as many and as long as a job may name
    for cid in range(1, 41):
        write_spec(runtime.containers, cid, stranger.pid, meta={"name": f"c-{cid}", "outputs": outputs})
    assert sorted(listed(runtime)) == list(range(1, 41))


HOG = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        grow = "import time; kept = bytearray(b'x' * (96 << 20)); time.sleep(600)"
        os.execve("/usr/bin/python3", ["python3", "-c", grow], {} if "WIPE" in os.environ else dict(os.environ))
    os._exit(0)
os.wait()
time.sleep(600)
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: tasks get users of their own")


@pytest.mark.parametrize("uid", [pytest.param(200_017, marks=needs_root), -1])
def test_a_hog_that_has_forked_twice_counts_for_its_container(runtime: ProcessRuntime, uid: int) -> None:
    """Where memory is measured: by the marker group where tasks have users of their own, else by its environment."""
    hog, calm = runtime.containers / "c-1", runtime.containers / "c-2"
    env = {"HYDRA_CONTAINER_ID": "c"} | ({"WIPE": "1"} if uid >= 0 else {})
    changes = {"uid": uid, "marker_gid": marker_gid(str(hog)) if uid >= 0 else -1, "memory_bytes": 64 << 20}
    listed(runtime)
    runtime.start(order(calm, 2, argv=["/bin/sleep", "600"], memory_bytes=64 << 20, meta={"name": "other"}))
    runtime.start(order(hog, argv=["/usr/bin/python3", "-c", HOG], env=env, **changes))
    try:
        ended = [end for end in wait_until(lambda: heard(runtime, "exit"), 20, "its container ends") if end.exit]
        assert [(end.container_id, end.exit and end.exit.over_memory) for end in ended] == [(1, True)]
    finally:
        for cid in (1, 2):
            runtime.stop(cid, 0.0)
        wait_until(lambda: len(heard(runtime, "exit")) == 2, 20, "both end")


@pytest.mark.parametrize(
    "runtime", [{"cgroup": f"test-{os.getpid()}", "cpu_quota": q} for q in (True, False)], indirect=True
)
def test_a_quota_holds_a_task_back_even_where_processors_idle(runtime: ProcessRuntime) -> None:
    listed(runtime)
    made = order(runtime.containers / "c-1", argv=["/bin/sh", "-c", "while :; do :; done"], cpu_milli=200)
    runtime.start(made)
    try:
        wait_until(lambda: heard(runtime, "started"), 20)
        groups = (Path(folder) for folder, _, _ in os.walk("/sys/fs/cgroup"))  # skips others' that end meanwhile
        of_task = (group / "cpu.stat" for group in groups if group.parts[-2:] == (f"hydra-{runtime.cgroup}", "c1"))
        stat = next(filter(Path.exists, of_task), None)
        if stat is None:
            pytest.skip("no control group of processors can be made here")
        pid = json.loads((Path(made.folder) / "spec.json").read_text())["pid"]
        wait_until(lambda: (p := procfs.read(pid)) and p.cpu_ms >= 300, 30, "it has worked for a while")
        counts = dict(line.split() for line in stat.read_text().splitlines())
        assert (int(counts["nr_throttled"]) > 0) == runtime.cpu_quota
    finally:
        runtime.stop(1, 0.0)
        wait_until(lambda: heard(runtime, "exit"), 20, "it ends")
        runtime.close(quit_runtime=True)
        assert runtime.child is not None and runtime.child.wait(stretched(20)) == 0, "it removes its groups"
