"""A pytest plugin that writes down what became of each test, one JSON line a phase, for whoever runs the stages.

It also says of each failure whether time was missed (patience ran out, a time-out, a stack that did not start), or
something false was found: only the former may be the machine's fault.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.machine import stalls
from tests.patience import RanOut

_TIMED_OUT = ("Timeout (>", "Timeout >")  # pytest-timeout's word
_BROWSER = ("Timeout ", "with timeout ")  # of a browser's assertions, beside "ms"
_AMBIGUOUS = "strict mode violation"  # a browser's word for two elements where one was meant; it does not wait then
# By name, so that none of these libraries is loaded for it; TimeoutException is httpx's, TimeoutExpired psutil's.
_OF_TIME = {"TimeoutError", "TimeoutException", "ReadTimeout", "ConnectTimeout", "TimeoutExpired", "BrokenBarrierError"}
_BEGAN = pytest.StashKey[float]()
_MARK = pytest.StashKey[tuple[float, float, float, float]]()


def missed_time(error: BaseException) -> bool:
    """Whether a test ended because something did not come in time."""
    if isinstance(error, RanOut):
        return True
    kind, text = type(error), str(error)
    if _OF_TIME & {base.__name__ for base in kind.__mro__}:
        return True
    if kind.__name__ == "Failed" and text.startswith(_TIMED_OUT):
        return True
    if kind.__name__ in {"OperationalError", "ConnectionTimeout"} and "timeout expired" in text:  # a store's
        return True
    waited = "Call log:" in text and _AMBIGUOUS not in text
    return isinstance(error, AssertionError) and waited and any(word in text for word in _BROWSER)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Runs where the test runs; what it adds travels with the report."""
    outcome = yield
    if call.excinfo is not None and outcome.get_result().failed and missed_time(call.excinfo.value):
        outcome.get_result().user_properties.append(("missed_time", asdict(stalls.since(item.stash[_MARK]))))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Any:
    """What a test took of the processor, with what it started and waited for, goes with its last report."""
    item.stash[_BEGAN], item.stash[_MARK] = _processor_s(), stalls.mark()
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Any:
    yield
    item.user_properties.append(("processor_s", round(_processor_s() - item.stash[_BEGAN], 3)))


def _processor_s() -> float:
    return sum(os.times()[:4])


class Recorder:
    """Writes in the process that began the run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _write(self, line: dict[str, Any]) -> None:
        with open(self.path, "a") as file:
            file.write(json.dumps(line) + "\n")

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:
            self._write({"collected": len(session.items)})

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._write({"collected": len(ids)})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        line: dict[str, Any] = {
            "test": report.nodeid,
            "phase": report.when,
            "outcome": report.outcome,
            "seconds": round(report.duration, 3),
        }
        if report.when == "teardown":
            line |= {name: value for name, value in report.user_properties if name == "processor_s"}
        if hasattr(report, "wasxfail"):
            line["expected"] = report.wasxfail
        elif report.skipped and isinstance(report.longrepr, tuple):
            line["reason"] = report.longrepr[2].removeprefix("Skipped: ")
        if report.failed:
            missed = dict(report.user_properties).get("missed_time")
            line |= {"missed_time": missed is not None} | ({"stall": missed} if missed else {})
            line["error"] = _first_lines(report)
        self._write(line)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            failed = {"test": report.nodeid or "collection", "phase": "collect", "outcome": "failed", "seconds": 0.0}
            self._write(failed | {"missed_time": False, "error": str(report.longrepr)[-300:]})


def _first_lines(report: pytest.TestReport) -> str:
    """The first line, and the one that says that a browser met two of something."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    first, _, rest = str(text).strip().partition("\n")
    met = next((line for line in rest.splitlines() if _AMBIGUOUS in line), None)
    return (f"{first}; {met}" if met else first)[:300]


def pytest_configure(config: pytest.Config) -> None:
    path = os.environ.get("HYDRA_TEST_OUTCOMES")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(path)))
