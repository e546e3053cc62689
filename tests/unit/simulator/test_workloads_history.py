"""Histories: what is written is what is read, and errors name line and field."""

import json
import math
import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.workload import Disordered, Submission, SubmittedGroup
from simulator.workloads import history, swf, synthetic
from simulator.workloads.files import Unreadable
from simulator.workloads.shape import WorkloadShape
from tests.examples import examples
from tests.stores import ROOT
from tests.unit.simulator.workload_cases import real, same, written
from wire.resources import AXES

seconds = st.floats(0, 1e12, allow_nan=False)
whole = st.integers(0, 2**60)
names = st.text(max_size=8)
sets = st.lists(names, max_size=3).map(tuple)


@st.composite
def groups(draw) -> SubmittedGroup:
    count = draw(st.integers(1, 5))
    length = draw(st.sampled_from([1, count]))
    return SubmittedGroup(
        count=count,
        memory_mib=draw(whole),
        vcores_milli=draw(whole),
        run_s=np.array(draw(st.lists(seconds, min_size=length, max_size=length))),
        name=draw(names),
        gpus=draw(st.integers(0, 8)),
        estimate_s=draw(seconds),
        gang=draw(st.booleans()),
        node_labels=draw(names),
        nodes=draw(sets),
        racks=draw(sets),
        strict=draw(st.booleans()),
        after=draw(sets),
        retries=draw(st.integers(0, 9)),
        fails=draw(st.lists(st.integers(0, count - 1), max_size=2).map(tuple)),
        partition=draw(st.none() | names),
    )


jobs = st.builds(
    Submission,
    at_s=seconds,
    queue=names,
    user=names,
    groups=st.lists(groups(), min_size=1, max_size=2).map(tuple),
    number=whole,
    priority=st.integers(-500, 500),
    home=names,
    service=st.booleans(),
)


@examples(40)
@given(st.lists(jobs, max_size=4).map(lambda found: sorted(found, key=lambda job: job.at_s)), st.booleans())
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, found: list[Submission], packed: bool):
    path = tmp_path_factory.mktemp("history") / ("h.jsonl.gz" if packed else "h.jsonl")
    assert history.dump(found, path) == len(found)
    assert same(found, history.load(path))
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_every_field_is_read_and_told(tmp_path: Path):
    asked = {axis: 1 + at for at, axis in enumerate(AXES)}
    group = SubmittedGroup(
        2, run_s=np.array([1.0]), name="g", estimate_s=2.0, gang=True, node_labels="a == b", nodes=("n",), racks=("r",),
        strict=True, after=("f",), retries=1, fails=(0,), partition="gpu", parallelism=2,
        placement="pack", timeout_s=9.0, **asked,
    )  # fmt: skip
    given = Submission(1.0, "root.a", "ann", (group,), 7, 3, "west", True)
    history.dump([given], tmp_path / "h")
    (found,) = history.load(tmp_path / "h")
    for names, one, other in ((history.JOB_FIELDS, given, found), (history.GROUP_FIELDS, group, found.groups[0])):
        for name in names:
            assert getattr(one, name) != history.DEFAULTS.get(name), f"{name} has its default, so nothing is tested"
            assert name == "groups" or getattr(other, name) == getattr(one, name), name
    manual = (ROOT / "docs/operators.md").read_text()
    table = manual.partition('{"format": "hydra-history"')[2].partition("\n\n## ")[0]
    for name in (*history.JOB_FIELDS, *history.GROUP_FIELDS):
        assert re.search(rf"^ +.*\b{name}\b", history.__doc__ or "", re.M), f"the module's text does not tell {name}"
        assert f"`{name}`" in table, f"docs/operators.md does not tell {name}"


def test_drawn_jobs_and_a_log(tmp_path: Path):
    source = synthetic.generate(0, WorkloadShape(horizon_s=3600.0, failing=0.1))
    count = history.dump(source, tmp_path / "h.gz")
    assert same(source, history.read(tmp_path / "h.gz"))
    assert count == len(list(history.load(tmp_path / "h.gz")))
    history.dump(source, tmp_path / "again.gz")
    assert (tmp_path / "h.gz").read_bytes() == (tmp_path / "again.gz").read_bytes()


def test_the_log_of_the_archive(tmp_path: Path):
    found = list(islice(swf.read(real("swf/NASA-iPSC-1993-3.1-cln.swf.gz")), 4000))
    assert history.dump(found, tmp_path / "h.gz") == 4000
    assert same(found, history.load(tmp_path / "h.gz"))


def job(at_s: float = 0.0, run_s: float = 1.0) -> Submission:
    return Submission(at_s, "root.a", "ann", (SubmittedGroup(2, 10, 100, np.array([run_s])),))


