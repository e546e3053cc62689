"""The runs behind ``manage.py test``: the gate, the faults, one stage, or whatever pytest is told."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.gate import frontend, lanes
from tests.gate.outcomes import Outcome
from tests.gate.stages import FAULTS, PURE, Stage

AGAIN_MAX = 3  # tests that ended by missing time; more of them is no accident
GIVEN = {"HYDRA_DATA": "data", "HYDRA_CASES": "cases"}  # folders beside the checkout


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
    return environ | ({"HYDRA_SOAK": "1"} if soak else {})


def _own_settings() -> list[str]:
    """Settings that this process derived from HYDRA_HOME: the tests have folders of their own."""
    from controlplane.embedded.home import Home

    home = Home.from_environment()
    known = home.secrets()
    own = home.environment(known, home.ports()) if known else {}
    return ["HYDRA_HOME", *(name for name, value in own.items() if os.environ.get(name) == value)]


def only(words: Sequence[str], environ: dict[str, str]) -> int:
    """What pytest is told, and nothing around it; its exit status."""
    command = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(command, cwd=lanes.REPO, env=environ, check=False).returncode


def stages(wanted: Sequence[Sequence[Stage]], words: Sequence[str], environ: dict[str, str]) -> int:
    """Run lanes of stages side by side, then once more what missed its time, and tell the end; an exit status."""
    began = time.monotonic()
    _say_what_is_missing(environ)
    with _folder(environ) as folder:
        everything = [stage for lane in wanted for stage in lane]
        extra = _front_end(folder, environ, words) if PURE in everything else None
        warm = threading.Thread(target=_compile_ahead, daemon=True)
        warm.start()
        runs = [[lanes.Run(stage, folder, words) for stage in lane] for lane in wanted]
        parts = [part for lane in runs for part in lane]
        if everything == [FAULTS]:
            warm.join()  # it is to be alone
        lanes.run(runs, environ)
        return _Closing(parts, extra, folder, environ).tell(time.monotonic() - began)


@contextmanager
def _folder(environ: dict[str, str]) -> Iterator[Path]:
    """For records and logs: the one that is named, which stays, or one that goes where nothing failed."""
    if named := environ.get("HYDRA_TEST_KEEP"):
        folder = Path(named).absolute()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="hydra-tested-") as made:
        yield Path(made)


def _say_what_is_missing(environ: dict[str, str]) -> None:
    for name, folder in GIVEN.items():
        if name not in environ:
            print(f"MISSING: ../shared/{folder} is not there and {name} is not set; what reads it is left out")


def _compile_ahead() -> None:
    """Fill the kernels' cache while other things go on, so that no RM of a test begins to, once for each it kills."""
    from controlplane import kernels

    try:
        kernels.fill(kernels.cache_folder(), nice=0)
    except (OSError, subprocess.SubprocessError) as error:
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
            self.run_.status = frontend.test(self.run_.record, self.run_.log, self.environ)
            self.run_.took_s = time.monotonic() - self.run_.began


def _front_end(folder: Path, environ: dict[str, str], words: Sequence[str]) -> "_FrontEnd | None":
    if words:
        return None
    begun = _FrontEnd(folder, environ)
    begun.start()
    return begun


class _Closing:
    """What a run ends with: failures, what ran again, limits, the closing line, what was left out."""

    def __init__(self, parts: list[lanes.Run], extra: _FrontEnd | None, folder: Path, environ: dict[str, str]) -> None:
        self.parts, self.folder, self.environ = parts, folder, environ
        self.left_out: list[str] = []
        if extra is not None:
            extra.join()
            if extra.why:
                self.left_out.append(f"front end: {extra.why}")
            else:
                self.parts = [extra.run_, *parts]

    def tell(self, took_s: float) -> int:
        """Print it; the exit status of the whole."""
        missed, wrong = self._failures()
        flaky = self._again(missed)
        still = [outcome for outcome in missed if outcome not in flaky]
        for part in self.parts:
            if any(outcome in wrong or outcome in still for outcome in part.outcomes().failed()) or _broke(part):
                print(f"\n===== {part.stage.name} =====\n{part.failures()}")
        self._limits()
        for part in self.parts:
            print(f"{part.stage.name}: {part.line()} in {part.took_s:.0f} s, {part.cpu_s:.0f} s of the processor")
        for outcome in [*wrong, *still]:
            print(f"FAILED {outcome.test} - {outcome.errors[0]}")
        for outcome in flaky:
            print(f"FLAKY {outcome.test} - {outcome.errors[0]}")
        broken = [part for part in self.parts if _broke(part)]
        for part in broken:
            print(f"BROKEN {part.stage.name}: pytest ended with status {part.status}")
        counts = [part.outcomes().counts() for part in self.parts]
        failed = len(wrong) + len(still) + len(broken)
        passed, skipped = sum(c["passed"] for c in counts) + len(flaky), sum(c["skipped"] for c in counts)
        print(f"in {int(took_s) // 60}:{int(took_s) % 60:02}, machine factor {self.environ['HYDRA_TEST_FACTOR']}")
        print(f"{passed} passed, {failed} failed, {skipped} skipped")
        for line in [*self.left_out, *self._reasons()]:
            print(f"left out - {line}")
        return 1 if failed or not passed else 0

    def _failures(self) -> tuple[list[Outcome], list[Outcome]]:
        failed = [outcome for part in self.parts for outcome in part.outcomes().failed()]
        return [o for o in failed if o.missed], [o for o in failed if not o.missed]

    def _again(self, missed: list[Outcome]) -> list[Outcome]:
        """Run each once more, alone and with fresh fixtures; those that pass now."""
        if not missed or len(missed) > AGAIN_MAX:
            return []
        passed = []
        for number, outcome in enumerate(missed):
            print(f"once more, alone: {outcome.test} ({outcome.errors[0]})", flush=True)
            with open(self.folder / f"again-{number}.log", "w+") as log:
                record = self.folder / f"again-{number}.jsonl"
                if lanes.pytest(record, [outcome.test], self.environ, log)[0] == 0:
                    passed.append(outcome)
                else:
                    log.seek(0)
                    print(log.read()[-8000:])
        return passed

    def _limits(self) -> None:
        path = self.folder / "limits.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        worst: dict[str, dict[str, Any]] = {}
        for line in lines:
            if line["took_s"] >= worst.get(line["name"], line)["took_s"]:
                worst[line["name"]] = line
        for name, line in sorted(worst.items()):
            times = sum(other["name"] == name for other in lines)
            quiet = "quiet" if line["late_s"] < 0.1 else f"stalled {line['late_s']:.2f} s"
            print(f"limit {line['limit_s']:6.2f} s  slowest {line['took_s']:6.2f} s of {times:3}  {name} ({quiet})")

    def _reasons(self) -> list[str]:
        reasons: dict[str, int] = {}
        for part in self.parts:
            for outcome in part.outcomes().not_run():
                why = f"expected: {outcome.expected}" if outcome.expected else outcome.skipped
                reasons[why] = reasons.get(why, 0) + 1
        if not self.environ.get("HYDRA_SOAK"):
            reasons["the long variants run with --soak"] = 0
        if all(part.stage is not FAULTS for part in self.parts):
            reasons["the limits of promises run with --faults"] = 0
        return [f"{count} x {why}" if count > 1 else why for why, count in reasons.items()]


def _broke(part: lanes.Run) -> bool:
    """Whether pytest itself failed, and not a test."""
    return part.status not in {0, 1} or (part.status == 1 and not part.outcomes().failed())
