"""Services with pages of their own, on real nodes and through a real web process."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from client import Client
from contract.jobs import Endpoint, Job
from tests.acceptance.cluster import Cluster
from tests.patience import wait_until
from tests.stores import ROOT

pytestmark = pytest.mark.acceptance
STRANGER = "stranger", "a-stranger-s-password"
MAKE = (
    "from controlplane.accounts.models import Role; from controlplane.statestore.actions import accounts; "
    "from controlplane.statestore.actions.audit import SYSTEM; "
    f"accounts.create(SYSTEM, {STRANGER[0]!r}, {STRANGER[1]!r}, Role.TENANT)"
)


@pytest.fixture
def stranger(cluster: Cluster) -> Iterator[str]:
    """Another tenant; its API token."""
    if not cluster.sql("SELECT 1 FROM accounts_user WHERE username = %s", STRANGER[0]):
        cluster.stack.manage("shell", "-c", MAKE)
    with Client(cluster.stack.url) as anonymous:
        yield anonymous.login(*STRANGER).token


def serving(cluster: Cluster, job: Job, count: int) -> list[Endpoint]:
    def healthy() -> list[Endpoint]:
        found = list(cluster.tenant.endpoints(job.id))
        return found if len(found) == count and all(e.healthy for e in found) else []

    return wait_until(healthy, 60, f"{count} endpoints of {job.name} are healthy")


@contextmanager
def browser(cluster: Cluster, name: str, password: str) -> Iterator[httpx.Client]:
    """Signed in with a session cookie, as browsers are."""
    with httpx.Client(base_url=cluster.stack.url, follow_redirects=True, timeout=20, trust_env=False) as client:
        token = client.get("/api/v1/auth/csrf").json()["csrf_token"]
        body = {"username": name, "password": password}
        assert client.post("/api/v1/auth/session", json=body, headers={"X-CSRFToken": token}).status_code == 200
        yield client


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


def test_a_service_is_scaled_and_restarted_while_it_serves(cluster: Cluster) -> None:
    job = cluster.submit(ROOT / "examples" / "web-service" / "job.yaml")
    before = {e.index: e.container for e in serving(cluster, job, 2)}
    cluster.tenant.scale(job.id, "web", 3)
    assert {e.index: e.container for e in serving(cluster, job, 3)}.items() > before.items(), "what serves goes on"
    cluster.tenant.restart(job.id, "web")
    least = 3

    def restarted() -> bool:
        nonlocal least
        found = list(cluster.tenant.endpoints(job.id))
        least = min(least, sum(bool(e.healthy) for e in found))
        told = cluster.tenant.job(job.id).groups[0]
        return not told.restarting and len(found) == 3 and all(e.healthy for e in found)

    wait_until(restarted, 90, "all three servers have started again")
    assert {e.index: e.container for e in serving(cluster, job, 3)}.keys() == {0, 1, 2}
    assert not set(before.values()) & {e.container for e in cluster.tenant.endpoints(job.id)}
    assert least >= 2, "one at a time"
    cluster.tenant.scale(job.id, "web", 1)
    (last,) = serving(cluster, job, 1)
    assert last.index == 0
    told = [event.kind for event in cluster.tenant.events(job.id)]
    assert told.count("scaled") == 2 and "restarted" in told
    assert {c.reason for c in cluster.tenant.containers(job.id) if c.finished_at} == {"STOPPED"}


def _is(pid: int, endpoint: Endpoint) -> bool:
    """Whether this process is the task behind an endpoint."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    return f"HYDRA_CONTAINER_ID={endpoint.container}".encode() in words and b"HYDRA_PORT_HTTP=" in b"".join(words)
