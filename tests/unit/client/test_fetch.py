"""What ``hydractl fetch`` stores of a job's outputs, and where."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from client.commands.data import place
from client.errors import HydraError
from contract.jobs import Output
from tests import hydractl
from tests.answers import answer


def outputs(cluster: Any) -> None:
    cluster.add_job({"name": "a", "groups": [{"name": "map", "count": 2}, {"name": "reduce"}]}, "SUCCEEDED")
    rows = [("map", 0, "part", "part.json"), ("map", 1, "part", "part.json"), ("reduce", 0, "report", "out/r.txt")]
    for group, index, name, path in rows:
        data = f"{group}/{index}".encode()
        digest = hashlib.sha256(data).hexdigest()
        cluster.artifacts[digest] = data
        cluster.outputs.append(
            {"group": group, "index": index, "name": name, "path": path, "digest": digest, "size": len(data)}
        )


def _run(env: dict[str, str], *words: str) -> Any:
    return hydractl.run(words, env)


def test_fetch_stores_outputs_by_group_and_prints_one(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    outputs(cluster)
    done = hydractl.run(("fetch", "1"), env, "", tmp_path)
    paths = ["job-1/map/0/part.json", "job-1/map/1/part.json", "job-1/reduce/out/r.txt"]
    assert done.stdout.split() == paths
    assert [(tmp_path / p).read_text() for p in paths] == ["map/0", "map/1", "reduce/0"]
    assert _run(env, "fetch", "1", "report", "--stdout").stdout == "reduce/0"
    ambiguous = _run(env, "fetch", "1", "part", "--stdout")
    assert (ambiguous.returncode, "--index" in ambiguous.stderr) == (2, True)
    assert _run(env, "fetch", "1", "part", "-i", "1", "--stdout").stdout == "map/1"
    assert _run(env, "fetch", "1", "nothing").returncode == 2


def test_outputs_that_are_not_there_are_named(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    outputs(cluster)
    part, seen = {"name": "part", "path": "p"}, {"name": "seen", "path": "s", "optional": True}
    of = {"map": 6, "reduce": 1}
    groups = [{"name": name, "count": count, "outputs": [part, seen]} for name, count in of.items()]
    cluster.jobs.clear()
    job = cluster.add_job({"name": "a", "groups": groups}, "FAILED")
    done = hydractl.run(("fetch", "1"), env, "", tmp_path)
    names = "part of map/2, part of map/3, part of map/4 and 2 more"
    assert (done.returncode, len(done.stdout.splitlines())) == (1, 3)
    assert done.stderr == f"5 of 8 outputs are not there: {names}. See: hydractl tasks 1\n"
    one = hydractl.run(("fetch", "1", "-g", "map", "-i", "0"), env, "", tmp_path)
    assert (one.returncode, one.stderr) == (0, "")
    job["state"] = "RUNNING"
    said = hydractl.run(("fetch", "1", "part", "-o", "json"), env, "", tmp_path)
    assert (len(json.loads(said.stdout)), said.stderr.partition(":")[0]) == (2, "5 of 7 outputs are not there yet")


@pytest.mark.parametrize(
    ("state", "named", "why", "remedy"),
    [
        (
            "SUCCEEDED",
            [{"name": "a", "path": "a", "optional": True}],
            "job 1 left no outputs",
            "All that it names are",
        ),
        ("FAILED", [{"name": "a", "path": "a"}], "job 1 left no outputs", "What its tasks did: hydractl tasks 1"),
        ("RUNNING", [{"name": "a", "path": "a", "optional": True}], "job 1 has left no outputs yet", "What its tasks"),
        ("SUCCEEDED", [], "job 1 left no outputs", "Groups name them under outputs:."),
    ],
)
def test_why_there_is_nothing_to_fetch_is_told(
    cluster: Any, env: dict[str, str], state: str, named: list[Any], why: str, remedy: str
) -> None:
    cluster.add_job({"name": "a", "groups": [{"name": "map", "outputs": named}]}, state)
    fetched = _run(env, "fetch", "1")
    assert (fetched.returncode, f"hydractl: {why}. {remedy}" in fetched.stderr) == (2, True), fetched.stderr
    said = _run(env, "outputs", "1")
    assert f"{why[0].upper()}{why[1:]}. {remedy}" in said.stdout + said.stderr
    chosen = _run(env, "fetch", "1", "other").stderr
    assert f"output: job 1 has no such output{' yet' * (state == 'RUNNING')}. See: hydractl outputs 1" in chosen


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "a\\..\\x", "nul\x00", "."])
def test_no_output_leaves_the_folder(path: str) -> None:
    with pytest.raises(HydraError, match=r"outside|artifacts get"):
        group = ".." if path == "." else "g"
        place(Path("job-1"), answer(Output, group=group, path=path, digest="0" * 64), several=False)
