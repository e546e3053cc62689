"""The gate on fresh clones: how long it takes, whether it is green each time, and whether planted defects turn it red.

``--busy 2`` has that many processes work beside it; ``--defects`` plants one defect after another and runs the stage
that has to find it.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from benchmarks.stack import REPO

CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
FLAKY = re.compile(r"^FLAKY (\S+)", re.MULTILINE)
FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)
OURS = ("HYDRA_", "DATABASE_URL", "REDIS_URL", "DJANGO_", "CELERY_", "PYTEST", "PYTHON", "VIRTUAL_ENV")


@dataclass(frozen=True)
class Defect:
    """before and after: source in ``file``, which holds ``before`` once."""

    name: str
    file: str
    before: str
    after: str
    stage: str


DEFECTS = (
    Defect(
        "an epoch check left out",
        "nodemanager/core.py",
        "if (doc.epoch, doc.generation) <= (self.epoch, self.generation):",
        "if doc.epoch == self.epoch and doc.generation <= self.generation:",
        "pure",
    ),
    Defect(
        "a lost wake-up",
        "controlplane/rm/steps/outcome.py",
        "    m.placeable = True\n",
        "",
        "stores",
    ),
    Defect(
        "a lease never renewed",
        "controlplane/rm/driver/leader.py",
        "            self.store.renew()\n            self.timers.renew = now\n",
        "            self.timers.renew = now\n",
        "stores",
    ),
    Defect(
        "a document published before the commit",
        "controlplane/rm/driver/round.py",
        "        self._gather(c)\n        if c:\n",
        "        self._gather(c)\n        self._publish()\n        if c:\n",
        "stores",
    ),
    Defect(
        "an off-by-one in a share",
        "scheduler/federation/split.py",
        "    part[order[:left]] += 1\n",
        "    part[order[: left + 1]] += 1\n",
        "pure",
    ),
    Defect(
        "a route without its rule",
        "controlplane/router/views/nodelife.py",
        'what runs there runs on. Operators only."""\n        require("cluster.operate", request)\n',
        'what runs there runs on. Operators only."""\n',
        "stores",
    ),
)


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench gate")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--busy", type=int, default=0, help="processes that work beside it")
    parser.add_argument("--defects", action="store_true", help="plant defects instead; each is to be found")
    options = parser.parse_args(argv)
    with busy(options.busy):
        if options.defects:
            return plant()
        runs = [run() for _ in range(options.runs)]
    minutes = [r["minutes"] for r in runs]
    return {
        "runs": len(runs),
        "green": sum(r["failed"] == 0 for r in runs),
        "flaky": sum(len(r["flaky"]) for r in runs),
        "minutes_min": min(minutes),
        "minutes_median": statistics.median(minutes),
        "minutes_max": max(minutes),
        "details": runs,
    }


def plant() -> dict[str, Any]:
    """One defect after another, and the tests that found each. Raises ``CommandError`` when one was missed."""
    found = {defect.name: look_for(defect) for defect in DEFECTS}
    if missed := [name for name, tests in found.items() if not tests]:
        raise CommandError(f"{len(missed)} of {len(found)} defects were not found: {'; '.join(missed)}")
    return {"planted": len(found), "found": len(found), "by": found}


def run() -> dict[str, Any]:
    """The gate in a clone that has nothing installed."""
    with clone() as project:
        began = time.monotonic()
        said = outcome(project, ["bash", ".ci/run"])[1]
        minutes = round((time.monotonic() - began) / 60, 2)
    closing = CLOSING.search(said)
    failed = int(closing[2]) if closing else -1  # it did not come to its end
    if failed:
        keep(said)
    return {"minutes": minutes, "failed": failed, "flaky": FLAKY.findall(said), "red": FAILED.findall(said)}


def keep(said: str) -> None:
    """What a run said that did not end as it should, in a file whose name is told."""
    with tempfile.NamedTemporaryFile("w", prefix="hydra-gate-", suffix=".log", delete=False) as log:
        log.write(said)
    print(f"its words: {log.name}", file=sys.stderr, flush=True)


def look_for(defect: Defect) -> list[str]:
    """The tests that fail with it; none where the gate is green, or red for another reason than a failed test."""
    with clone() as project:
        file = project / defect.file
        text = file.read_text()
        if text.count(defect.before) != 1:
            sys.exit(f"bench gate: {defect.file} does not hold once what {defect.name!r} is planted in")
        file.write_text(text.replace(defect.before, defect.after))
        status, said = outcome(project, [sys.executable, "manage.py", "test", "--stage", defect.stage])
    tests = caught(status, said)
    print(f"{defect.name}: {len(tests)} tests of {defect.stage} fail: {' '.join(tests)}", file=sys.stderr, flush=True)
    if not tests:
        keep(said)
    return tests


def caught(status: int, said: str) -> list[str]:
    """The tests that the gate names at its end as failed; the output of pytest above it names them as well."""
    closing = CLOSING.search(said)
    if status == 0 or closing is None or closing[2] == "0":
        return []
    return sorted(set(FAILED.findall(said)))


@contextmanager
def clone() -> Iterator[Path]:
    """What is committed, in a folder of its own beside the same material."""
    with tempfile.TemporaryDirectory(prefix="hydra-gate-") as folder:
        project = Path(folder) / "project"
        subprocess.run(["git", "clone", "-q", str(REPO), str(project)], check=True)
        beside = REPO.parent / "shared"
        if beside.exists():
            (project.parent / "shared").symlink_to(beside.resolve())
        yield project


def outcome(project: Path, command: list[str]) -> tuple[int, str]:
    """Its exit status and all that it says, with no setting of this process."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    ours = str(Path(sys.prefix) / "bin")
    environ |= {"PATH": os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != ours), "CI": "true"}
    done = subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@contextmanager
def busy(processes: int) -> Iterator[None]:
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
