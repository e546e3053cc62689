"""Jobs that bring their own application master, through real processes: the example, and what becomes of failures."""

import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from contract.jobs import Job
from tests.acceptance.cluster import SAY, SMALL, Cluster
from tests.limits import judge, within
from tests.machine import stalls
from tests.patience import wait_until
from tests.processes import Pid, alive
from tests.stores import ROOT

EXAMPLE = ROOT / "examples" / "parameter-search" / "job.yaml"
# Says who it is and what it found, asks for two containers, and ends when told to.
MASTER = """
import json, os, time
from pathlib import Path
from hydra.am import ApplicationMaster

evidence = Path(os.environ["EVIDENCE"])
am = ApplicationMaster.from_env()
session = am.register()
found = [c.id for c in am.live("work")]
began = time.perf_counter()
am.ask("work", 2, command=os.environ["WORK"], shell=True, env={"EVIDENCE": str(evidence)}, grace_s=1,
       resources={"memory_mib": 64, "vcores_milli": 100})
if not found:
    am.poll(10)
said = {"pid": os.getpid(), "token": os.environ["HYDRA_AM_TOKEN"], "url": os.environ["HYDRA_API_URL"], "found": found,
        "granted_s": time.perf_counter() - began, "node": os.environ["HYDRA_NODE"]}
(evidence / f"saying-{session.attempt}").write_text(json.dumps(said))
os.rename(evidence / f"saying-{session.attempt}", evidence / f"said-{session.attempt}")
while not (evidence / "finish").exists():
    am.poll(1)
am.finish("SUCCEEDED", f"by attempt {session.attempt}")
"""
GREEDY = """
import time
from hydra.am import AMError, ApplicationMaster

am = ApplicationMaster.from_env(patience_s=0.0)
am.register()
refused, until, n = 0, time.monotonic() + 8, 0
while time.monotonic() < until:
    n += 1
    try:
        am.ask(f"a{n}", 1_000_000 if n % 2 else 3, resources={"memory_mib": 16, "vcores_milli": 10})
        am.ask(f"a{n}", 0)
    except AMError as error:
        assert error.status in (0, 409, 422, 429, 503), error
        refused += 1
am.patience_s = 60
print("refused", refused, "of", n, flush=True)
assert refused >= n // 2
"""


def application(cluster: Cluster, name: str, script: str, **master: Any) -> Job:
    folder = cluster.evidence / f"sources-{name}"
    folder.mkdir(exist_ok=True)
    (folder / "master.py").write_text(script)
    env = {"EVIDENCE": str(cluster.evidence)} | master.pop("env", {})
    spec = {
        "name": name,
        "kind": "application",
        "master": {
            "command": ["python3", "master.py"],
            "files": [{"path": "master.py", "source": str(folder / "master.py")}],
            "env": env,
            "resources": {"memory_mib": 128, "vcores_milli": 100},
            "grace_s": 1,
        }
        | master,
    }
    return cluster.submit(spec)


def said(cluster: Cluster, attempt: int, timeout_s: float = 30) -> dict[str, Any]:
    path = cluster.evidence / f"said-{attempt}"
    wait_until(path.exists, timeout_s, f"attempt {attempt} of the master speaks")
    found: dict[str, Any] = json.loads(path.read_text())
    return found | {"pid": Pid(found["pid"])}


@pytest.fixture
def held(cluster: Cluster) -> Job:
    """An application whose master runs, with two containers that wait."""
    for path in (*cluster.evidence.glob("said-*"), cluster.evidence / "finish"):
        path.unlink(missing_ok=True)
    work = SAY + cluster.gate("work")
    return application(cluster, "held", MASTER, env={"WORK": work}, retries=2)


def ask_as(token: str, url: str) -> int:
    """What a master with this token is answered."""
    return httpx.post(f"{url}/api/v1/am/register", json={}, headers={"Authorization": f"Bearer {token}"}).status_code


def test_the_example_grows_and_shrinks_by_its_results(cluster: Cluster, tmp_path: Path) -> None:
    job = cluster.tenant.submit(EXAMPLE)
    cluster.acknowledged.add(job.id)
    ended = cluster.settled(job, 120)
    assert [g.name for g in ended.groups] == ["master", "trial"]
    assert "the best of 27 candidates" in ended.message
    output = next(o for o in cluster.tenant.outputs(job.id) if o.name == "best")
    best = json.loads(cluster.tenant.download(output.digest, tmp_path / "best.json").read_text())
    assert set(best["settings"]) == {"rate", "decay", "degree"} and best["loss"] < 0.6
    trials = [c for c in cluster.tenant.containers(job.id) if c.group == "trial" and c.state == "SUCCEEDED"]
    assert len(trials) == 27 + 9 + 3
    spans = sorted((c.allocated_at, c.finished_at) for c in cluster.tenant.containers(job.id) if c.group == "trial")
    at_once = [sum(began <= at < over for began, over in spans) for at, _ in spans]
    assert 1 < max(at_once) <= 6 and at_once[-1] <= 3, "the field narrows and so does what it holds"


