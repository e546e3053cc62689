"""A master whose containers run in three sub-clusters; its home's RM dies, then all nodes there."""

import json
from collections import Counter
from typing import Any

import pytest

from contract.jobs import Endpoint, Job
from tests.acceptance.cluster import SAY
from tests.acceptance.test_application_masters import application, said
from tests.acceptance.test_serving import browser
from tests.acceptance.test_spanning import NAMES, SHAPE, Federation
from tests.acceptance.test_spanning import federation as federation  # noqa: PLC0414 - a fixture
from tests.acceptance.test_spanning import sound as sound  # noqa: PLC0414 - a fixture
from tests.limits import within
from tests.patience import wait_until
from tests.processes import alive

pytestmark = pytest.mark.faults

COUNT = 20  # of 24 that fit, so that a master finds room wherever it starts
# Launches what it is granted, writes down what it is told, and obeys the files that the test leaves.
MASTER = """
import json, os
from pathlib import Path
from hydra.am import ApplicationMaster

evidence = Path(os.environ["EVIDENCE"])
am = ApplicationMaster.from_env()
session = am.register()
target = am.granted("slot")
told = open(evidence / f"told-{session.attempt}", "w")
shape = json.loads(os.environ["SHAPE"])


def note(event):
    print(json.dumps({"seq": event.seq, "kind": event.kind, "container": event.container, "reason": event.reason}),
          file=told, flush=True)


def launch(container, index):
    am.launch(container, os.environ["WORK"], shell=True, env={"EVIDENCE": str(evidence)}, grace_s=1, tag=str(index))


for event in am.history():
    note(event)
for one in am.live("slot"):
    if not one.launched:
        launch(one.id, one.index)
said = {"pid": os.getpid(), "node": os.environ["HYDRA_NODE"], "found": {c.id: c.tag for c in am.live("slot")}}
(evidence / f"saying-{session.attempt}").write_text(json.dumps(said))
os.rename(evidence / f"saying-{session.attempt}", evidence / f"said-{session.attempt}")
released = set()
while not (evidence / "finish").exists():
    wanted = int((evidence / "target").read_text())
    if wanted != target:
        target = wanted
        am.ask("slot", target, resources=shape)
    for path in evidence.glob("release-*"):
        if path.name not in released:
            released.add(path.name)
            am.release([path.name.removeprefix("release-")])
    for event in am.poll(1):
        note(event)
        if event.kind == "granted":
            launch(event.container, event.index)
am.finish("SUCCEEDED", f"by attempt {session.attempt}")
"""

# Says who it is, leaves a file and serves a page until it may end; then its master reads what each left.
SERVER = 'echo "here is $HYDRA_CONTAINER_ID"; echo "$HYDRA_CONTAINER_ID" > part.txt; '
SERVER += 'python3 -m http.server --bind 0.0.0.0 "$HYDRA_PORT_HTTP" & serves=$!; '
READER = """
import json, os
from pathlib import Path
from hydra.am import ApplicationMaster

evidence = Path(os.environ["EVIDENCE"])
am = ApplicationMaster.from_env()
am.register()
am.ask("server", int(os.environ["COUNT"]), resources=json.loads(os.environ["SHAPE"]), ports=[{"name": "http"}],
       command=os.environ["WORK"], shell=True, env={"EVIDENCE": str(evidence)},
       outputs=[{"name": "part", "path": "part.txt"}])
left = {}
while len(left) < int(os.environ["COUNT"]):
    for event in am.poll(5):
        if event.kind == "ended":
            assert event.state == "SUCCEEDED", event
            left[event.container] = am.output(event.container, "part").decode().strip()
assert all(container == said for container, said in left.items()), left
am.finish("SUCCEEDED", f"read {len(left)}")
"""


@pytest.fixture
def app(federation: Federation) -> Job:
    f = federation
    for path in f.evidence.iterdir():
        if path.is_file():
            path.unlink()
    (f.evidence / "target").write_text(str(COUNT))
    env = {"WORK": SAY + f.gate("never"), "SHAPE": json.dumps(SHAPE)}
    return application(f, "everywhere", MASTER, env=env, retries=2)


