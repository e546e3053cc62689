"""The runs behind ``manage.py test``: the gate, the faults, one stage, or whatever pytest is told."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from controlplane.embedded import spawn
from tests import seeds
from tests.gate import again, closing, frontend, lanes, promises
from tests.gate.outcomes import Outcome
from tests.gate.stages import FAULTS, PURE, Stage

GIVEN = {"HYDRA_DATA": "data", "HYDRA_CASES": "cases"}  # folders beside the checkout
Lanes = Sequence[Sequence[Stage]]
# Tests that are named, of whatever stage: all but those of the faults.
OF_THE_GATE: Lanes = [[Stage("gate", "what is named", (), 1, f"not {FAULTS.marked}")]]
LIGHTLY = {"NUMBA_OPT": "1", "NUMBA_LOOP_VECTORIZE": "0", "NUMBA_SLP_VECTORIZE": "0"}


def environment(soak: bool, lightly: bool) -> dict[str, str]:
    """For the tests: this checkout, the machine's speed, the material beside the checkout; no settings of others.

    lightly: kernels are compiled in two thirds of the time, to compute the same more slowly. Only limits want them
    fast. This process compiles ahead, so its own environment says it as well.
    """
    from controlplane import kernels
    from tests.machine import FACTOR

    for name in LIGHTLY:
        os.environ.pop(name, None)
    os.environ.update(LIGHTLY if lightly else {})
    environ = os.environ | {"PYTHONPATH": str(lanes.REPO), "HYDRA_TEST_FACTOR": f"{FACTOR:.2f}"}
    environ["NUMBA_CACHE_DIR"] = str(kernels.cache_folder())
    for name in ("DJANGO_SETTINGS_MODULE", "HYDRA_SOAK", *_own_settings()):
        environ.pop(name, None)
    for name, folder in GIVEN.items():
        beside = lanes.REPO.parent / "shared" / folder
        if name not in environ and beside.is_dir():
            environ[name] = str(beside)
    return environ | (_soaking() if soak else {})


def _soaking() -> dict[str, str]:
    """The seed goes to all processes of a run, and to what runs again."""
    return {"HYDRA_SOAK": "1", seeds.NAME: os.environ.setdefault(seeds.NAME, str(seeds.fresh()))}


def _own_settings() -> list[str]:
    """Settings that this process derived from HYDRA_HOME: the tests have folders of their own."""
    from controlplane.embedded.home import Home

    home = Home.from_environment()
    known = home.secrets()
    own = home.environment(known, home.ports()) if known else {}
    return ["HYDRA_HOME", *(name for name, value in own.items() if os.environ.get(name) == value)]


def only(words: Sequence[str], soak: bool) -> int:
    """What pytest is told, on this screen, and then what the gate says at its end; pytest's exit status."""
    environ = environment(soak, lightly=FAULTS.marked not in words)
    _say_what_is_missing(environ)
    with _records(environ) as records:
        records.wanted = False  # all of it is on the screen
        part = lanes.Run(Stage("pytest", "what it is told", (), 1, marked=""), records.folder)
        command = [sys.executable, "-m", "pytest", "-p", "tests.gate.record", *words]
        part.status = subprocess.run(
            command, cwd=lanes.REPO, env=environ | lanes.recording(part.record), check=False
        ).returncode
        if part.outcomes().tests:  # else it was asked for its help
            closing.sum_up([part], [], records.folder, environ, [])
        return part.status


def stages(phases: Sequence[Lanes], words: Sequence[str], soak: bool, table: Path | None = None) -> int:
    """Run phase after phase, and tell one end of all of them; an exit status.

    table: a document whose table of promises is to have what was measured.
    """
    began = time.monotonic()
    environ = environment(soak, lightly=False)
    _say_what_is_missing(environ)
    with _records(environ) as records:
        ended = [_phase(wanted, words, soak, records.folder) for wanted in phases]
        parts = [part for phase in ended for part in phase.parts]
        flaky = [outcome for phase in ended for outcome in phase.flaky]
        status = closing.tell(parts, flaky)
        records.wanted = bool(status or flaky)
        took_s = int(time.monotonic() - began)
        print(f"in {took_s // 60}:{took_s % 60:02}")
        closing.sum_up(parts, flaky, records.folder, environ, [why for phase in ended for why in phase.left_out])
        if table is not None:
            table.write_text(promises.into(table.read_text(), promises.measured(records.folder)))
        return status


@dataclass
class _Phase:
    """Lanes that have come to their ends."""

    parts: list[lanes.Run]
    flaky: list[Outcome] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def _phase(wanted: Lanes, words: Sequence[str], soak: bool, folder: Path) -> _Phase:
    """Run lanes of stages side by side, then once more what missed its time. No process is left."""
    alone = list(wanted) == [[FAULTS]]
    environ = environment(soak, lightly=not alone and FAULTS.marked not in words)
    parts = [[lanes.Run(stage, folder, words) for stage in lane] for lane in wanted]
    phase = _Phase([part for lane in parts for part in lane])
    extra = None
    if not words and any(part.stage is PURE for part in phase.parts):
        extra = _FrontEnd(folder, environ)
        extra.start()
    warm = _Warm()
    warm.start()
    try:
        if alone:
            warm.join()
        lanes.run(parts, environ)
        if extra is not None:
            extra.join()
            phase.left_out += [f"front end: {extra.why}"] if extra.why else []
            phase.parts[:0] = [] if extra.why else [extra.run_]
    finally:
        warm.ending = True
        spawn.send(spawn.descendants(os.getpid()), signal.SIGKILL)  # compilers, and what npm began
    phase.flaky = again.flaky(phase.parts, environ, folder)
    return phase


@dataclass
class _Records:
    """wanted: whether the folder stays."""

    folder: Path
    wanted: bool = True


@contextmanager
def _records(environ: Mapping[str, str]) -> Iterator[_Records]:
    """A folder for records and logs: the one that is named, which stays, or one that goes where nothing failed."""
    if named := environ.get("HYDRA_TEST_KEEP"):
        folder = Path(named).absolute() / "hydra-tested"  # and nothing else of what is there
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield _Records(folder)
        return
    records = _Records(Path(tempfile.mkdtemp(prefix="hydra-tested-")))
    try:
        yield records
    finally:
        if records.wanted:
            print(f"records and logs are kept: {records.folder}")
        else:
            shutil.rmtree(records.folder, ignore_errors=True)


def _say_what_is_missing(environ: Mapping[str, str]) -> None:
    for name, folder in GIVEN.items():
        if name not in environ:
            print(f"MISSING: ../shared/{folder} is not there and {name} is not set; what reads it is left out")


class _Warm(threading.Thread):
    """Fills the kernels' cache while other things go on, so that no RM of a test begins to, once for each it kills.

    ending: nobody needs it any more, and its compiler may be ended.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ending = False

    def run(self) -> None:
        from controlplane import kernels

        try:
            kernels.fill(kernels.cache_folder(), nice=0)
        except (OSError, subprocess.SubprocessError) as error:
            if not self.ending:
                print(f"kernels could not be compiled ahead: {error}")


class _FrontEnd(threading.Thread):
    """The front end's tests, beside the first stage; ``why`` they cannot run."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        super().__init__(daemon=True)
        self.run_ = lanes.Run(Stage("front-end", "vitest", (), 1), folder)
        self.environ, self.why = environ, frontend.cannot()

    def run(self) -> None:
        if not self.why:
            self.run_.began = time.monotonic()
            self.run_.status, self.run_.cpu_s = frontend.test(self.run_.record, self.run_.log, self.environ)
            self.run_.took_s = time.monotonic() - self.run_.began
