"""Lists as people look at them: sorted, cut to columns, watched; and the screen of ``top``."""

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text
from typer.main import get_command

from client.commands.cluster import of, resources
from client.commands.queues import branch_of
from client.commands.top import fullest
from client.errors import HydraError
from client.hydractl import app
from client.looking import Looking, key_of, listed, watched
from client.screen import Column, Format, Unheaded, duration
from contract.base import Amounts, Containers
from contract.jobs import Revision
from contract.problems import Problem
from contract.queues import Queue
from contract.subclusters import Overview, SubCluster
from tests import hydractl
from tests.answers import AT, answer, said_by_the_api

ROOT = Path(__file__).parents[3]
Row = tuple[str, Any]
COLUMNS: list[Column[Row]] = [("NAME", lambda r: r[0]), ("HOW MUCH", lambda r: r[1])]


class Enough(Exception):
    """The test has seen enough."""


def printed(capsys: pytest.CaptureFixture[str], rows: list[Row], **look: str) -> list[list[str]]:
    listed(lambda: rows, COLUMNS, Format.table, nothing="Nothing.", look=Looking(**look))
    return [line.split() for line in capsys.readouterr().out.splitlines()[1:]]


def amounts(**more: int) -> Amounts:
    return Amounts(**{"memory_mib": 0, "vcores_milli": 0, "gpus": 0, **more})


@pytest.mark.parametrize(
    "rising",
    [
        [3, 20, 100.5],
        ["n2", "n10", "rack3-n1"],
        ["3/8", "3/16", "20/3"],
        [of(9, 10), of(50, 60), of(1000, 2000)],
        [resources(amounts(memory_mib=900)), resources(amounts(memory_mib=4096))],
        [resources(amounts(vcores_milli=500)), resources(amounts(memory_mib=1))],
        ["a", "B", "c"],
    ],
)
def test_columns_are_sorted_by_what_they_mean(rising: list[Any]) -> None:
    keys = [key_of(value) for value in rising]
    assert keys == sorted(keys, key=lambda key: key or ()) and len(set(keys)) == len(keys)


def test_times_are_sorted_by_their_length() -> None:
    at = answer(SubCluster).state_at
    spans = [
        duration(at, at.replace(hour=at.hour + hours, second=second)) for hours, second in ((0, 9), (0, 40), (3, 5))
    ]
    assert [key_of(each) for each in spans] == sorted(key_of(each) or () for each in spans)
    assert spans[2] == "3 h 00 min" and key_of(duration(None, None)) is None


def test_rows_without_a_value_stay_last(capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[Row] = [("a", 5), ("b", None), ("c", 40), ("d", "-"), ("e", 7)]
    assert [row[0] for row in printed(capsys, rows, sort="how-much")] == ["a", "e", "c", "b", "d"]
    assert [row[0] for row in printed(capsys, rows, sort="-How Much")] == ["c", "e", "a", "b", "d"]


def test_columns_are_those_that_were_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, [("a", 5)], columns="how_much, name") == [["5", "a"]]
    assert printed(capsys, [("a", 5), ("b", 4)], columns="name", sort="howmuch") == [["b"], ["a"]]


def test_a_column_without_a_heading_has_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    columns: list[Column[Row]] = [(Unheaded("MARK"), lambda r: r[1]), *COLUMNS[:1]]
    for look in (Looking(sort="mark"), Looking(sort="mark", columns="mark,name")):
        listed(lambda: [("a", " "), ("b", "*")], columns, Format.table, nothing="Nothing.", look=look)
        assert [line.split() for line in capsys.readouterr().out.splitlines()] == [["NAME"], ["*", "b"], ["a"]]
    with pytest.raises(HydraError, match=r"There are: mark, name\."):
        listed(list, columns, Format.table, nothing="Nothing.", look=Looking(columns=""))


@pytest.mark.parametrize("option", ["sort", "columns"])
def test_a_column_that_is_none_is_said(capsys: pytest.CaptureFixture[str], option: str) -> None:
    with pytest.raises(HydraError, match=f"{option}: there is no column 'size'. There are: name, how-much."):
        printed(capsys, [], **{option: "size"})


def test_watching_outlasts_an_outage_and_ends_with_a_refusal(capsys: pytest.CaptureFixture[str]) -> None:
    away, refused = (HydraError(Problem(title=title, status=n)) for title, n in (("it is away", 503), ("no", 403)))
    answers: list[str | HydraError] = ["one", away, "two", refused]
    pauses: list[float] = []

    def picture() -> Text:
        found = answers.pop(0)
        if isinstance(found, HydraError):
            raise found
        return Text(found)

    with pytest.raises(HydraError, match="no"):
        watched(picture, 0.5, pauses.append)
    said = capsys.readouterr().out.splitlines()
    assert said[1::2] == ["one", "it is away.", "two"]
    assert all(line.endswith(", every 0.5 s") for line in said[::2]) and pauses == [0.5] * 3