def test_the_guides_program_works_as_it_is_printed(cluster: Cluster, tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "tenants.md").read_text()
    section = guide[guide.index("## Write your own application master") :]
    job_file, master, work = re.findall(r"```\w+\n(.*?)```", section, re.DOTALL)[:3]
    for name, text in (("job.yaml", job_file), ("master.py", master), ("work.py", work)):
        (tmp_path / name).write_text(text)
    job = cluster.tenant.submit(tmp_path / "job.yaml")
    cluster.acknowledged.add(job.id)
    assert cluster.settled(job, 90).message == f"the sum is {sum(i * i for i in range(10))}"


def test_the_guides_page_and_its_healthy_servers(cluster: Cluster, tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "tenants.md").read_text()
    section = guide[guide.index("With `tracking` the master names the page") :]
    job_file, pages = re.findall(r"```\w+\n(.*?)```", section, re.DOTALL)[:2]
    (tmp_path / "job.yaml").write_text(job_file)
    (tmp_path / "pages.py").write_text(pages)
    job = cluster.tenant.submit(tmp_path / "job.yaml")
    cluster.acknowledged.add(job.id)
    wait_until(lambda: _healthy(cluster, job) == ["master/ui", "web/http", "web/http"], 60, "all of it serves")
    address = cluster.tenant.job(job.id).tracking
    assert address == f"/proxy/{job.id}/master.0.ui/?from=job"
    owner = {"Authorization": f"Token {cluster.stack.token()}"}

    def page() -> httpx.Response:
        return httpx.get(f"{cluster.stack.url}{address}", headers=owner, timeout=20, trust_env=False)

    wait_until(lambda: page().text == "2 servers run", 20, "the master has heard of both")
    assert page().headers["content-security-policy"].startswith("sandbox")
    cluster.tenant.kill(job.id)
    wait_until(lambda: cluster.tenant.job(job.id).state == "KILLED", 40, "the job is stopped")
    assert cluster.tenant.job(job.id).tracking is None


def _healthy(cluster: Cluster, job: Job) -> list[str]:
    return sorted(f"{e.group}/{e.name}" for e in cluster.tenant.endpoints(job.id) if e.healthy)


@pytest.mark.faults
def test_a_killed_master_is_followed_by_another_and_its_containers_stay(cluster: Cluster, held: Job) -> None:
    first = said(cluster, 1)
    workers = cluster.started(held, 2)
    assert ask_as(first["token"], first["url"]) == 200
    cluster.signal(first["pid"])
    within(10, (cluster.evidence / "said-2").exists, "attempt 2 of a killed master speaks")
    second = said(cluster, 2)
    assert sorted(second["found"]) == sorted(w.container for w in workers)
    assert all(w.alive for w in workers) and len(cluster.starts(held)) == 2
    assert ask_as(first["token"], first["url"]) == 403
    assert ask_as(second["token"], second["url"]) == 200
    cluster.open_gate("finish")
    ended = cluster.settled(held, 40)
    assert ended.message == "by attempt 2"
    assert not any(alive(w.pid) for w in workers)
    assert ask_as(second["token"], second["url"]) == 403


@pytest.mark.faults
def test_a_master_whose_node_is_lost_starts_elsewhere(cluster: Cluster, held: Job) -> None:
    first = said(cluster, 1)
    cluster.started(held, 2)
    with cluster.cut_off(first["node"]):
        wait_until(lambda: cluster.node_state(first["node"]) == 3, 20, "its node is lost")
        within(10, (cluster.evidence / "said-2").exists, "attempt 2 of a master whose node is lost speaks")
        second = said(cluster, 2)
        assert second["node"] != first["node"] and ask_as(first["token"], cluster.stack.url) == 403
    cluster.open_gate("finish")
    cluster.settled(held, 40)
    wait_until(lambda: not alive(first["pid"]), 20, "the old attempt is stopped when its node is back")


@pytest.mark.faults
def test_a_leader_that_dies_changes_nothing_for_a_master(cluster: Cluster, held: Job) -> None:
    first = said(cluster, 1)
    workers = cluster.started(held, 2)
    epoch, holder = cluster.leader()
    cluster.stack.kill(holder)
    cluster.led(above=epoch)
    cluster.open_gate("finish")
    ended = cluster.settled(held, 40)
    assert ended.message == "by attempt 1" and alive(first["pid"]) is False
    assert len(cluster.starts(held)) == len(workers) == 2


@pytest.mark.faults
def test_a_greedy_master_reaches_its_limits_and_nobody_elses(cluster: Cluster) -> None:
    def run_one() -> float:
        began = time.monotonic()
        cluster.settled(cluster.task_job("quick", "true", resources=SMALL), 30)
        return time.monotonic() - began

    before = sorted(run_one() for _ in range(3))[1]
    greedy = application(cluster, "greedy", GREEDY, retries=0)
    wait_until(lambda: cluster.tenant.job(greedy.id).state == "RUNNING", 20, "the greedy one runs")
    mark = stalls.mark()
    during = sorted(run_one() for _ in range(3))[1]
    print(f"measured: a small job takes {before:.2f} s, and {during:.2f} s beside a greedy master")
    judge("a small job beside a greedy master", during, round(3 * before + 1, 2), mark)
    cluster.settled(greedy, 60)
    assert len(cluster.tenant.job(greedy.id).groups) <= 201
