"""Stages side by side: each a pytest process whose output goes to a log, its progress to the screen."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from controlplane.embedded import spawn
from tests.gate import outcomes
from tests.gate.stages import Stage

REPO = Path(__file__).resolve().parents[2]
TOLD_EVERY_S = 30.0  # where nobody watches a terminal
NO_TESTS = 5  # pytest's word for: none of them was selected
_under_way: list[subprocess.Popen[bytes]] = []


@dataclass
class Run:
    """A stage under way. status: pytest's, once it has ended."""

    stage: Stage
    folder: Path
    words: Sequence[str] = ()
    status: int | None = None
    began: float = 0.0
    took_s: float = 0.0
    cpu_s: float = 0.0
    _read: outcomes.Outcomes = field(default_factory=outcomes.Outcomes)

    @property
    def log(self) -> Path:
        return self.folder / f"{self.stage.name}.log"

    @property
    def record(self) -> Path:
        return self.folder / f"{self.stage.name}.jsonl"

    def outcomes(self) -> outcomes.Outcomes:
        return outcomes.read(self.record)

    def run(self, environ: dict[str, str]) -> None:
        self.began = time.monotonic()
        with open(self.log, "w") as log:
            self.status, self.cpu_s = pytest(self.record, self.stage.options(self.words), environ, log, self.stage.nice)
        self.took_s = time.monotonic() - self.began

    def line(self) -> str:
        """Where it stands."""
        if not self.began:
            return f"{self.stage.name} -"
        found = self.outcomes()
        counts = found.counts()
        bad = f", {counts['failed']} failed" if counts["failed"] else ""
        return f"{self.stage.name} {len(found.tests)}/{found.collected or '?'}{bad}"

    def failures(self) -> str:
        """The part of the log that tells of them."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        starts = [at for mark in ("= FAILURES =", "= ERRORS =") if (at := text.find(mark)) >= 0]
        return text[text.rfind("\n", 0, min(starts)) + 1 :] if starts else text[-8000:]


def pytest(
    record: Path, words: Sequence[str], environ: Mapping[str, str], log: IO[str], nice: int = 0
) -> tuple[int, float]:
    """A pytest process that records what becomes of its tests; its exit status, and its seconds of the processor."""
    plugins = ["-p", "tests.gate.record", "-p", "tests.gate.turns"]
    command = ["nice", "-n", str(nice), sys.executable, "-m", "pytest", *plugins, *words]
    status, cpu_s = child(command, REPO, {**environ, **recording(record)}, log)
    return (0 if status == NO_TESTS else status), cpu_s


def recording(record: Path) -> dict[str, str]:
    """Settings by which the plugins know where to write."""
    return {"HYDRA_TEST_OUTCOMES": str(record), "HYDRA_TEST_RECORD": str(record.parent)}


def child(command: Sequence[str], cwd: Path, environ: Mapping[str, str], log: IO[str]) -> tuple[int, float]:
    """A process that ends with this one; its exit status, and its seconds of the processor.

    The seconds count what it started as well, as far as that was waited for.
    """
    started = subprocess.Popen(
        command, cwd=cwd, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
        preexec_fn=spawn.before_exec(signal.SIGINT),
    )  # fmt: skip
    _under_way.append(started)
    _, status, used = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    _under_way.remove(started)
    return started.returncode, used.ru_utime + used.ru_stime


def interrupt() -> None:
    """Ctrl-C, for every process under way: pytest ends its tests and what those began. Each once, or it gives up."""
    for started in list(_under_way):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGINT)


def run(lanes: Sequence[Sequence[Run]], environ: dict[str, str]) -> None:
    """Run all lanes to their ends, and tell how far they are. Interrupted, it ends when they have ended."""
    stopping = threading.Event()

    def one_by_one(lane: Sequence[Run]) -> None:
        for part in lane:
            if not stopping.is_set():
                part.run(environ)

    parts = [part for lane in lanes for part in lane]
    with futures.ThreadPoolExecutor(len(lanes)) as threads:  # whose end waits for them
        under_way = [threads.submit(one_by_one, lane) for lane in lanes]
        try:
            _watch(under_way, parts)
        except KeyboardInterrupt:
            stopping.set()
            print("\nstopping: what the tests have begun is being ended", flush=True)
            interrupt()
            raise
    for lane in under_way:
        lane.result()


def _watch(under_way: Sequence[futures.Future[None]], parts: Sequence[Run]) -> None:
    began = told = time.monotonic()
    screen = sys.stdout.isatty()
    while futures.wait(under_way, 0.5).not_done:
        if screen or time.monotonic() - told >= TOLD_EVERY_S:
            told = time.monotonic()
            _tell(parts, told - began, screen)
    _tell(parts, time.monotonic() - began, screen)
    if screen:
        print()


def _tell(parts: Sequence[Run], took_s: float, screen: bool) -> None:
    line = f"{int(took_s) // 60}:{int(took_s) % 60:02}  " + " | ".join(part.line() for part in parts)
    if screen:
        columns = os.get_terminal_size().columns
        print("\r" + line[: columns - 1].ljust(columns - 1), end="", flush=True)
    else:
        print(line, flush=True)