def test_the_first_look_has_to_succeed() -> None:
    def picture() -> Text:
        raise Enough

    with pytest.raises(Enough):
        watched(picture, 1)


def test_the_fullest_queues_come_first() -> None:
    def queue(path: str, pending: int = 0, **used: int) -> Queue:
        held = Containers(containers=0, **{"memory_mib": 0, "vcores_milli": 0, "gpus": 0, **used})
        return answer(Queue, path=path, leaf="." in path, pending=pending, used=held.model_dump())

    queues = [
        queue("root", memory_mib=1000), queue("root.a", memory_mib=100), queue("root.b", 3), queue("root.c", 9),
        queue("root.d", gpus=1),
    ]  # fmt: skip
    capacity = amounts(memory_mib=1000, gpus=4).model_dump()
    overview = answer(Overview, queues=[q.model_dump() for q in queues], capacity=capacity)
    assert [q.path for q in fullest(overview, 3)] == ["root.d", "root.a", "root.c"]


@pytest.fixture
def env(cluster: Any, tmp_path: Path) -> dict[str, str]:
    queue = said_by_the_api(Queue, path="root.a", leaf=True, running_jobs=1, live_jobs=2)
    queue["used"]["memory_mib"] = 512
    place = said_by_the_api(SubCluster, name="east", state="active", live_containers=7)
    capacity = {"memory_mib": 1024, "vcores_milli": 4000, "gpus": 0}
    cluster.overview = {"queues": [queue], "sub_clusters": [place], "capacity": capacity, "jobs": {"RUNNING": 2}}
    for number, name in enumerate(("b", "a10", "a9"), 1):
        cluster.add_job({"name": name, "groups": [{"name": "g"}]}, "RUNNING")["tags"] = [f"t{number % 2}"]
    cluster.jobs[2] |= {"state": "SUCCEEDED", "finished_at": AT}
    cluster.nodes = [{"id": 5, "name": "n5", "state": "UP"}]
    cluster.containers = [{"id": "c-1-1-1", "job": job, "on": 5} for job in (1, 2, 1, 3, 99)]
    return {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "HYDRA_URL": cluster.url,
        "HYDRA_TOKEN": "secret-token",
    }  # fmt: skip


def run(env: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    return hydractl.run(words, env)


def test_top_shows_places_queues_and_ones_own_jobs_once(cluster: Any, env: dict[str, str]) -> None:
    done = run(env, "top", "--once", "--rows", "2")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0][-2:] == ["jobs", "RUNNING=2"]
    assert ["root.a", "50", "%"] in [line[:3] for line in lines]
    assert ["east", "active"] in [line[:2] for line in lines]
    assert [line[1] for line in lines if line[:1] in (["1"], ["2"], ["3"])] == ["b", "a10"]
    (asked,) = cluster.requests("GET", "/jobs")
    assert asked.query["owner"] == "ada" and asked.query["state"] == "live"
    found = json.loads(run(env, "top", "-o", "json").stdout)
    assert found["overview"]["sub_clusters"][0]["live_containers"] == 7 and len(found["jobs"]) == 3


def test_jobs_of_a_node_are_asked_for_by_its_name(cluster: Any, env: dict[str, str]) -> None:
    cluster.nodes = [{"id": 5, "name": "node-5", "state": "UP", "sub_cluster": "east"}]
    assert run(env, "jobs", "--node", "node-5", "--since", "-1h", "--tag", "t1").returncode == 0
    asked = cluster.requests("GET", "/jobs")[0]
    assert (asked.query["node"], asked.query["tag"], "since" in asked.query) == ("node-5", "t1", True)
    assert run(env, "jobs", "--node", "5").returncode == 0
    assert cluster.requests("GET", "/jobs")[-1].query["node"] == "east/node-5", "by its number"
    refused = run(env, "jobs", "--node", "node-6")
    assert refused.returncode == 2 and "there is no node node-6. Did you mean node-5?" in refused.stderr


