"""Commands in containers: their frames and windows, and what the supervisor starts for whom."""

import json
import os
import selectors
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nodemanager import entering, launch
from nodemanager.cgroups import Cgroups
from nodemanager.entering import Entrance
from nodemanager.launch import LaunchContext
from nodemanager.task import Task
from tests.patience import wait_until
from wire import execs
from wire.execs import End, ExecError, Kind, Start, Windows


def test_frames_are_read_as_they_were_written() -> None:
    start = Start("c-1-1-1", ["sh", "-c", "é" * (execs.COMMAND_MAX // 2)], True, 50, 120, "xterm-256color")
    forward = Start("c-1-1-1", [], ports=[80, 65_535])
    assert b"ports" not in execs.start(start), "an older node knows none"
    for data, kind, read, value in (
        (execs.start(start), Kind.START, execs.start_of, start),
        (execs.start(forward), Kind.START, execs.start_of, forward),
        (execs.resize(50, 120), Kind.RESIZE, execs.size_of, (50, 120)),
        (execs.resize(0, 99_999), Kind.RESIZE, execs.size_of, (1, execs.SIZE_MAX)),
        (execs.credit(9), Kind.CREDIT, execs.credit_of, 9),
        (execs.end(End(code=3)), Kind.END, execs.end_of, End(code=3)),
        (execs.end(End(signal=9)), Kind.END, execs.end_of, End(signal=9)),
        (execs.failed("why" * 1000), Kind.END, execs.end_of, End(error=("why" * 1000)[:1000])),
    ):
        found, payload = execs.parse(data)
        assert (found, read(payload)) == (kind, value)
    assert [End(code=3).status, End(signal=9).status, End(error="x").status] == [3, 137, 255]


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x08", b"\xff", bytes(execs.FRAME_MAX + 1), b"\x02x", execs.start(Start("c", ["x"])),
        b"\x04\0", b"\x04\0\0\0\1", b"\x05", b"\x05\0\0\0\0", execs.credit(1), execs.frame(Kind.END, b"{}"),
        execs.frame(Kind.BEGUN),
    ],
)  # fmt: skip
def test_a_person_sends_nothing_but_input_sizes_and_credit_for_what_came(data: bytes) -> None:
    with pytest.raises(ExecError):
        Windows().from_person(data)


@pytest.mark.parametrize(
    "end",
    [
        b"", b"x", b"[]", b'{"code": "1"}', b'{"code": 256}', b'{"x": 1}', b'{"error": 1}',
        rb'{"error": "a\u0000b"}', rb'{"error": "\ud800"}',  # with which the audit log could not be written
    ],
)  # fmt: skip
def test_an_end_says_how_and_nothing_else(end: bytes) -> None:
    with pytest.raises(ExecError):
        Windows().from_node(execs.frame(Kind.END, end))


def test_no_direction_has_more_on_its_way_than_its_window_however_small_the_frames() -> None:
    for size in (0, 1, execs.DATA_MAX):
        windows, data = Windows(), execs.frame(Kind.STDOUT, bytes(size))
        sent = 0
        with pytest.raises(ExecError):
            while True:
                windows.from_node(data)
                sent += 1
        assert 0 < sent * (size + execs.OVERHEAD) <= execs.WINDOW
        windows.from_person(execs.credit(execs.cost_of(data)))
        assert windows.from_node(data) is Kind.STDOUT, "there is room again"
        with pytest.raises(ExecError):
            windows.from_person(execs.credit(execs.WINDOW))


class Loop:
    """A supervisor's loop with one container, as far as commands in it need one."""

    def __init__(self, folder: Path) -> None:
        self.selector = selectors.DefaultSelector()
        self.tasks: dict[int, Task] = {}
        self.entrance = Entrance(self.selector, self.tasks, Cgroups())
        self.path = str(folder / "exec.sock")
        self.entrance.listen(self.path)
        for name in ("work", "logs"):
            (folder / name).mkdir()
        context = LaunchContext(
            5, ["sleep", "600"], {"PATH": os.environ["PATH"], "A": "b"}, str(folder), meta={"name": "c"}
        )
        self.task = self.tasks[5] = Task(context, self.selector, Cgroups())
        self.task.start(lambda error: None)
        wait_until(lambda: self.hear() or not self.task.reporting, 10, "its command runs")

    def ask(self, *command: str, container: int = 5, **more: Any) -> tuple[socket.socket, int]:
        """The connection that stands for the command, and what it writes."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(self.path)
        read, write = os.pipe()
        order = {"container": container, "command": command, "env": {}} | more
        null = os.open("/dev/null", os.O_RDONLY)
        socket.send_fds(connection, [json.dumps(order).encode()], [null, write, write])
        os.close(write)
        os.close(null)
        connection.setblocking(False)
        return connection, read

    def turn(self) -> None:
        self.hear()
        self.entrance.check(time.monotonic())
        self.reap()

    def hear(self) -> None:
        for key, mask in self.selector.select(0.01):
            key.data(mask)

    def reap(self) -> None:
        for pid in list(self.entrance.by_pid):
            if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                tell = self.entrance.ended(pid)
                assert tell is not None
                tell(os.waitpid(pid, 0)[1])

    def said(self, connection: socket.socket) -> dict[str, Any]:
        def look() -> dict[str, Any]:
            self.turn()
            try:
                return dict(json.loads(connection.recv(4096)))
            except BlockingIOError:
                return {}

        return wait_until(look, 10, "the supervisor says something")


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[Loop]:
    made = Loop(tmp_path)
    yield made
    made.task.tree.kill()
    os.waitpid(made.task.pid, 0)
    made.task.streams.close()
    made.selector.close()


def test_a_command_runs_as_the_containers_own_and_its_end_is_told(loop: Loop) -> None:
    connection, read = loop.ask("sh", "-c", "echo $A $HYDRA_CONTAINER_ID; pwd; exit 3")
    assert loop.said(connection) == {"begun": True}
    assert loop.said(connection) == {"code": 3}
    assert os.read(read, 4096).decode().splitlines() == ["b c", loop.task.context.work]
    absent, _ = loop.ask("no-such-command")
    why = "No such file or directory: no-such-command, nowhere in PATH"
    assert loop.said(absent) == {"error": f"the command could not be started: {why}", "code": 127}
    (Path(loop.task.context.work) / "text").write_text("x")
    barred, _ = loop.ask("./text")
    assert loop.said(barred) == {"error": "the command could not be started: Permission denied: ./text", "code": 126}
    hasty, _ = loop.ask("no-such-command")
    wait_until(lambda: loop.hear() or loop.entrance.by_pid, 10, "it is forked")
    os.waitid(os.P_PID, *loop.entrance.by_pid, os.WEXITED | os.WNOWAIT)
    loop.reap()
    assert "No such file or directory" in loop.said(hasty)["error"], "its end was seen before what it had said"
    elsewhere, _ = loop.ask("true", container=6)
    assert "has not started yet, or has ended" in loop.said(elsewhere)["error"]
    loop.task.reporting = True  # forked, it has the supervisor's environment until its command runs
    early, _ = loop.ask("env")
    assert "has not started yet" in loop.said(early)["error"]


def test_what_a_terminal_brings_gives_way_to_what_the_job_has_set_but_for_its_kind(loop: Loop) -> None:
    env, ours = {"TERM": "vt100", "HYDRA_CONTAINER_ID": "x"}, {"A": "prompt", "PS1": "prompt"}
    connection, read = loop.ask("sh", "-c", "echo $A $PS1 $TERM", env=env, unless_set=ours)
    assert [loop.said(connection) for _ in range(2)] == [{"begun": True}, {"code": 0}]
    assert os.read(read, 4096) == b"b prompt vt100\n"


def test_a_command_ends_with_its_connection_and_is_the_containers(loop: Loop) -> None:
    connection, _ = loop.ask("sh", "-c", "trap '' HUP; sleep 600")
    assert loop.said(connection) == {"begun": True}
    (pid,) = loop.entrance.by_pid
    assert pid in loop.task.tree.members({loop.task.pid}), "it is killed with the container"
    assert loop.entrance.due() == float("inf")
    connection.close()
    wait_until(lambda: loop.turn() or loop.entrance.due() < float("inf"), 10, "it has its signal")
    loop.entrance.by_pid[pid].kill_at = 0.0  # its grace is over
    wait_until(lambda: loop.turn() or not loop.entrance.by_pid, 10, "it has been killed")


def test_who_asks_is_told_which_processes_a_container_has(loop: Loop) -> None:
    connection, _ = loop.ask("sleep", "600")
    assert loop.said(connection) == {"begun": True}
    (entered,) = loop.entrance.by_pid
    for container, said in ((5, {"pids": sorted((entered, loop.task.pid))}), (6, {"error": entering.IDLE})):
        asks = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        asks.connect(loop.path)
        asks.send(json.dumps({"container": container, "members": True}).encode())
        asks.setblocking(False)
        assert loop.said(asks) == said
        asks.close()
    connection.close()


def test_with_the_container_a_command_ends_and_says_so(loop: Loop) -> None:
    connection, _ = loop.ask("sleep", "600")
    assert loop.said(connection) == {"begun": True}
    loop.task.stop(0.0)
    assert loop.said(connection) == {"error": "the container has ended"}


def test_nobody_but_the_agents_user_orders_commands(loop: Loop) -> None:
    assert Path(loop.path).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_a_task_that_puts_a_link_in_place_of_its_folder_leads_nobody_elsewhere() -> None:
    """A command enters the folder as the task's user, who is led where he may go himself."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "closed").mkdir(mode=0o700)
        (folder / "work").symlink_to(folder / "closed")
        context = LaunchContext(5, ["pwd"], {"PATH": os.environ["PATH"]}, name, uid=65534)
        read, write = os.pipe()
        pid, report = launch.enter(context, (read, write, write), [])
        os.waitpid(pid, 0)
        os.close(write)
        assert b"Permission denied" in os.read(report, 4096) and os.read(read, 4096) == b""
        os.close(report)
        os.close(read)