def told(f: Federation, attempt: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (f.evidence / f"told-{attempt}").read_text().splitlines()]


def log(f: Federation, container: str) -> str:
    return "".join(piece.data for piece in f.tenant.logs(container))


def place(node: str) -> str:
    return node.rpartition("-")[0]


def test_what_containers_serve_say_and_leave_elsewhere_is_there_as_at_home(federation: Federation) -> None:
    f = federation
    env = {"WORK": SERVER + f.gate("served") + "kill $serves", "SHAPE": json.dumps(SHAPE), "COUNT": str(COUNT)}
    job = application(f, "serves-everywhere", READER, env=env)

    def serving() -> list[Endpoint]:
        found = list(f.tenant.endpoints(job.id))
        return found if len(found) == COUNT else []

    endpoints = wait_until(serving, 60, "every container's port is told")
    assert {place(e.node) for e in endpoints} == set(NAMES)
    with browser(f, "tenant", f.stack.home.secrets()["tenant_password"]) as owner:
        for one in endpoints:
            wait_until(lambda path=one.proxy: owner.get(path).status_code == 200, 20, f"{one.node} serves")
            written = f"here is {one.container}\n"
            wait_until(lambda of=one.container, text=written: text == log(f, of), 20, "its log says who it is")
    f.open_gate("served")
    assert f.settled(job, 60).message == f"read {COUNT}"
    assert {o.container for o in f.tenant.outputs(job.id)} == {e.container for e in endpoints}


def test_its_home_dies_bit_by_bit_and_the_master_has_all_it_had_elsewhere(federation: Federation, app: Job) -> None:
    f = federation
    first = said(f, 1)
    workers = f.started(app, COUNT)
    home = f.home_of(app)
    assert {place(w.node) for w in workers} == set(NAMES) and place(first["node"]) == home

    f.kill_rm(home)
    wait_until(lambda: f.home_of(app) != home, 30, "it has a new home")
    (f.evidence / "target").write_text(str(COUNT + 1))
    workers = f.started(app, COUNT + 1)
    assert place(workers[-1].node) != home and alive(first["pid"]), "its master has gone on"
    elsewhere = {w.container: w for w in workers if place(w.node) != home}

    for machine in f.machines[home]:
        machine.die()
    within(40, (f.evidence / "said-2").exists, "the master speaks at another sub-cluster")
    second = said(f, 2)
    assert place(second["node"]) != home and set(second["found"]) >= set(elsewhere)
    assert all(second["found"][c] == str(w.index) for c, w in elsewhere.items()), "with the tags they were given"
    lost = COUNT + 1 - len(elsewhere)
    wait_until(lambda: sum(e["reason"] == "NODE_LOST" for e in told(f, 2)) == lost, 30, "it hears what was lost")
    given_back = next(iter(elsewhere.values()))
    (f.evidence / f"release-{given_back.container}").touch()
    (f.evidence / "target").write_text(str(COUNT + 3))
    f.started(app, COUNT + 3)
    wait_until(lambda: not alive(given_back.pid), 20, "what it gives back stops")
    assert all(w.alive for w in elsewhere.values() if w != given_back)
    wait_until(lambda: any(e["reason"] == "STOPPED" for e in told(f, 2)), 20, "and it is told")
    f.open_gate("finish")
    assert f.settled(app, 60).message == "by attempt 2"
    once(f)
    wait_until(lambda: not [w for w in f.starts(app) if w.alive and place(w.node) != home], 20, "nothing runs on")


def once(f: Federation) -> None:
    """Every event has one number, and says what was not said before."""
    heard = told(f, 2)
    assert [e["seq"] for e in heard] == list(range(1, len(heard) + 1))
    assert {(e["seq"], e["kind"], e["container"]) for e in told(f, 1)} <= {
        (e["seq"], e["kind"], e["container"]) for e in heard
    }
    kinds = Counter((e["container"], e["kind"]) for e in heard)
    assert set(kinds.values()) == {1} and sum(kind == "granted" for _, kind in kinds) == COUNT + 3
    assert all((container, "granted") in kinds for container, _ in kinds)