def test_a_bare_span_is_in_the_past(cluster: Any, env: dict[str, str]) -> None:
    def asked(since: str) -> str:
        before = len(cluster.requests("GET", "/jobs"))
        assert run(env, "jobs", "--since", since).returncode == 0
        return str(cluster.requests("GET", "/jobs")[before].query["since"])

    bare, signed, day = map(asked, ("10m", "-10m", "2030-01-31"))
    assert abs(datetime.fromisoformat(bare) - datetime.fromisoformat(signed)) < timedelta(minutes=1)
    assert datetime.fromisoformat(bare) < datetime.now(UTC)
    assert datetime.fromisoformat(day) == datetime(2030, 1, 31).astimezone(), "as logs --since reads it"


def test_lists_are_sorted_and_cut_from_the_shell(env: dict[str, str]) -> None:
    done = run(env, "jobs", "--sort", "name", "--columns", "name,job")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["NAME", "JOB"], ["a9", "3"], ["a10", "2"], ["b", "1"],
    ]  # fmt: skip
    assert [j["id"] for j in json.loads(run(env, "jobs", "--sort", "-name", "-o", "json").stdout)] == [1, 2, 3]
    for command in (["nodes"], ["queues"], ["tasks", "1"]):
        assert "There are: " in run(env, *command, "--sort", "colour").stderr
    refused = run(env, "nodes", "-w", "1", "-o", "json")
    assert (refused.returncode, refused.stderr) == (
        2,
        "hydractl: --watch: does not go with -o json. Leave one of them out.\n",
    )
    forgotten = run(env | {"HYDRA_OUTPUT": "json"}, "nodes", "-w", "1")
    assert forgotten.stderr == "hydractl: --watch: does not go with HYDRA_OUTPUT=json. Add -o table.\n"


def test_a_misspelt_queue_is_not_taken_for_an_idle_one(cluster: Any, env: dict[str, str]) -> None:
    cluster.jobs.clear()
    nothing = run(env, "jobs", "--queue", "roott").stderr
    assert nothing == "No such jobs. There is no queue roott that you may use now. Did you mean root?\n"
    assert run(env, "jobs", "--queue", "root").stderr == "No such jobs.\n"
    assert run(env, "jobs").stderr == "No such jobs.\n"
    assert run(env, "jobs", "--queue", "roott", "-o", "json").stdout.strip() == "[]"


def test_a_queue_is_shown_with_those_below_it(env: dict[str, str]) -> None:
    known = [answer(Queue, path=path) for path in ("root", "root.a", "root.a.x", "root.ab")]
    assert [q.path for q in branch_of("root.a", lambda: known)()] == ["root.a", "root.a.x"]
    assert branch_of(None, lambda: known)() == known
    assert run(env, "queues", "root", "--columns", "queue").stdout.split() == ["QUEUE", "root"]
    wrong = run(env, "queues", "roott")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "there is no queue roott that you may see. Did you mean root? See: hydractl queues" in wrong.stderr
    for option in ("--why", "--under"):
        assert "names its queue itself" in run(env, "queues", "root", option, "root").stderr


def test_tasks_and_containers_are_sorted_and_cut(cluster: Any, env: dict[str, str]) -> None:
    cluster.tasks = [{"group": "g", "index": n, "state": "RUNNING", "attempts": 20 - n} for n in (2, 10, 9)]
    cluster.containers = [{"id": f"c-1-1-{n}", "group": "g", "index": n, "state": "RUNNING"} for n in (9, 10)]
    tasks = run(env, "tasks", "1", "--sort", "task", "--columns", "task,attempts").stdout
    assert [line.split() for line in tasks.splitlines()[1:]] == [["g/2", "18"], ["g/9", "11"], ["g/10", "10"]]
    found = run(env, "containers", "1", "--sort", "-container", "--columns", "container").stdout
    assert found.split() == ["CONTAINER", "c-1-1-10", "c-1-1-9"]


def test_what_a_job_leaves_and_a_node_runs_is_sorted_and_cut(cluster: Any, env: dict[str, str]) -> None:
    cluster.outputs = [{"name": name, "size": size} for name, size in (("a", 900), ("b", 4096), ("c", 2048))]
    outputs = run(env, "outputs", "1", "--sort", "-size", "--columns", "size,output").stdout
    assert [line.split()[-1] for line in outputs.splitlines()] == ["OUTPUT", "b", "c", "a"]
    cluster.containers = [{"id": f"c-1-1-{n}", "job": 1, "on": 5} for n in (9, 10)]
    there = run(env, "node", "n5", "--containers", "--sort", "-container", "--columns", "container").stdout
    assert there.split() == ["CONTAINER", "c-1-1-10", "c-1-1-9"]


