"""A federation of three sub-clusters, each with its own RM process and nodes, of which whole ones go away."""

import contextlib
import shutil
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from contract.jobs import Job
from tests import invariants
from tests.acceptance.cluster import Cluster, start_node
from tests.patience import stretched, wait_until
from tests.stack import UNHURRIED

NAMES = ("east", "west", "north")
NODES = 2
PER_NODE = 4  # tasks of half a core
SHAPE = {"memory_mib": 64, "vcores_milli": 500}
LOST_AFTER_S = 4.0
POLICY = {
    "queues": {"default": {"guaranteed": 1.0, "open_to_all": True}},
    "components": {
        "lost_sub_clusters": {"policy": "rehome", "parameters": {"after_s": LOST_AFTER_S}},
        "amrmproxy": {"policy": "locality", "parameters": {"relax_after_s": 2.0}},
    },
}


class Machine:
    """A node manager with everything it started; ``die`` is a power cut."""

    def __init__(self, cluster: Cluster, sub_cluster: str, number: int) -> None:
        self.name = f"{sub_cluster}-m{number}"
        self.folder = Path(tempfile.mkdtemp(prefix="hydra-node-"))
        join_token = cluster.stack.home.join_token(sub_cluster)
        self.process = start_node(self.folder, cluster.stack.url, join_token, self.name)

    def die(self) -> None:
        self.process.kill()
        self.process.wait()
        for found in self._own():
            with contextlib.suppress(psutil.NoSuchProcess):
                found.kill()

    def _own(self) -> list[psutil.Process]:
        """The supervisor and all tasks: whoever works in the machine's folder or was told of it."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if str(self.folder) in f"{process.cwd()} {' '.join(process.cmdline())}":
                    found.append(process)
        return found

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(stretched(20))
        for found in self._own():
            with contextlib.suppress(psutil.NoSuchProcess):
                found.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Federation(Cluster):
    """Every sub-cluster has a worker of its own; another one does the duties that belong to none."""

    def __init__(self, home: Path) -> None:
        super().__init__(home, nodes=0, relayed=False, environ=UNHURRIED)
        self.stack.sub_clusters = len(NAMES)
        for name in NAMES:
            self.stack.home.join_token(name)
        self.workers: dict[str, BaseProcess] = {}
        self.machines: dict[str, list[Machine]] = {}

    def __enter__(self) -> "Federation":
        super().__enter__()
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _begin(self) -> None:
        for name in ("worker-a", "worker-b"):
            self.stack.hold(name)
        self.workers["duties"] = self._worker("duties", "control")
        for name in NAMES:
            self.lead(name)
            self.machines[name] = []
            for number in range(NODES):
                self.machines[name].append(Machine(self, name, number))
        wait_until(lambda: self.up() == NODES * len(NAMES), 60, "every node is up")
        self._push()

    def __exit__(self, *exc: object) -> None:
        for machine in [m for some in self.machines.values() for m in some]:
            machine.close()
        for worker in self.workers.values():
            worker.terminate()
        for worker in self.workers.values():
            worker.join(stretched(20))
        super().__exit__(*exc)

    def _worker(self, name: str, queue: str) -> BaseProcess:
        return self.fork("worker", "--name", name, "--queues", queue)

    def lead(self, name: str) -> None:
        self.workers[name] = self._worker(f"rm-{name}", f"rm.{name}")

    def kill_rm(self, name: str) -> None:
        """Its worker dies at once, with all it has started."""
        worker = psutil.Process(self.workers[name].pid)
        for process in [*worker.children(recursive=True), worker]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        self.workers[name].join()

    def up(self) -> int:
        return int(self.sql("SELECT count(*) FROM statestore_node WHERE state = 1")[0][0])

    def _push(self) -> None:
        self.operator.push_policy(POLICY, "sub-clusters are given up quickly")
        version = self.operator.policy().version
        query = "SELECT count(*) FROM statestore_acknowledgement WHERE kind = 'rm' AND version >= %s"
        wait_until(lambda: self.sql(query, version)[0][0] >= len(NAMES), 20, "every RM runs the policy")

    def led(self, name: str) -> bool:  # type: ignore[override]
        query = (
            "SELECT 1 FROM statestore_lease l JOIN statestore_subcluster s ON s.id = l.sub_cluster_id"
            " WHERE s.name = %s AND l.expires_at > clock_timestamp()"
        )
        return bool(self.sql(query, name))

    def places(self, job: Job) -> Counter[str]:
        """Running containers of the job by sub-cluster."""
        query = (
            "SELECT s.name FROM statestore_container c JOIN statestore_subcluster s ON s.id = c.sub_cluster_id"
            " WHERE c.job_id = %s AND c.state = 2"
        )
        return Counter(name for (name,) in self.sql(query, job.id))

    def home_of(self, job: Job) -> str:
        query = "SELECT s.name FROM statestore_job j JOIN statestore_subcluster s ON s.id = j.home_id WHERE j.id = %s"
        return str(self.sql(query, job.id)[0][0])

    @contextlib.contextmanager
    def watched(self, job: Job) -> Iterator[list[str]]:
        """At every moment: one live attempt, and one output of each name, per task. What was found to be otherwise."""
        wrong: list[str] = []
        done = threading.Event()
        thread = threading.Thread(target=_watch, args=(self.stack.database_url(), job.id, done, wrong))
        thread.start()
        try:
            yield wrong
        finally:
            done.set()
            thread.join()


TWO_LIVE = "SELECT task_index FROM statestore_container WHERE job_id = %s GROUP BY 1 HAVING count(*) > 1"
TWO_OUTPUTS = """
SELECT o.task_index, o.name FROM statestore_taskoutput o JOIN statestore_task t
    ON t.job_id = o.job_id AND t.group_no = o.group_no AND t.index = o.task_index AND t.container_id = o.container_id
 WHERE o.job_id = %s AND t.state = 10 GROUP BY 1, 2 HAVING count(*) > 1
