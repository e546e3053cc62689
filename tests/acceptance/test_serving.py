"""Services with pages of their own, on real nodes and through a real web process."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml

from contract.jobs import Endpoint, Job
from tests import hydractl
from tests.acceptance.cluster import Cluster, browser
from tests.acceptance.conftest import STRANGER
from tests.patience import stretched, wait_until
from tests.stores import ROOT

pytestmark = pytest.mark.acceptance


def serving(cluster: Cluster, job: Job, count: int) -> list[Endpoint]:
    def healthy() -> list[Endpoint]:
        found = list(cluster.tenant.endpoints(job.id))
        return found if len(found) == count and all(e.healthy for e in found) else []

    return wait_until(healthy, 60, f"{count} endpoints of {job.name} are healthy")


def test_a_service_is_reached_by_its_owner_and_by_no_stranger(cluster: Cluster, stranger: str) -> None:
    job = cluster.submit(ROOT / "examples" / "web-service" / "job.yaml")
    first, second = serving(cluster, job, 2)
    assert (first.host, second.host) == ("127.0.0.1", "127.0.0.1") and first.port != second.port
    with browser(cluster, "tenant", cluster.stack.home.secrets()["tenant_password"]) as owner:
        page = owner.get(first.proxy)
        assert page.status_code == 200 and f"Guest book of web/{first.index}" in page.text
        assert owner.get(page.url.join("book")).json()["you"] == "tenant"
        ticketed = str(page.url)
    with browser(cluster, *STRANGER) as other:
        assert other.get(first.proxy).status_code == 404
    as_stranger = {"Authorization": f"Token {stranger}"}
    assert httpx.get(cluster.stack.url + first.proxy, headers=as_stranger, trust_env=False).status_code == 404
    assert httpx.get(cluster.stack.url + first.proxy, trust_env=False).status_code == 401
    assert httpx.get(f"{cluster.stack.url}/api/v1/jobs/{job.id}/endpoints", headers=as_stranger).status_code == 404
    cluster.tenant.kill(job.id)
    cluster.wait(job, 30)

    def ended() -> bool:
        answer = httpx.get(ticketed, trust_env=False)
        assert answer.status_code == 502  # from the moment its server is gone
        return "has ended" in answer.text

    wait_until(ended, 10, "it is said that the job has ended")


def test_a_port_of_a_service_is_brought_here_by_its_name(cluster: Cluster, tmp_path: Path) -> None:
    job = cluster.submit(ROOT / "examples" / "web-service" / "job.yaml")
    first = serving(cluster, job, 2)[0]
    env = {"HYDRA_URL": cluster.stack.url, "HYDRA_TOKEN": cluster.stack.token(), "HOME": str(tmp_path)}
    target = f"{job.id}/web/{first.index}"
    unknown = hydractl.run(("port-forward", target, "0:admin"), env, "", tmp_path)
    assert unknown.returncode == 2 and "has no port 'admin'" in unknown.stderr and "It has http." in unknown.stderr
    words = [sys.executable, "-m", "client", "port-forward", target, "0:http", "--output", "json"]
    with subprocess.Popen(words, env=env | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, cwd=tmp_path) as forward:
        assert forward.stdout is not None
        said = json.loads(forward.stdout.readline())
        assert (said["port"], said["container"]) == (first.port, first.container)
        page = httpx.get(f"http://127.0.0.1:{said['local']}/", trust_env=False)
        assert page.status_code == 200 and f"Guest book of web/{first.index}" in page.text
        forward.send_signal(signal.SIGINT)
        assert forward.wait(stretched(30)) in (0, 130)


def test_a_server_that_hangs_is_started_again_elsewhere_on_its_node(cluster: Cluster) -> None:
    job = cluster.submit(ROOT / "examples" / "web-service" / "job.yaml")
    hung, other = serving(cluster, job, 2)
    pid = next(p for p in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is(p, hung))
    os.kill(pid, signal.SIGSTOP)

    def replaced() -> bool:
        found = {e.index: e for e in cluster.tenant.endpoints(job.id)}
        return hung.index in found and found[hung.index].container != hung.container and bool(found[hung.index].healthy)

    wait_until(replaced, 60, "the server that hung has a successor")
    ended = next(c for c in cluster.tenant.containers(job.id) if c.id == hung.container)
    assert (ended.state, ended.reason) == ("FAILED", "UNHEALTHY")
    assert other.container in {e.container for e in cluster.tenant.endpoints(job.id)}


BETTER = """
import http.server, os
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"better")
http.server.ThreadingHTTPServer(("", int(os.environ["HYDRA_PORT_HTTP"])), Page).serve_forever()
"""


def changed(
    cluster: Cluster, job: Job, count: int, revision: int, down: int, stopped: str | None = None
) -> list[Endpoint]:
    """Where all tasks serve once what was asked for is done, with never more than ``down`` of them down meanwhile.

    stopped: a container that is to serve no more; where none has to, and the revision stays, nothing tells before from
    after.
    """
    least = count

    def done() -> list[Endpoint]:
        nonlocal least
        found = list(cluster.tenant.endpoints(job.id))
        healthy = sum(bool(e.healthy) for e in found)
        least = min(least, healthy)
        now = cluster.tenant.job(job.id)
        rest = now.rollout is None and not now.groups[0].restarting and now.revision == revision
        rest = rest and stopped not in {e.container for e in found}
        return found if rest and healthy == len(found) == count else []

    found = wait_until(done, 90, f"{count} servers run revision {revision}")
    assert least >= count - down
    return found


def test_a_service_is_changed_while_it_serves(cluster: Cluster) -> None:
    job = cluster.submit(ROOT / "examples" / "web-service" / "job.yaml")
    tenant, first = cluster.tenant, {e.index: e.container for e in serving(cluster, job, 2)}
    tenant.scale(job.id, "web", 3)
    assert {e.index: e.container for e in serving(cluster, job, 3)}.items() > first.items(), "what serves goes on"
    tenant.scale(job.id, "web", 2)
    assert {e.index: e.container for e in serving(cluster, job, 2)} == first, "the last one went"
    tenant.restart(job.id, "web", 1)
    second = {e.index: e.container for e in changed(cluster, job, 2, revision=1, down=1, stopped=first[1])}
    assert second[0] == first[0] and second[1] != first[1]
    spec = tenant.job(job.id).spec
    spec["groups"][0] |= {"command": ["python3", "-c", BETTER], "files": []}
    tenant.update(job.id, 1, spec, max_unavailable=2)
    third = changed(cluster, job, 2, revision=2, down=2)
    assert [e.revision for e in third] == [2, 2]
    with browser(cluster, "tenant", cluster.stack.home.secrets()["tenant_password"]) as owner:
        assert owner.get(third[0].proxy).text == "better"
    spec["groups"][0]["resources"] = {"memory_mib": 96, "vcores_milli": 120, "gpus": 0}
    tenant.update(job.id, 2, spec, max_unavailable=0, max_surge=1)
    third = changed(cluster, job, 2, revision=3, down=0)
    assert [c.memory_mib for c in tenant.containers(job.id) if not c.finished_at] == [96, 96]
    spec["groups"][0]["command"] = ["false"]
    tenant.update(job.id, 3, spec, max_failures=0)
    fourth = changed(cluster, job, 2, revision=5, down=1)
    assert {e.container for e in fourth} & {e.container for e in third}, "who had not changed yet serves on"
    (told,) = [event.message for event in tenant.events(job.id) if event.kind == "update_failed"]
    assert re.fullmatch(
        r"revision 4: 1 of its attempts failed, and 0 may; the last failure: web/\d ended with exit status 1", told
    )
    assert [(r.revision, r.back) for r in tenant.revisions(job.id)] == [
        (5, 3),
        (4, None),
        (3, None),
        (2, None),
        (1, None),
    ]
    assert {c.reason for c in tenant.containers(job.id) if c.finished_at} == {"STOPPED", "EXIT_CODE"}


def test_a_service_is_changed_from_the_shell(cluster: Cluster, tmp_path: Path) -> None:
    example = ROOT / "examples" / "web-service" / "job.yaml"
    number = cluster.hydractl("tenant", "submit", str(example), "--quiet").stdout.strip()
    job = cluster.tenant.job(int(number))
    first = {e.index: e.container for e in serving(cluster, job, 2)}

    def asked(command: str, *words: str) -> str:
        return cluster.hydractl("tenant", command, number, *words).stdout

    assert f"job {number}: asked for 3 of web" in asked("scale", "web", "3")
    assert {e.index: e.container for e in serving(cluster, job, 3)}.items() > first.items()
    asked("scale", "web", "2")
    assert {e.index: e.container for e in serving(cluster, job, 2)} == first
    assert f"job {number}: asked to restart web/1" in asked("restart", "web", "1")
    second = {e.index: e.container for e in changed(cluster, job, 2, revision=1, down=1, stopped=first[1])}
    assert second[0] == first[0] and second[1] != first[1]

    spec = yaml.safe_load(example.read_text())
    spec["groups"][0] |= {"command": ["python3", "-c", BETTER], "files": []}
    (tmp_path / "better.yaml").write_text(yaml.safe_dump(spec))
    rolled = cluster.hydractl("tenant", "update", number, str(tmp_path / "better.yaml"), "--wait")
    assert rolled.stdout == f"job {number}: serves as revision 2\n"
    assert "tasks at revision 2, on its way from 1" in rolled.stderr
    assert pages(cluster, serving(cluster, job, 2)) == {"better"}
    assert asked("rollback", "--wait") == f"job {number}: serves as revision 3\n"
    assert all("Guest book" in page for page in pages(cluster, serving(cluster, job, 2)))
    found = json.loads(asked("revisions", "-o", "json"))
    assert [(r["revision"], r["back"]) for r in found] == [(3, 1), (2, None), (1, None)]


def pages(cluster: Cluster, endpoints: list[Endpoint]) -> set[str]:
    with browser(cluster, "tenant", cluster.stack.home.secrets()["tenant_password"]) as owner:
        return {owner.get(each.proxy).text for each in endpoints}


def _is(pid: int, endpoint: Endpoint) -> bool:
    """Whether this process is the task behind an endpoint."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    # Another stack on this host may have a container of the same name, but not on the same port.
    own = (f"HYDRA_CONTAINER_ID={endpoint.container}", f"HYDRA_PORT_HTTP={endpoint.port}")
    return {word.encode() for word in own} <= set(words)
