"""A recorded trace as jobs that sleep: what each line becomes, and when it is submitted."""

import gzip
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from client import replay
from client.commands import replay as command
from client.errors import HydraError, client_error
from client.replay import Options, Recorded, ReplayOutcome
from contract.jobspec import JobSpec

GROUP = {"count": 3, "memory_mib": 1000, "vcores_milli": 500, "run_s": [6.0, 12.0, 18.0]}


def job(at_s: float, **more: Any) -> dict[str, Any]:
    return {"at_s": at_s, "queue": "root.a", "user": "u", "groups": [GROUP]} | more


def history(path: Path, *jobs: dict[str, Any], head: Any = None) -> Path:
    lines = [head or {"format": "hydra-history", "version": 1}, *jobs]
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_jobs_come_in_order_with_their_lines(tmp_path: Path, name: str) -> None:
    found = list(replay.read(history(tmp_path / name, job(0.0, number=7), job(2.5))))
    assert [(r.at_s, r.line, r.job.get("number")) for r in found] == [(0.0, 2, 7), (2.5, 3, None)]


@pytest.mark.parametrize(
    ("head", "jobs", "says"),
    [
        ({"format": "swf"}, [], "is no history of jobs"),
        (None, [job(3.0), job(1.0)], "line 3 .*at_s is 1.0"),
        (None, [{"queue": "root.a"}], "line 2 .*at_s is None"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, head: Any, jobs: list[Any], says: str) -> None:
    with pytest.raises(HydraError, match=says):
        list(replay.read(history(tmp_path / "a.jsonl", *jobs, head=head)))


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_bytes(b"\xff\xfe\n")
    for name in ("a.jsonl", "b.jsonl"):
        with pytest.raises(HydraError, match="cannot be read"):
            list(replay.read(tmp_path / name))


def test_a_line_becomes_a_job_at_the_chosen_speed_and_scale() -> None:
    line = job(0.0, number=4, priority=2, groups=[GROUP | {"gang": True, "estimate_s": 20.0, "fails": [1]}])
    spec = replay.job_spec(Recorded(0.0, 2, line), Options(speed=2.0, scale=0.1, queue="root.b", tag="t"))
    (group,) = spec.pop("groups")
    assert spec == {"name": "replay-4", "queue": "root.b", "priority": 2, "tags": ["t"]}
    assert group["resources"] == {"memory_mib": 100, "vcores_milli": 50} and group["gang"]
    assert group["estimated_duration_s"] == 10.0 and group["env"] == {"REPLAY_FAILS": "1"}


@pytest.mark.parametrize(
    ("index", "attempt", "code", "slept"), [(0, 1, 0, "0.3"), (4, 1, 0, "0.6"), (1, 1, 1, ""), (1, 2, 0, "0.6")]
)
def test_the_command_sleeps_as_long_as_the_task_ran(index: int, attempt: int, code: int, slept: str) -> None:
    line = job(0.0, groups=[GROUP | {"count": 5, "fails": [1]}])
    (group,) = replay.job_spec(Recorded(0.0, 2, line), Options(speed=20.0))["groups"]
    environ = group["env"] | {"HYDRA_TASK_INDEX": str(index), "HYDRA_ATTEMPT": str(attempt), "PATH": "/bin:/usr/bin"}
    command = group["command"].replace('exec sleep "$1"', 'echo "$1"')
    done = subprocess.run(["/bin/sh", "-c", command], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == code and (float(done.stdout or 0) == float(slept or 0))


def test_a_group_without_what_it_needs_is_refused_by_line_and_field() -> None:
    bad = job(0.0, groups=[{"count": 1, "run_s": [1.0]}])
    with pytest.raises(HydraError, match="line 9: 'memory_mib' is missing"):
        replay.job_spec(Recorded(0.0, 9, bad), Options())


def test_jobs_are_submitted_at_the_traces_pace_those_of_a_moment_together() -> None:
    sent: list[tuple[float, list[str]]] = []
    began, outcome = time.monotonic(), ReplayOutcome()

    def submit(specs: list[dict[str, Any]]) -> list[int]:
        sent.append((time.monotonic() - began, [s["name"] for s in specs]))
        return list(range(len(specs)))

    lines = [Recorded(at, n, job(at)) for n, at in enumerate((0.0, 0.0, 10.0, 10.0, 10.0, 20.0))]
    replay.play(iter(lines), Options(speed=50.0), submit, outcome)
    assert [len(names) for _, names in sent] == [2, 3, 1] and len(outcome.jobs) == 6
    assert sent[1][0] >= 0.2 and sent[2][0] >= 0.4


PLACED = GROUP | {
    "node_labels": "gpu", "nodes": ["n1"], "racks": ["r1"], "strict": True, "partition": "lab", "parallelism": 2,
    "placement": "pack",
}  # fmt: skip


def test_where_tasks_are_to_run_is_asked_for_unless_they_may_run_anywhere() -> None:
    line = Recorded(0.0, 2, job(0.0, groups=[PLACED, GROUP]))
    placed, plain = replay.job_spec(line, Options())["groups"]
    assert (placed["node_labels"], placed["partition"]) == ("gpu", "lab")
    assert placed["locality"] == {"nodes": ["n1"], "racks": ["r1"], "relax": False}
    assert (placed["parallelism"], placed["placement"]) == (2, "pack")
    assert not {"locality", "node_labels", "partition", "parallelism"} & plain.keys()
    anywhere = replay.job_spec(line, Options(anywhere=True))["groups"][0]
    assert not {"locality", "node_labels", "partition"} & anywhere.keys() and anywhere["parallelism"] == 2
    JobSpec.model_validate(replay.job_spec(line, Options()))


def test_what_is_lost_of_a_job_is_said() -> None:
    line = Recorded(0.0, 2, job(0.0, groups=[PLACED], service=True, home="west"))
    assert replay.losses(Recorded(0.0, 2, job(0.0)), Options(anywhere=True)) == []
    service, home = replay.losses(line, Options())
    assert "is a service" in service and "has a home" in home
    assert "may run anywhere" in replay.losses(line, Options(anywhere=True))[2]


class Server:
    """Takes one batch, and is away at the next. gone: it cannot stop anything either."""

    def __init__(self, gone: bool) -> None:
        self.gone, self.taken, self.killed = gone, 0, list[int]()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit_many(self, specs: list[Any]) -> list[int]:
        if self.taken:
            raise client_error("the server is away")
        self.taken = len(specs)
        return list(range(1, len(specs) + 1))

    def kill(self, number: int, _: str) -> None:
        if self.gone:
            raise client_error("the server is still away")
        self.killed.append(number)


@pytest.mark.parametrize("gone", [False, True])
def test_what_was_submitted_is_stopped_when_a_later_batch_is_refused(
    tmp_path: Path, gone: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(gone)
    monkeypatch.setattr(command, "connected", lambda _: server)
    file = history(tmp_path / "a.jsonl", job(0.0), job(0.0, service=True), job(10.0))
    with pytest.raises(HydraError, match="the server is away"):
        command.replay(None, file, speed=100.0, kill=True)  # type: ignore[arg-type]
    told = capsys.readouterr()
    assert server.killed == ([] if gone else [1, 2])
    assert ("not all could be stopped" in told.err + told.out) == gone
    assert "1 job: each is a service" in told.err + told.out
