"""Airflow's tasks as jobs: a real DAG in a real Airflow, whose job succeeds, fails, is retried and is killed.

Airflow wants an environment of its own: HYDRA_TEST_AIRFLOW names a Python that has it, and what ``client`` needs.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.cluster import Cluster
from tests.patience import wait_until
from tests.stores import ROOT

pytestmark = pytest.mark.acceptance

DAG = """
import json, os
from datetime import datetime
try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG
from client.airflow import HydraOperator

with DAG("tried", schedule=None, start_date=datetime(2026, 1, 1), params={"word": "nothing"}) as dag:
    job = HydraOperator(task_id="job", job="job.yaml", **json.loads(os.environ["OPERATOR"]))

if __name__ == "__main__" and "TRY" in os.environ:  # of one and the same task, without what Airflow keeps between
    class Instance:
        dag_id, run_id, task_id, map_index = "tried", "manual", "job", -1
        try_number, max_tries = json.loads(os.environ["TRY"])
        xcom_push = staticmethod(lambda key, value: None)
    print(json.dumps(job.execute({"ti": Instance})))
elif __name__ == "__main__":
    run = dag.test(run_conf={"word": "seventeen"})
    print("ended", getattr(run.state, "value", run.state))
"""
JOB = """
name: from-airflow
kind: ${{ kind }}
parameters: {word: , end: "exit 0", kind: batch}
groups:
  - name: say
    shell: true
    command: 'echo "the word is $WORD"; cat note.txt; ${{ end }}'
    env: {WORD: "${{ word }}", EVIDENCE: "%s"}
    files: [{path: note.txt, source: note.txt}]
    resources: {memory_mib: 64, vcores_milli: 100}
    grace_s: 1
"""


@pytest.fixture(scope="module")
def python() -> str:
    """One that has Airflow."""
    for python in (os.environ.get("HYDRA_TEST_AIRFLOW", ""), sys.executable):
        found = python and subprocess.run([python, "-c", "import airflow"], capture_output=True, check=False)
        if found and found.returncode == 0:
            return python
    pytest.skip("no Airflow here: HYDRA_TEST_AIRFLOW names no Python that has it")


class Airflow:
    """With a database of its own, and a DAG beside its job file."""

    def __init__(self, python: str, cluster: Cluster, folder: Path) -> None:
        self.python, self.cluster, self.folder = python, cluster, folder
        (folder / "dag.py").write_text(DAG)
        (folder / "job.yaml").write_text(JOB % cluster.evidence)
        (folder / "note.txt").write_text("a note beside the job file\n")
        url = cluster.stack.url.replace("http://", f"http://:{cluster.stack.token()}@")
        self.environ = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "AIRFLOW_HOME": str(folder),
            "AIRFLOW__CORE__DAGS_FOLDER": str(folder), "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW_CONN_HYDRA_DEFAULT": url,
        }  # fmt: skip
        command = [python, "-m", "airflow", "db", "migrate"]
        subprocess.run(command, env=self.environ, cwd=folder, check=True, capture_output=True)

    @contextmanager
    def running(self, attempt: tuple[int, int] | None = None, **operator: Any) -> Iterator["subprocess.Popen[str]"]:
        """The DAG in a process of its own. attempt: its task alone, as this try of at most so many retries."""
        said = {"parameters": {"word": "{{ dag_run.conf['word'] }}"}} | operator
        environ = self.environ | {"OPERATOR": json.dumps(said)} | ({"TRY": json.dumps(attempt)} if attempt else {})
        with subprocess.Popen(
            [self.python, "dag.py"], env=environ, cwd=self.folder, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                process.kill()

    def run(self, **operator: Any) -> str:
        """The DAG to its end; what it said."""
        with self.running(**operator) as process:
            return process.communicate()[0]

    def runs(self) -> Any:
        """Its newest job, once it runs."""
        return wait_until(lambda: next((j for j in self.jobs()[-1:] if j.state == "RUNNING"), None), 60, "it runs")

    def jobs(self) -> list[Any]:
        """Those that it has submitted, the first one first."""
        return list(self.cluster.tenant.jobs(name="from-airflow", order="oldest"))


@pytest.fixture
def airflow(python: str, cluster: Cluster, tmp_path: Path) -> Airflow:
    return Airflow(python, cluster, tmp_path)


def test_a_task_runs_a_job_fails_in_its_words_and_kills_it(airflow: Airflow) -> None:
    said = airflow.run()
    (job,) = airflow.jobs()
    assert job.state == "SUCCEEDED" and "ended success" in said, said
    for line in ("the word is seventeen", "a note beside the job file", f"/jobs/{job.id}", "SUCCEEDED"):
        assert line in said, said
    assert "HTTP Request" not in said, said

    failing = {"word": "x", "end": "exit 3"}
    said = airflow.run(parameters=failing, retries=1, retry_delay=0)
    first, second = airflow.jobs()[1:]
    assert [first.state, second.state] == ["FAILED", "FAILED"] and "ended failed" in said, said
    assert f"job {first.id} from-airflow: FAILED" in said and first.message in said, said
    assert f"hydractl logs {second.id}/say/0" in said, said

    said = airflow.run(parameters=failing, deferrable=True, poll_s=0.2)
    assert "ended failed" in said and "the word is x" in said, said

    with airflow.running(parameters={"word": "y", "end": "exec sleep 600"}) as process:
        job = airflow.runs()
        process.send_signal(signal.SIGTERM)
        said = process.communicate()[0]
    ended = airflow.cluster.wait(job.id)
    assert ended.state == "KILLED" and "its Airflow task was ended" in ended.message, said

    before = len(airflow.jobs())
    for wrong, why in (({"wrod": "y"}, "wrod"), ({"kind": "service"}, "a service never ends")):
        said = airflow.run(parameters={"word": "x"} | wrong, retries=3)
        assert why in said and "ended failed" in said and len(airflow.jobs()) == before, said


def test_a_retry_goes_on_with_a_lost_workers_job_and_clearing_runs_another(airflow: Airflow) -> None:
    waits = {"word": "z", "end": airflow.cluster.gate("airflow") + "true"}
    before = len(airflow.jobs())
    with airflow.running((1, 1), parameters=waits, retries=1) as process:
        job = airflow.runs()
        process.kill()  # as with the worker's machine
    with airflow.running((2, 1), parameters=waits, retries=1) as process:
        assert process.stdout is not None
        said = next(line for line in process.stdout if "the word is z" in line)
        airflow.cluster.open_gate("airflow")
        said += process.communicate()[0]
    assert f'{{"job_id": {job.id}, "state": "SUCCEEDED"}}' in said, said
    assert len(airflow.jobs()) == before + 1
    with airflow.running((3, 3), parameters=waits, retries=1) as process:
        said = process.communicate()[0]
    assert f'{{"job_id": {airflow.jobs()[-1].id}, "state": "SUCCEEDED"}}' in said, said
    assert len(airflow.jobs()) == before + 2