def test_only_what_is_no_default_is_written(tmp_path: Path):
    history.dump([job()], tmp_path / "h")
    first, second = (json.loads(line) for line in (tmp_path / "h").read_text().splitlines())
    assert first == {"format": "hydra-history", "version": 1}
    group = {"count": 2, "memory_mib": 10, "vcores_milli": 100, "run_s": [1.0]}
    assert second == {"at_s": 0.0, "queue": "root.a", "user": "ann", "groups": [group]}


def test_numbers_of_numpy(tmp_path: Path):
    group = SubmittedGroup(
        np.int64(1), np.int32(2), np.int64(3), np.array([0.1]), estimate_s=np.float64(0.3), fails=(0,)
    )
    history.dump([Submission(np.float64(0.1), "root.a", "b", (group,), np.int64(2**53 + 1))], tmp_path / "h")
    (found,) = history.load(tmp_path / "h")
    assert (found.at_s, found.number, found.groups[0].estimate_s) == (0.1, 2**53 + 1, 0.3)


def test_a_dump_that_fails_leaves_what_was_there(tmp_path: Path):
    path = written(tmp_path / "h", "before")
    with pytest.raises(Disordered):
        history.dump([job(2.0), job(1.0)], path)
    with pytest.raises(ValueError, match=r"job 0 cannot be written: .*; give finite numbers"):
        history.dump([job(run_s=math.inf)], path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


HEAD = '{"format": "hydra-history", "version": 1}\n'


def line(group: dict | None = None, **more) -> str:
    of = {"count": 2, "memory_mib": 1, "vcores_milli": 1, "run_s": [1]} | (group or {})
    return HEAD + json.dumps({"at_s": 1, "queue": "root.a", "user": "b", "groups": [of]} | more) + "\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1, field format: the file is empty; give a history"),
        ("{}\n", "line 1, field format: this is no history"),
        (HEAD.replace("1}", "2}"), "line 1, field version: 2 is not known here; write the history as version 1"),
        (HEAD.replace("1}", '"1"}'), "field version: '1' is not a number"),
        (HEAD + "{\n", "line 2: this is no JSON"),
        (HEAD + "[]\n", "line 2: an object was expected"),
        (line(at_s=-1), "line 2, field at_s: -1 is too small; give 0 or more"),
        (line(at_s=True), "field at_s: True is not a number"),
        (line(at_s=1e999), "field at_s: inf is not a number"),
        (line(queue=None), "field queue: None is not a text; give a text in quotes"),
        (line(groups=[]), "field groups: there is none; give at least one"),
        (line(groups=[3]), r"field groups\[0\]: '3' is not an object"),
        (line(color=1), "field color: is unknown; remove it, or use one of: at_s, queue, user"),
        (line({"size": 1}), r"field groups\[0\]\.size: is unknown"),
        (line({"count": 0}), r"field groups\[0\]\.count: 0 is too small; give 1 or more"),
        (line({"count": 1.5}), r"field groups\[0\]\.count: 1.5 is not whole; give a whole number"),
        (line({"placement": "wide"}), r"groups\[0\]\.placement: 'wide' is none; give spread or pack, or null"),
        (line({"run_s": [1, 2, 3]}), r"groups\[0\]\.run_s: there are 3 numbers for 2 tasks; give 1 or 2"),
        (line({"count": 1, "run_s": [1, 2]}), r"groups\[0\]\.run_s: there are 2 numbers for 1 tasks; give one"),
        (line({"run_s": [1, "x"]}), r"groups\[0\]\.run_s\[1\]: 'x' is not a number"),
        (line({"run_s": [1, -1]}), r"groups\[0\]\.run_s\[1\]: -1 is too small"),
        (line({"gang": 1}), r"groups\[0\]\.gang: 1 is neither true nor false"),
        (line({"nodes": ["a", 2]}), r"groups\[0\]\.nodes\[1\]: '2' is not a text"),
        (line(service=1), "field service: 1 is neither true nor false"),
        (line({"partition": 3}), r"groups\[0\]\.partition: 3 is not a text"),
        (line({"fails": [2]}), r"groups\[0\]\.fails\[0\]: '2' is no task; give a number from 0 to 1"),
        (line(at_s=5) + line(at_s=4).removeprefix(HEAD), "line 3, field at_s: 4 comes after 5; sort the jobs by at_s"),
    ],
)
def test_errors_name_line_and_field(tmp_path: Path, text: str, told: str):
    path = written(tmp_path / "h", text)
    with pytest.raises(Unreadable, match=told) as found:
        list(history.load(path))
    assert str(found.value).startswith(str(path))
