"""Files that are handed in: what is told of them, what is refused and how, and the bounds of the process that reads."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from simulator.workloads import READERS, handedin, history, open_workload
from tests import mutations
from tests.machine import FACTOR
from tests.stores import ROOT
from tests.unit.client.test_client_traces import FILES
from tests.unit.simulator.workload_cases import same

GROUP = {"count": 1, "memory_mib": 100, "vcores_milli": 1000, "run_s": [5.0]}
JOB = {"at_s": 0.0, "queue": "root.a", "user": "ann", "groups": [GROUP]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(*jobs: dict[str, Any]) -> str:
    return "\n".join(map(json.dumps, ({"format": "hydra-history", "version": 1}, *jobs))) + "\n"


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_becomes_a_history(folder: Path, kind: str) -> None:
    (folder / "trace").write_text(FILES[kind])
    told = handedin.read("jobs", kind, {})
    jobs = list(open_workload(kind, folder / "trace"))
    assert same(history.load(folder / "history.gz"), jobs)
    assert told["jobs"] == len(jobs) and sum(told["queues"].values()) == len(jobs)
    assert told["containers"] == sum(group.count for job in jobs for group in job.groups)
    assert told["span_s"] >= jobs[-1].at_s and told["users"] == len({job.user for job in jobs})


def test_the_header_of_a_log_tells_its_machine(folder: Path) -> None:
    (folder / "trace").write_text("; MaxProcs: 8\n; MaxNodes: 2\n" + FILES["swf"])
    assert handedin.read("jobs", "swf", {"memory_mib": 10})["machines"] == 2
    machines = json.loads((folder / "machines.json").read_text())
    assert [(each["vcores_milli"], each["memory_mib"]) for each in machines] == [(4000, 40)] * 2


def test_nodes_are_in_a_file_of_their_own(folder: Path) -> None:
    (folder / "trace").write_text("sn,cpu_milli,memory_mib,gpu,model\na,1000,2000,0,\nb,1000,2000,2,V100\n")
    assert handedin.read("nodes", "openb", {"queue": "root.of_jobs"}) == {"machines": 2}
    assert json.loads((folder / "machines.json").read_text())[1]["labels"] == {"model": "V100"}
    (folder / "trace").write_text("sn,cpu_milli,memory_mib,gpu,model\na,1000,2000,0,\na,1000,2000,0,\n")
    with pytest.raises(handedin.Wrong, match="a node twice"):
        handedin.read("nodes", "openb", {})
    with pytest.raises(handedin.Wrong, match="traces of the kind history have no file of nodes"):
        handedin.read("nodes", "history", {})


@pytest.mark.parametrize(
    ("text", "says", "remedy"),
    [
        (
            lines(JOB | {"groups": [GROUP | {"count": "many"}]}),
            r"^line 2, field groups\[0\].count: 'many' is not a",
            "give",
        ),
        (lines(JOB, JOB | {"at_s": -1}), "^line 3, field at_s: -1 is too small", "give 0 or more"),
        (lines(JOB | {"at_s": 5}, JOB), "^line 3, field at_s: 0 comes after 5", "sort the jobs"),
        (lines(JOB)[:-3], "^line 2: this is no JSON", "repair"),
        (lines(), "has no job", "give another file"),
        (lines(JOB | {"queue": "root.\0"}), "queue .* of job 0 is no name", "printable"),
        (lines(JOB | {"user": "u" * 300}), "user .* of job 0 is no name", "printable"),
        (lines(JOB, JOB | {"at_s": 4e7}), "goes on for more than a year", "cut the file"),
        (lines(JOB | {"groups": [GROUP | {"count": 10**9}]}), "more than 1,000,000 containers", "cut the file"),
        (lines(JOB | {"groups": [GROUP | {"memory_mib": 10**15}]}), "of memory_mib", "a whole number up to"),
        (
            lines(JOB | {"groups": [GROUP | {"node_labels": "gpu &&"}]}),
            "group tasks of job 0: node_labels",
            "expression",
        ),
        (lines(JOB | {"groups": [GROUP | {"after": ["x"]}]}), "comes after one that is not there", "same job"),
        (lines(JOB | {"groups": [GROUP, GROUP]}), "two groups of one name", "apart"),
        (lines(JOB | {"groups": [GROUP | {"racks": ["r" * 300]}]}), "wants a node", "at most 255"),
        (lines(*[JOB | {"groups": [GROUP | {"nodes": ["n"] * 1_000_001}]}] * 3), "more than 3,000,000 names", "cut"),
        (lines(JOB | {"groups": [GROUP | {"run_s": [1e308]}]}), "1e.308 is not a number", "give a number"),
        (lines(JOB | {"priority": 10**12}), "has the priority", "give -"),
    ],
)
def test_what_is_wrong_names_its_place_and_a_remedy(folder: Path, text: str, says: str, remedy: str) -> None:
    (folder / "trace").write_text(text)
    with pytest.raises(handedin.Wrong, match=says) as found:
        handedin.read("jobs", "history", {})
    assert remedy in found.value.remedy and found.value.field == "trace"


@pytest.mark.parametrize("options", [{"nope": 1}, {"memory_mib": "much"}, {"queue": 7}, {"memory_mib": -1}])
def test_options_are_the_readers(folder: Path, options: dict[str, Any]) -> None:
    (folder / "trace").write_text(FILES["swf"])
    with pytest.raises(handedin.Wrong) as found:
        handedin.read("jobs", "swf", options)
    assert found.value.field == "options" and "memory_mib" in found.value.remedy


@pytest.mark.parametrize("kind", FILES)
def test_whatever_is_handed_in_is_refused_in_words_or_can_be_simulated(folder: Path, kind: str) -> None:
    draw, known = Random(kind), READERS[kind].options
    for no in range(150):
        text = mutations.text(draw, FILES[kind]) if draw.random() < 0.5 else exchanged(draw, FILES[kind])
        (folder / "trace").write_text(text)
        options = {option: draw.choice(mutations.NASTY) for option in known if draw.random() < 0.2}
        try:
            handedin.read("jobs", kind, options)
            assert list(history.load(folder / "history.gz"))
        except handedin.Wrong as error:
            if not str(error) or not error.remedy or len(f"{error}{error.remedy}") > 1000:
                pytest.fail(f"{no}: {error!r}")


def exchanged(draw: Random, text: str) -> str:
    """With something nasty in place of a number or a text."""
    parts = re.split(r"""([^\s,:{}\[\]]+)""", text)
    at = draw.randrange(1, len(parts), 2)
    return "".join((*parts[:at], str(draw.choice(mutations.NASTY))[:400], *parts[at + 1 :]))


@pytest.mark.parametrize("kind", ["synthetic", "tar"])
def test_other_kinds_are_none(folder: Path, kind: str) -> None:
    with pytest.raises(handedin.Wrong, match=f"'{kind}' is no kind of trace"):
        handedin.read("jobs", kind, {})


def test_the_process_keeps_to_its_memory(folder: Path) -> None:
    """A small file that would be large: a line of 600 MiB, where 500 are allowed."""
    with gzip.open(folder / "trace", "wb", 1) as file:
        for _ in range(600):
            file.write(b"x" * (1 << 20))
    code = "from simulator.workloads import handedin as h; h.MEMORY_BYTES = 500 << 20; h.main('jobs', 'history', '{}')"
    env = {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=env, capture_output=True, check=False, timeout=120 * FACTOR
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    assert "GiB of memory" in json.loads((folder / "told.json").read_text())["wrong"]