"""


def _watch(url: str, job: int, done: threading.Event, wrong: list[str]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        while not done.wait(0.05):
            for rule, sql in (("two live attempts", TWO_LIVE), ("two outputs", TWO_OUTPUTS)):
                if rows := connection.execute(sql, (job,)).fetchall():
                    wrong.append(f"{rule}: {rows}")


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    with Federation(tmp_path_factory.mktemp("federation") / "home") as made:
        yield made


@pytest.fixture(autouse=True)
def sound(federation: Federation) -> Iterator[None]:
    yield
    invariants.check(federation.stack.database_url())


def spanning(f: Federation, name: str, count: int, **group: Any) -> Job:
    """A job whose tasks wait at a gate and then leave an output."""
    script = f.gate(name) + 'echo "$HYDRA_TASK_INDEX of attempt $HYDRA_ATTEMPT" > part.txt'
    outputs = [{"name": "part", "path": "part.txt"}]
    return f.task_job(name, script, count=count, resources=SHAPE, outputs=outputs, retries=3, **group)


def test_a_job_runs_in_every_sub_cluster_as_if_they_were_one(federation: Federation) -> None:
    f, count = federation, NODES * PER_NODE * len(NAMES)
    job = spanning(f, "all-of-it", count)
    wait_until(lambda: sum(f.places(job).values()) == count, 40, "every task runs")
    assert f.places(job) == dict.fromkeys(NAMES, NODES * PER_NODE)
    f.open_gate("all-of-it")
    f.settled(job)
    assert len(list(f.tenant.outputs(job.id))) == count
    assert len(f.starts(job)) == count


def test_one_rm_down_its_tasks_run_on_and_what_it_had_not_begun_moves(federation: Federation) -> None:
    f = federation
    job = spanning(f, "rm-down", 40)  # more than runs at once
    wait_until(lambda: sum(f.places(job).values()) == 24, 40, "all that fits runs")
    gone = next(name for name in NAMES if name != f.home_of(job))
    f.kill_rm(gone)
    wait_until(lambda: not f.led(gone), 30, "nobody leads it")
    with f.watched(job) as wrong:
        later = [f.task_job(f"later-{n}", "true", resources=SHAPE) for n in range(6)]
        assert gone not in {f.home_of(other) for other in later}, "the Router sends nothing there"
        f.open_gate("rm-down")
        ended = "SELECT count(*) FROM statestore_task WHERE job_id = %s AND state = 10"
        wait_until(
            lambda: f.sql(ended, job.id)[0][0] >= 40 - NODES * PER_NODE, 60, "all tasks of live sub-clusters end"
        )
        assert [f.settled(other).state for other in later] == ["SUCCEEDED"] * 6
        f.lead(gone)
        f.settled(job)
    assert not wrong
    assert sorted(s.index for s in f.starts(job)) == list(range(40)), "each task was started once"


def test_the_home_and_all_its_nodes_die_and_the_job_goes_on(federation: Federation) -> None:
    f, count = federation, NODES * PER_NODE * len(NAMES)
    job = spanning(f, "home-dies", count)
    wait_until(lambda: sum(f.places(job).values()) == count, 40, "every task runs")
    home = f.home_of(job)
    before = {s.index: s for s in f.started(job, count)}
    with f.watched(job) as wrong:
        f.kill_rm(home)
        for machine in f.machines[home]:
            machine.die()
        wait_until(lambda: f.home_of(job) != home, 60, "it has a new home")
        wait_until(lambda: home not in f.places(job), 60, "what ran there is known to be lost")
        assert f.operator.sub_cluster(home).state == "lost"
        f.open_gate("home-dies")
        f.settled(job, 90)
    assert not wrong
    outputs = list(f.tenant.outputs(job.id))
    assert len(outputs) == count == len({o.index for o in outputs})
    starts = Counter(s.index for s in f.starts(job))
    elsewhere = [index for index, s in before.items() if not s.node.startswith(home)]
    assert len(elsewhere) == count - NODES * PER_NODE
    assert {starts[index] for index in elsewhere} == {1}, "what ran elsewhere ran on"
    assert [e for e in f.tenant.events(job.id) if e.kind == "rehomed"]
