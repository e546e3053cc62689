"""Commands in containers: on a real node, through a real web process, by the SDK and by hydractl."""

import contextlib
import os
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from client import Client, HydraError
from client.execs import Piece, Running
from tests import hydractl
from tests.acceptance.cluster import Cluster, Start, browser
from tests.acceptance.conftest import STRANGER
from tests.patience import wait_until
from tests.processes import Pid, alive
from wire import execs
from wire.execs import Kind

pytestmark = pytest.mark.acceptance


@pytest.fixture
def task(cluster: Cluster) -> Start:
    """One that stays until its job is killed."""
    job = cluster.task_job("visited", "echo mine > found; " + cluster.gate("stay"), grace_s=1)
    return cluster.started(job, 1)[0]


def until(pieces: Iterator[Piece], pattern: bytes) -> bytes:
    """What is written until this is."""
    seen = b""
    for piece in pieces:
        seen += piece.data
        if re.search(pattern, seen):
            return seen
    raise AssertionError(f"{pattern!r} is not in {seen!r}")


def test_a_command_runs_beside_the_task_with_its_streams_and_status(
    cluster: Cluster, task: Start, tmp_path: Path
) -> None:
    what = 'cat found; echo "$HYDRA_CONTAINER_ID $PWD $HYDRA_WORK_DIR"; wc -c; id -u; cat /proc/self/cgroup; '
    what += "echo err >&2; exit 3"
    done = cluster.tenant.exec(task.container, ["sh", "-c", what], b"x" * 3_000_000)
    lines = done.stdout.decode().splitlines()
    mine, (name, folder, work), (size, uid), groups = lines[0], lines[1].split(), lines[2:4], lines[4:]
    assert (done.status, done.stderr, mine, name, size.strip()) == (3, b"err\n", "mine", task.container, "3000000")
    assert folder == work and int(uid) == Path(f"/proc/{task.pid}").stat().st_uid
    assert groups == Path(f"/proc/{task.pid}/cgroup").read_text().splitlines(), "its memory is the container's"
    flood = cluster.tenant.exec(task.container, ["head", "-c", "3000000", "/dev/zero"])
    assert (flood.status, flood.stdout) == (0, bytes(3_000_000))
    assert cluster.tenant.exec(task.container, ["sh", "-c", "kill -9 $$"]).status == 137
    with pytest.raises(HydraError, match="could not be started: No such file or directory"):
        cluster.tenant.exec(task.container, ["no-such-command"])
    (job,) = cluster.sql("SELECT job_id FROM statestore_container WHERE id = %s", task.number)[0]
    env = {"HYDRA_URL": cluster.stack.url, "HYDRA_TOKEN": cluster.stack.token(), "HOME": str(tmp_path)}
    shell = hydractl.run(("exec", str(job), "--", "sh", "-c", "cat; exit 4"), env, "said\n", tmp_path)
    assert (shell.returncode, shell.stdout) == (4, "said\n"), shell.stderr
    absent = hydractl.run(("exec", str(job), "--", "no-such-command"), env, "", tmp_path)
    assert absent.returncode == 127 and "could not be started: No such file" in absent.stderr, absent.stderr
    told = cluster.sql("SELECT after->>'command' FROM statestore_auditentry WHERE action = 'exec.begin'")
    assert ('["sh", "-c", "cat; exit 4"]',) in told
    (tmp_path / "tree" / "inner").mkdir(parents=True)
    (tmp_path / "tree" / "inner" / "file").write_bytes(b"y" * 500_000)
    for words in (("tree", f"{job}/main/0:copy"), (f"{job}:copy/inner", "back")):
        copied = hydractl.run(("cp", *words), env, "", tmp_path)
        assert copied.returncode == 0, copied.stderr
    nothing = hydractl.run(("cp", f"{job}:copy/none", "back"), env, "", tmp_path)
    assert nothing.returncode == 2 and "source: there is no copy/none in " in nothing.stderr, nothing.stderr
    assert (tmp_path / "back" / "file").read_bytes() == b"y" * 500_000
    wait_until(lambda: not _open(cluster), 10, "all are over")


def _open(cluster: Cluster) -> int:
    return int(cluster.sql("SELECT count(*) FROM statestore_exec WHERE ended_at IS NULL")[0][0])


def test_a_terminal_has_its_size_and_keys_and_ends_with_the_container(cluster: Cluster, task: Start) -> None:
    opened = cluster.tenant.open_exec(task.container, ["sh"], tty=True, rows=40, columns=100, term="vt100")
    with opened as running:
        pieces = running.pieces()
        running.say(b"tty; stty size; echo $TERM\n")
        assert until(pieces, rb"40 100\r\nvt100").count(b"/dev/pts/") == 1
        running.resize(50, 120)
        running.say(b"stty size\n")
        until(pieces, rb"50 120")
        running.say(b"echo now; sleep 600\n")
        until(pieces, rb"\nnow")
        running.say(b"\x03")
        until(pieces, rb"\^C\r\n")
        running.say(b"echo was $?\n")
        until(pieces, rb"was 130")
        running.say(b"exit 7\n")
        list(pieces)
        assert running.end is not None and running.end.status == 7
    left, pid = _sleeper(cluster.tenant, task)
    left.__exit__(None, None, None)
    wait_until(lambda: not alive(pid), 15, "nobody is there any more: it is ended")
    staying, pid = _sleeper(cluster.tenant, task)
    with staying:
        (job,) = cluster.sql("SELECT job_id FROM statestore_container WHERE id = %s", task.number)[0]
        cluster.tenant.kill(job)
        with pytest.raises(HydraError, match="the container has ended"):
            list(staying.pieces())
    assert not alive(pid)
    cluster.wait(job)
    with pytest.raises(HydraError, match="has ended"):
        cluster.tenant.exec(task.container, ["true"])


