"""What the machine under the tests can do, and what it did meanwhile: its speed, and whether it stood still.

Tests wait longer on a slower machine (``FACTOR``), and limits are judged strictly only where nothing else got in the
way (``Stalls``).
"""

import collections
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Seconds on the machine on which the limits were set, with nothing else to do.
REFERENCE = {"interpreter": 0.020, "loop": 0.060, "fsync": 0.004}
FACTOR_MAX = 6.0
_TRIES = 3


def measure() -> dict[str, float]:
    """Seconds that it takes here to start an interpreter, to count, and to write something for good."""
    return {name: min(_timed(work) for _ in range(_TRIES)) for name, work in _WORK.items()}


def factor(measured: dict[str, float]) -> float:
    """By how much this machine is slower than the one of the reference; 1 for faster ones."""
    return min(FACTOR_MAX, max(1.0, *(measured[name] / REFERENCE[name] for name in REFERENCE)))


def name() -> str:
    """The machine, as a table of what was measured calls it."""
    with open("/proc/cpuinfo") as lines:
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{os.cpu_count()} x {model}"


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _start_interpreter() -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)


def _count() -> None:
    total = 0
    for i in range(1_000_000):
        total += i


def _write_for_good() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())


_WORK: dict[str, Callable[[], None]] = {"interpreter": _start_interpreter, "loop": _count, "fsync": _write_for_good}


def _known_factor() -> float:
    """Measured once for a run; processes that share it find it in their environment."""
    if "HYDRA_TEST_FACTOR" not in os.environ:
        os.environ["HYDRA_TEST_FACTOR"] = f"{factor(measure()):.2f}"
    return float(os.environ["HYDRA_TEST_FACTOR"])


FACTOR = _known_factor()


@dataclass(frozen=True)
class Stall:
    """What a stretch of time was like. late_s: the longest that a thread was not let run when it was due.

    pressure: share of the time in which some program waited for a core. stolen: share of the cores' time that went to
    other machines on the same host.
    """

    late_s: float
    pressure: float
    stolen: float

    @property
    def quiet(self) -> bool:
        return self.late_s < 0.1 and self.pressure < 0.5 and self.stolen < 0.02

    def __str__(self) -> str:
        if self.quiet:
            return "quiet"
        return f"stalled {self.late_s:.2f} s, {self.pressure:.0%} short of a core, {self.stolen:.0%} stolen"


class Stalls:
    """A thread that notices when this process, and so probably every other, was not let run."""

    EVERY_S = 0.05
    KEPT = 12_000  # ten minutes

    def __init__(self) -> None:
        self._late: collections.deque[tuple[float, float]] = collections.deque(maxlen=self.KEPT)
        self._began = False

    def begin(self) -> None:
        if not self._began:
            self._began = True
            threading.Thread(target=self._watch, name="stalls", daemon=True).start()

    def mark(self) -> tuple[float, float, float, float]:
        """A moment from which ``since`` tells."""
        self.begin()
        return (time.monotonic(), _pressure_s(), *_stolen_and_all())

    def since(self, mark: tuple[float, float, float, float]) -> Stall:
        began, pressure_s, stolen, every = mark
        took = max(time.monotonic() - began, 1e-6)
        now_stolen, now_every = _stolen_and_all()
        late = max((late for at, late in list(self._late) if at >= began), default=0.0)
        share = (now_stolen - stolen) / max(now_every - every, 1.0)
        return Stall(round(late, 3), round((_pressure_s() - pressure_s) / took, 3), round(share, 4))

    def _watch(self) -> None:
        while True:
            asked = time.monotonic()
            time.sleep(self.EVERY_S)
            woke = time.monotonic()
            self._late.append((woke, woke - asked - self.EVERY_S))


def _pressure_s() -> float:
    """Seconds since the start in which some program waited for a core; 0 where the kernel does not tell."""
    try:
        return int(Path("/proc/pressure/cpu").read_text().split("total=")[1].split()[0]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


def _stolen_and_all() -> tuple[float, float]:
    """Ticks stolen by the host, and all ticks, of all cores."""
    try:
        ticks = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    except (OSError, ValueError):
        return 0.0, 0.0
    return float(ticks[7]), float(sum(ticks))


stalls = Stalls()
