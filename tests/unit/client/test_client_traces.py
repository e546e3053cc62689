"""Traces of every kind as recorded jobs: the same that the simulator reads, and such as can be submitted."""

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from client import traces
from client.commands import replay as command
from client.errors import HydraError
from client.hydractl import app
from client.replay import Options, job_spec
from contract import jobspec
from simulator.workloads import READERS, history, open_workload

_SWF = "1 0 -1 5 2 -1 -1 2 -1 -1 1 1 1 -1 1 -1 -1 -1\n2 7 -1 9 1 -1 -1 1 60 -1 1 2 1 -1 1 -1 -1 -1\n"
_POD = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time,scheduled_time\n"
_PHILLY = "timestamp,duration,num_gpus,cluster\n2017-10-09 07:01:55,60,2,abc\n2017-10-09 07:01:57,30,1,abc\n"
_ATTEMPT = {"startTime": 0, "finishTime": 4000, "hostName": "/rack-1/a", "result": "SUCCESS"}
_RUMEN = {"jobID": "job_17_0042", "user": "ann", "queue": "etl", "submitTime": 1000,
          "mapTasks": [{"attempts": [_ATTEMPT], "preferredLocations": []}], "reduceTasks": []}  # fmt: skip
_GROUP = {"count": 2, "memory_mib": 1000, "vcores_milli": 500, "run_s": [6.0, 12.0], "fails": [1]}
_OWN = {"at_s": 2.5, "queue": "root.a", "user": "u", "groups": [_GROUP]}
FILES = {
    "swf": _SWF,
    "openb": _POD + "pod-1,1000,512,1,1000,,LS,5,65,9\n",
    "philly": _PHILLY,
    "sls": json.dumps(_RUMEN),
    "history": "\n".join(map(json.dumps, ({"format": "hydra-history", "version": 1}, _OWN))) + "\n",
}


@pytest.fixture(params=[kind for kind, reader in READERS.items() if reader.reads_file])
def trace(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A kind, and a file of it."""
    path = tmp_path / "trace"
    path.write_text(FILES[request.param])
    return request.param, path


def test_it_is_what_the_simulator_reads(trace: tuple[str, Path]) -> None:
    kind, path = trace
    found = list(traces.read(kind, path, []))
    read = [(job.at_s, history.values(job)) for job in open_workload(kind, path)]
    assert json.dumps([(r.at_s, r.job) for r in found]) == json.dumps(read)
    assert found


def test_its_jobs_can_be_submitted(trace: tuple[str, Path]) -> None:
    for r in traces.read(*trace, []):
        _, errors = jobspec.parse(job_spec(r, Options()))
        assert not errors


def test_the_command_submits_them(trace: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, Any]] = []

    class Taking:
        def __enter__(self) -> "Taking":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def submit_many(self, specs: list[dict[str, Any]]) -> list[int]:
            sent.extend(specs)
            return list(range(len(specs)))

    monkeypatch.setattr(command, "connected", lambda ctx: Taking())
    kind, path = trace
    done = CliRunner().invoke(app, ["replay", str(path), "--workload", kind, "--speed", "1000", "--queue", "root.b"])
    assert done.exit_code == 0, done.output
    assert len(sent) == len(list(open_workload(kind, path)))
    assert {spec["queue"] for spec in sent} == {"root.b"}


def test_options_go_to_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(_SWF)
    given = ["memory_mib=2000", "queue={1: 'root.x'}", "missing_estimate=exact", "keep_failed=true"]
    first, second = traces.read("swf", path, given)
    assert first.job["queue"] == "root.x" and first.job["groups"][0]["memory_mib"] == 2000
    assert (first.job["groups"][0]["estimate_s"], second.job["groups"][0]["estimate_s"]) == (5.0, 60.0)


@pytest.mark.parametrize(
    ("kind", "given", "field", "says"),
    [
        ("slurm", [], "workload", "'slurm' is no kind of workload"),
        ("synthetic", [], "workload", "'synthetic' is no kind of workload"),
        ("swf", ["memory"], "option", "'memory' has no value"),
        ("swf", ["memory=1"], "FILE", "'memory' is no option of the workload swf"),
        ("swf", ["queue={}"], "FILE", "line 1, field 15 .queue.: there is no queue for 1"),
        ("sls", [], "FILE", "cannot be read as sls"),
        ("history", ["a=1"], "option", "has no options"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, kind: str, given: list[str], field: str, says: str) -> None:
    path = tmp_path / "trace"
    path.write_text(_SWF)
    with pytest.raises(HydraError, match=says) as wrong:
        list(traces.read(kind, path, given))
    assert [error.field for error in wrong.value.problem.errors] == [field]


def test_a_client_without_a_checkout_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def lacking(name: str, *rest: Any) -> Any:
        if name.startswith("simulator"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "simulator.workloads")
    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(HydraError, match="what reads swf is not installed") as wrong:
        list(traces.read("swf", tmp_path / "trace", []))
    assert "manage.py trace" in wrong.value.problem.errors[0].remedy
