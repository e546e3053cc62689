"""Batch logs: what becomes of a line, which lines are no jobs, and errors that name the place."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from simulator.workload import Disordered, in_order
from simulator.workloads import swf
from simulator.workloads.files import Unreadable
from tests.unit.simulator.workload_cases import real, same, written

NASA = "swf/NASA-iPSC-1993-3.1-cln.swf.gz"
HEADER = """\
; Version: 2.2
; UnixStartTime: 749458803
; MaxNodes: 3
; MaxProcs: 8
; Queue:  0  interactive
; Queue:  1  batch
; Note: first
;       goes on
"""


def line(job=1, submit=0, run=60, used=4, asked=8, time=-1, memory=-1, status=1, user=7, queue=1) -> str:
    return f"{job} {submit} -1 {run} {used} -1 -1 {asked} {time} {memory} {status} {user} 1 -1 {queue} -1 -1 -1\n"


def log(folder: Path, *lines: str, name: str = "log.swf") -> Path:
    return written(folder / name, HEADER + "".join(lines))


def test_the_log_of_the_archive():
    source = swf.read(real(NASA))
    jobs = list(in_order(source))
    assert len(jobs) == 18_066
    assert source.skipped == {"zero run time": 173}
    assert len(jobs) + source.skipped.total() == 18_239
    assert {g.gang for job in jobs for g in job.groups} == {True}
    assert len({job.user for job in jobs}) <= 69
    work = sum(g.count * g.run_s[0] for job in jobs for g in job.groups)
    assert work / 128 / jobs[-1].at_s == pytest.approx(0.466, abs=0.001)  # the offered load that is told of it
    assert source.facts["UnixStartTime"] == "749458803"
    assert len(swf.machines(real(NASA))) == 128
    kept = swf.read(real(NASA), zero_run_s=0.5)
    assert sum(job.groups[0].run_s[0] == 0.5 for job in kept) == 173


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_a_line_is_a_gang(tmp_path: Path, name: str):
    path = log(tmp_path, line(job=12, submit=5, time=90), "\n; between\n", line(job=13, submit=5, user=-1), name=name)
    first, second = swf.read(path, memory_mib=512)
    (group,) = first.groups
    assert (first.at_s, first.number, first.user, first.queue) == (5.0, 12, "u7", "root.default")
    assert (group.count, group.memory_mib, group.vcores_milli, group.gang) == (8, 512, 1000, True)
    assert (group.run_s.tolist(), group.estimate_s) == ([60.0], 90.0)
    assert (second.user, second.groups[0].estimate_s) == ("unknown", 0.0)


def test_a_source_may_be_read_again(tmp_path: Path):
    source = swf.read(log(tmp_path, line(), line(run=0)))
    assert same(source, source)
    assert source.skipped == {"zero run time": 1}


def test_what_the_log_does_not_say(tmp_path: Path):
    path = log(tmp_path, line(asked=-1, memory=1025), line(run=1.5, asked=0))
    first, second = swf.read(path, missing_estimate="exact")
    assert (first.groups[0].count, first.groups[0].memory_mib) == (4, 2)
    assert (second.groups[0].count, second.groups[0].estimate_s) == (4, 1.5)


def test_lines_that_are_no_jobs(tmp_path: Path):
    lines = [
        line(run=-1), line(run=0), line(used=-1, asked=-1), line(submit=-1), line(status=2), line(status=3),
        line(status=4), line(status=0), line(status=5), line(),
    ]  # fmt: skip
    source = swf.read(log(tmp_path, *lines))
    assert len(list(source)) == 3
    assert source.skipped == {
        "unknown run time": 1, "zero run time": 1, "no processors": 1, "unknown submit time": 1,
        "part of another line's job": 3,
    }  # fmt: skip
    source = swf.read(log(tmp_path, *lines), keep_failed=False)
    assert len(list(source)) == 1
    assert source.skipped["failed or cancelled"] == 2


def test_queues_by_number(tmp_path: Path):
    path = log(tmp_path, line(queue=0), line(queue=1))
    assert [job.queue for job in swf.read(path, queue={0: "root.i", 1: "root.b"})] == ["root.i", "root.b"]
    assert [job.queue for job in swf.read(path, queue={"0": "root.i", "1": "root.b"})] == ["root.i", "root.b"]
    with pytest.raises(Unreadable, match=r"line 10, field 15 \(queue\): there is no queue for 1; add 1 to the option"):
        list(swf.read(path, queue={0: "root.i"}))


def test_the_header(tmp_path: Path):
    found = swf.header(log(tmp_path, line()))
    assert (found.max_procs, found.max_nodes, found.unix_start_s) == (8, 3, 749458803)
    assert found.queues == {0: "interactive", 1: "batch"}
    assert found.fields["Note"] == "first\ngoes on"
    machines = swf.machines(log(tmp_path, line()), memory_mib=100)
    assert [(m.vcores_milli, m.memory_mib) for m in machines] == [(3000, 300), (3000, 300), (2000, 200)]
    with pytest.raises(Unreadable, match="MaxProcs: N"):
        swf.machines(written(tmp_path / "bare", line()))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (line().replace("60", "sixty"), r"line 9, field 4 \(run time\): 'sixty' is not a number; give a number"),
        (line(run="nan"), r"field 4 \(run time\): 'nan' is not a number"),
        (line(asked=1.5), r"field 8 \(requested processors\): '1.5' is not whole"),
        ("1 2 3\n", r"line 9, field 4 \(run time\): the line has 3 fields; give 18 numbers"),
        (line().strip() + " 9\n", r"field 19: the line has 19 fields"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, wrong: str, told: str):
    path = log(tmp_path, wrong)
    with pytest.raises(Unreadable, match=told) as found:
        list(swf.read(path))
    assert str(found.value).startswith(f"{path}, line 9")


def test_a_log_that_goes_back_in_time(tmp_path: Path):
    with pytest.raises(Disordered, match=r"line 10, field 2 \(submit time\): 3 comes after 4; sort the log"):
        list(swf.read(log(tmp_path, line(submit=4), line(submit=3))))


def test_a_damaged_file(tmp_path: Path):
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress((HEADER + line() * 2000).encode(), 0)[:-2000])
    with pytest.raises(Unreadable, match="the file is damaged"):
        list(swf.read(path))


def test_options_are_checked(tmp_path: Path):
    with pytest.raises(ValueError, match="missing_estimate: 'perfect' is unknown; use one of: exact, none"):
        swf.read(log(tmp_path), missing_estimate="perfect")
    with pytest.raises(ValueError, match="memory_mib: 0 is no size"):
        swf.read(log(tmp_path), memory_mib=0)


def test_memory_does_not_grow_with_the_log(tmp_path: Path):
    path = log(tmp_path, *(line(job=i, submit=i) for i in range(5000)), name="log.swf.gz")
    tracemalloc.start()
    assert sum(1 for _ in swf.read(path)) == 5000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
