"""A node that shares neither network nor files with the control plane: all it needs travels over HTTP and Redis."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.acceptance import afterwards
from tests.acceptance.cluster import Cluster
from tests.acceptance.relay import Relay
from tests.patience import let_pass, wait_until
from tests.stack import UNHURRIED
from tests.stores import ROOT

CENSUS = ROOT / "examples" / "stdlib-census" / "job.yaml"
SOME_MODULES = "import map; every = map.sources; map.sources = lambda where: every(where)[300:350]; map.main()"
OURS, THEIRS = "10.231.77.1", "10.231.77.2"
# Mounts an empty folder over the control plane's, then becomes the node manager.
HIDE = 'mount -t tmpfs -o size=4k none "$0" && exec "$@"'
# A listening socket stays in the network it was made in, whoever has it.
LISTEN = """
import socket, sys
with socket.socket(fileno=0) as asker, socket.create_server((sys.argv[1], 0)) as made:
    socket.send_fds(asker, [b"."], [made.fileno()])
"""


@dataclass
class Space:
    """Two network namespaces joined by one cable: the node's, ``far``, and one in which only relays listen.

    The machine's own network never changes, which would make browsers beside this test give up what they load.
    """

    near: str
    far: str

    def join(self) -> None:
        ip("netns", "add", self.near)
        ip("netns", "add", self.far)
        ip("-n", self.near, "link", "add", self.near, "type", "veth", "peer", "name", self.far, "netns", self.far)
        for name, address in ((self.near, OURS), (self.far, THEIRS)):
            ip("-n", name, "addr", "add", f"{address}/30", "dev", name)
            ip("-n", name, "link", "set", name, "up")

    def part(self) -> None:
        for name in (self.near, self.far):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)

    def enter(self, hidden: Path) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.far, "unshare", "--mount", "sh", "-c", HIDE, str(hidden))

    def plug(self, state: str) -> None:
        ip("-n", self.near, "link", "set", self.near, state)

    def listener(self) -> socket.socket:
        """What listens at our end of the cable."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            command = ["ip", "netns", "exec", self.near, sys.executable, "-c", LISTEN, OURS]
            subprocess.run(command, check=True, stdin=theirs, capture_output=True)
            (fd,) = socket.recv_fds(ours, 1, 1)[1]
        return socket.socket(fileno=fd)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def space() -> Iterator[Space]:
    made = Space(f"hy{os.getpid()}a", f"hy{os.getpid()}b")
    try:
        made.join()
        yield made
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no networks of its own may be made here: {getattr(error, 'stderr', b'') or error}")
    finally:
        with suppress(FileNotFoundError):  # a host without ``ip``
            made.part()


@pytest.fixture(scope="module")
def apart(space: Space, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Web and Redis are reached over the cable alone, and the one node is at its other end."""
    cluster = Cluster(tmp_path_factory.mktemp("apart") / "home", nodes=0, relayed=False)
    stack = cluster.stack
    redis, web = (Relay(port, space.listener()) for port in (stack.home.ports(create=True)["valkey"], stack.port))
    cluster.relays += [redis, web]
    stack.environ |= UNHURRIED | {
        "HYDRA_PUBLIC_URL": f"http://{OURS}:{web.port}",
        "HYDRA_ALLOWED_HOSTS": f"127.0.0.1,{OURS}",
        "HYDRA_NODE_REDIS_URL": f"redis://{OURS}:{redis.port}/0",
    }
    with cluster, cluster.node("far", prefix=space.enter(stack.home.root), vcores_milli=4000, memory_mib=4096):
        yield cluster


def agent() -> int:
    """Process id of the far node's agent: the one node manager that this process itself has started."""
    known = [p.info for p in psutil.process_iter(["pid", "ppid", "cmdline"])]
    (found,) = [i["pid"] for i in known if i["ppid"] == os.getpid() and "nodemanager" in (i["cmdline"] or ())]
    return int(found)


def test_it_sees_neither_our_files_nor_our_network(apart: Cluster, space: Space):
    pid = agent()
    assert Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
    assert list(Path(f"/proc/{pid}/root{apart.stack.home.root}").iterdir()) == []
    job = apart.task_job("look", "cat /proc/net/dev")
    apart.settled(job)
    (container,) = apart.tenant.containers(job.id)
    text = "".join(piece.data for piece in apart.tenant.logs(container.id, follow=True))
    assert f"{space.far}:" in text and f"{space.near}:" not in text and "eth0" not in text


def test_the_census_runs_there_and_its_results_come_back(apart: Cluster, tmp_path: Path):
    files = shutil.copytree(CENSUS.parent, tmp_path / "census")
    (files / "job.yaml").write_text(CENSUS.read_text().replace("[python3, map.py]", f'[python3, -c, "{SOME_MODULES}"]'))
    job = apart.tenant.submit(files / "job.yaml")
    apart.acknowledged.add(job.id)
    apart.settled(job, 120)
    outputs = {(o.group, o.name): o for o in apart.tenant.outputs(job.id)}
    report = apart.tenant.download(outputs["reduce", "report"].digest, tmp_path / "report.txt").read_text()
    assert len(report.splitlines()) > 10
    assert sum(group == "map" for group, _ in outputs) >= 1
    assert {c.node for c in apart.tenant.containers(job.id)} == {"far"}
    assert len([c for c in apart.tenant.containers(job.id) if c.group == "map"]) == 8
    afterwards.holds(apart)


def test_a_pulled_cable_delays_logs_and_outputs_and_loses_none(apart: Cluster, space: Space, tmp_path: Path):
    """Shorter than what makes a node lost here; the task ends while nobody can hear of it."""
    script = apart.gate("pulled") + "seq 1 2000; echo far > out; echo done >> $EVIDENCE/ended"
    job = apart.task_job("pulled", script, outputs=[{"name": "out", "path": "out"}])
    start = apart.started(job, 1)[0]
    space.plug("down")
    began = time.monotonic()
    apart.open_gate("pulled")
    wait_until(lambda: (apart.evidence / "ended").exists() and not start.alive, 10, "it has ended unheard")
    let_pass(max(0.0, 4 - (time.monotonic() - began)))  # the outage lasts for four heartbeats
    assert not apart.tenant.job(job.id).ended
    space.plug("up")
    apart.settled(job, 30)
    (container,) = apart.tenant.containers(job.id)
    text = "".join(piece.data for piece in apart.tenant.logs(container.id, follow=True))
    assert text.split() == [str(n) for n in range(1, 2001)]
    (output,) = apart.tenant.outputs(job.id)
    assert apart.tenant.download(output.digest, tmp_path / "out").read_text() == "far\n"
    assert len(apart.starts(job)) == 1
    afterwards.holds(apart)