@pytest.mark.parametrize(
    ("typed", "option"),
    [
        ("node n5 --sort took", "sort"),
        ("policy proposals 3 -w 1", "watch"),
        ("policy simulations 3 --columns state", "columns"),
    ],
)
def test_one_thing_is_no_list(cluster: Any, env: dict[str, str], typed: str, option: str) -> None:
    refused = run(env, *typed.split())
    assert refused.returncode == 2 and f"{option}: is of a list. Leave it out" in refused.stderr
    assert not cluster.seen


def test_lists_are_looked_at_alike() -> None:
    looked_at = set()
    known = list(commands(get_command(app)))
    for name, command in known:
        options = {option for each in command.params for option in each.opts} & {"--sort", "--columns"}
        assert len(options) in (0, 2), name
        if options:
            assert any("-w" in each.opts for each in command.params), name
            looked_at.add(name)
    assert looked_at >= {"jobs", "tasks", "containers", "events", "nodes", "queues", "schedule list", "sub-clusters"}
    assert looked_at >= {"outputs", "revisions", "account tokens", "node show"}
    assert looked_at >= {f"policy {what}" for what in ("versions", "proposals", "simulations", "traces")}
    assert looked_at >= {name for name, _ in known if name.endswith(" list")}


def test_every_command_stands_with_its_like() -> None:
    alone = [name for name, command in get_command(app).commands.items() if not command.rich_help_panel]  # type: ignore[attr-defined]
    assert alone == []


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command under a group, by its whole name."""
    for name, command in group.commands.items():
        yield from commands(command, f"{name} ") if hasattr(command, "commands") else [(before + name, command)]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("jobs --columns name,st", ["name,state"]),
        ("nodes --sort cont", ["containers"]),
        (
            "queues --sort ma",
            ["maximum", "max-jobs", "max-prio"],
        ),
    ],
)
def test_columns_are_completed(env: dict[str, str], typed: str, offered: list[str]) -> None:
    words = f"hydractl {typed}"
    asked = {"_HYDRACTL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert hydractl.run((), env | asked).stdout.split() == offered


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("logs 4/", ["4/map", "4/reduce"]),
        ("logs 4/map/1", ["4/map/1", "4/map/10", "4/map/11"]),
        ("exec 4/r", ["4/reduce"]),
        ("logs 4/none/", []),
        ("logs c-1-1-1/", []),
    ],
)
def test_tasks_of_a_job_are_completed(cluster: Any, env: dict[str, str], typed: str, offered: list[str]) -> None:
    cluster.add_job({"name": "four", "groups": [{"name": "map", "count": 12}, {"name": "reduce"}]}, "RUNNING")
    words = f"hydractl {typed}"
    asked = {"_HYDRACTL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    assert hydractl.run((), env | asked).stdout.split() == offered
    assert len(cluster.seen) <= 1


def watching(env: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "client", *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_list_in_a_pipe_is_watched_table_by_table(cluster: Any, env: dict[str, str]) -> None:
    process = watching(env, "queues", "-w", "0.2", "--columns", "queue,pending")
    assert process.stdout is not None
    lines = [process.stdout.readline().decode().split() for _ in range(6)]
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert lines[1:3] == lines[4:6] == [["QUEUE", "PENDING"], ["root", "3"]]


def test_a_watched_service_says_what_is_in_force_now(cluster: Any, env: dict[str, str]) -> None:
    cluster.revisions = [said_by_the_api(Revision, revision=number, outcome="", back=None) for number in (2, 1)]
    in_force = chain((1,), repeat(2))
    cluster.on_get_job = lambda job: job.update(revision=next(in_force))
    process = watching(env, "revisions", "1", "-w", "0.2", "--columns", "revision,what-became-of-it")
    assert process.stdout is not None
    lines = [process.stdout.readline().decode().split() for _ in range(8)]
    process.send_signal(signal.SIGINT)
    process.communicate()
    first, second = lines[2:4], lines[6:8]
    assert first == [["2", "followed", "by", "another"], ["1", "in", "force"]]
    assert second == [["2", "in", "force"], ["1", "followed", "by", "another"]]


def test_a_terminal_is_drawn_in_place(cluster: Any, env: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "client", "top", "-i", "0.2"],
        env={**env, "TERM": "xterm", "COLUMNS": "150", "LINES": "40"}, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    seen = b""
    while min(seen.count(b"every 0.2 s"), seen.count(b"root.a")) < 3:  # a terminal hands a picture on in pieces
        seen += os.read(ours, 65536)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    os.close(ours)
    assert b"\x1b[1A" in seen