def _sleeper(client: Client, task: Start) -> tuple[Running, Pid]:
    running = client.open_exec(task.container, ["sh", "-c", "echo $$; exec sleep 600"])
    return running, Pid(int(next(running.pieces()).data))


# Says its port; sends back what has come once that has ended, which stays open the other way until then.
ECHO = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
def answer(connection):
    with connection:
        connection.sendall(b"".join(iter(lambda: connection.recv(65536), b"")))
while True:
    threading.Thread(target=answer, args=server.accept()[:1]).start()
"""


def test_ports_of_the_container_are_brought_here_and_no_others(cluster: Cluster, task: Start, tmp_path: Path) -> None:
    web = int(cluster.stack.url.rpartition(":")[2])
    payload, refused = os.urandom(1 << 20) * 4, list[tuple[int, str]]()
    with cluster.tenant.open_exec(task.container, ["python3", "-c", ECHO]) as server:
        port = int(next(server.pieces()).data)
        with cluster.tenant.port_forward(
            task.container, {port: 0, web: 0}, lambda *why: refused.append(why)
        ) as forward, ThreadPoolExecutor(3) as pool:  # fmt: skip
            here = forward.local[port]
            assert list(pool.map(_echoed, [here] * 3, [payload, b"", b"short"])) == [payload, b"", b"short"]
            assert _echoed(forward.local[web], b"GET / HTTP/1.0\r\n\r\n") == b"", "the node's other services are not"
            wait_until(lambda: refused, 10, "why is told")
            env = {"HYDRA_URL": cluster.stack.url, "HYDRA_TOKEN": cluster.stack.token(), "HOME": str(tmp_path)}
            taken = hydractl.run(("port-forward", task.container, f"{here}:{port}"), env, "", tmp_path)
            assert taken.returncode == 2 and "Address already in use" in taken.stderr, taken.stderr
            (job,) = cluster.sql("SELECT job_id FROM statestore_container WHERE id = %s", task.number)[0]
            cluster.tenant.kill(job)
            with pytest.raises(HydraError, match="the container has ended"):
                forward.wait()
    assert refused == [(web, f"nothing of the container listens on port {web}")]
    told = cluster.sql("SELECT after->>'ports' FROM statestore_auditentry WHERE action = 'forward.begin'")
    assert told == [(f"[{port}, {web}]",)]


def _echoed(port: int, data: bytes) -> bytes:
    """What comes back of it, once it has been said and nothing more will be."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        writer = threading.Thread(target=_said, args=(connection, data))
        writer.start()
        found = bytearray()
        with contextlib.suppress(ConnectionResetError):  # as one that is refused before all is read
            while part := connection.recv(65_536):
                found += part
        writer.join()
    return bytes(found)


def _said(connection: socket.socket, data: bytes) -> None:
    with contextlib.suppress(OSError):  # it may be refused meanwhile
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def test_nobody_else_gets_in(cluster: Cluster, task: Start, stranger: str) -> None:
    base, path = cluster.stack.url, f"/api/v1/containers/{task.container}/exec"
    order = {"command": ["echo", "secret"]}
    own = {"Authorization": f"Token {cluster.stack.token()}"}
    begun = httpx.post(base + path, json=order, headers=own, trust_env=False).json()
    foreign = {"Authorization": f"Token {stranger}"}
    for what, body in (("exec", order), ("forward", {"ports": [80]})):
        refused = httpx.post(f"{base}/api/v1/containers/{task.container}/{what}", json=body, headers=foreign)
        assert refused.status_code == 404
    socket = "ws" + base.removeprefix("http") + begun["socket"]
    node = socket.replace("/ws/v1/", "/node/v1/")
    for url, headers in ((socket, foreign), (socket, {}), (node, {"Authorization": "Node 1:guessed"}), (node, own)):
        with pytest.raises(InvalidStatus), connect(url, additional_headers=headers, proxy=None):
            pass
    with connect(socket, additional_headers=own, proxy=None) as mine:
        assert execs.frame(Kind.STDOUT, b"secret\n") in list(mine)
    with pytest.raises(InvalidStatus), connect(socket, additional_headers=own, proxy=None):
        pass  # it was good once


def test_a_page_of_ours_has_its_account_and_no_other_page(cluster: Cluster, task: Start) -> None:
    base, path = cluster.stack.url, f"/api/v1/containers/{task.container}/exec"
    with browser(cluster, *STRANGER) as other:
        foreign = other.cookies["sessionid"]
    with browser(cluster, "tenant", cluster.stack.home.secrets()["tenant_password"]) as owner:
        headers = {"X-CSRFToken": owner.cookies["csrftoken"], "Origin": base}
        assert owner.post(path, json={"command": ["true"]}, headers={"Origin": base}).status_code == 403
        begun = owner.post(path, json={"command": ["echo", "seen"]}, headers=headers).json()
        session = owner.cookies["sessionid"]
    socket = "ws" + base.removeprefix("http") + begun["socket"]
    elsewhere = (None, "null", "http://127.0.0.1:1", "https" + base.removeprefix("http"), base + ".example")
    tried = [(session, origin) for origin in elsewhere] + [(foreign, base), ("guessed", base)]
    for cookie, origin in tried:
        with pytest.raises(InvalidStatus), _as_browser(socket, cookie, origin):
            pass
    with _as_browser(socket, session, base) as mine:
        assert execs.frame(Kind.STDOUT, b"seen\n") in list(mine)


def _as_browser(socket: str, session: str, origin: str | None) -> ClientConnection:
    return connect(
        socket,
        additional_headers={"Cookie": f"sessionid={session}"},
        origin=Origin(origin) if origin else None,
        proxy=None,
    )
