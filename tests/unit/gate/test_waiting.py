"""Patience in answered time, the machine's factor, and limits that are judged by how quiet the machine was."""

import json
from pathlib import Path

import pytest

from tests import limits, machine, patience
from tests.gate.stages import FAULTS, GATE_LANES, KERNELS, PLAIN
from tests.machine import REFERENCE, Stall
from tests.stores import ROOT


class Time:
    """A clock that jumps when told to, in place of the real one."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(patience, "time", clock)
    monkeypatch.setattr(patience, "FACTOR", 1.0)
    return clock


def test_a_stall_uses_no_patience_up(time: Time) -> None:
    looks = 0

    def after_two_minutes_standstill() -> bool:
        nonlocal looks
        looks += 1
        time.now += 60.0 if looks < 3 else 0.0
        return looks > 5

    assert patience.wait_until(after_two_minutes_standstill, 1.0)
    assert time.now > 220


def test_what_never_comes_is_given_up_and_named(time: Time) -> None:
    with pytest.raises(patience.RanOut, match="not within 30 s: a leader"):
        patience.wait_until(lambda: None, 10.0, "a leader", 0.1)


def test_a_slower_machine_is_waited_for_longer(time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "FACTOR", 4.0)
    with pytest.raises(patience.RanOut):
        patience.wait_until(lambda: None, 10.0, "a leader", 0.1)
    assert 219 < time.now < 222


def test_looks_come_less_often_the_longer_it_takes_and_what_comes_is_seen_soon(time: Time) -> None:
    looks: list[float] = []

    def at_last() -> bool:
        looks.append(time.now)
        return time.now > 140

    assert patience.wait_until(at_last, 60.0)
    assert looks[1] - looks[0] == pytest.approx(0.05) and looks[-1] - looks[-2] == pytest.approx(0.25)
    assert len(looks) < 200


@pytest.mark.parametrize(("slowness", "factor"), [(0.5, 1.0), (1.0, 1.0), (2.5, 2.5), (40.0, 6.0)])
def test_the_factor_is_the_slowest_of_what_was_measured(slowness: float, factor: float) -> None:
    measured = {name: seconds * 0.5 for name, seconds in REFERENCE.items()}
    measured["loop"] = REFERENCE["loop"] * slowness
    assert machine.factor(measured) == pytest.approx(factor)


def test_this_machine_can_be_measured() -> None:
    assert all(seconds > 0 for seconds in machine.measure().values())
    stalls = machine.Stalls()
    stall = stalls.since(stalls.mark())
    assert stall.late_s >= 0 and stall.pressure >= 0 and 0 <= stall.stolen <= 1


QUIET, STALLED = Stall(0.01, 0.1, 0.0), Stall(2.0, 0.1, 0.0)


@pytest.mark.parametrize(("stall", "took_s", "kept"), [(QUIET, 4.9, True), (QUIET, 5.1, False), (STALLED, 14.9, True)])
def test_a_limit_holds_as_it_stands_where_the_machine_was_quiet(
    stall: Stall, took_s: float, kept: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(limits, "FACTOR", 3.0)
    monkeypatch.setattr(machine.Stalls, "since", lambda *_: stall)
    monkeypatch.setenv("HYDRA_TEST_RECORD", str(tmp_path))
    if kept:
        limits.judge("a leader", took_s, 5.0, machine.stalls.mark())
    else:
        with pytest.raises(limits.Missed, match="a leader: only after"):
            limits.judge("a leader", took_s, 5.0, machine.stalls.mark())
    (line,) = (tmp_path / "limits.jsonl").read_text().splitlines()
    assert json.loads(line)["took_s"] == took_s and "test_a_limit_holds" in json.loads(line)["test"]


def test_every_test_is_in_one_stage_of_the_gate_or_in_the_faults() -> None:
    gate = [stage for lane in GATE_LANES for stage in lane]
    folders = [path for stage in gate if stage.marked == PLAIN for path in stage.paths]
    assert [stage for stage in gate if stage.marked != PLAIN] == [KERNELS]
    for path in (ROOT / "tests").rglob("test_*.py"):
        name = str(path.relative_to(ROOT))
        assert sum(name.startswith(f"{folder}/") for folder in folders) == 1, name
        if "mark.kernels" in path.read_text() and path.name != Path(__file__).name:
            assert name in KERNELS.paths
    assert FAULTS.paths == ("tests",)
