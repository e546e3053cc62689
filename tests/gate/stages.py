"""What is tested in which stage. Each stage is a pytest process of its own, with state folders of its own.

``pure``, ``stores``, ``stack``, ``browser`` and ``kernels`` are the gate. ``faults`` is every test of a promise's
limits (marker ``faults``, wherever it lies); it wants the machine to itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.gate.words import named

FAULTS_MARKER, KERNELS_MARKER = "faults", "kernels"
PLAIN = f"not {FAULTS_MARKER} and not {KERNELS_MARKER}"


@dataclass(frozen=True)
class Stage:
    """paths: what pytest collects. workers: processes that share it. marked: which of the tests, as ``-m`` says it.

    nice: how far it gives way to other stages. What waits often should not wait for the processor as well.
    """

    name: str
    about: str
    paths: tuple[str, ...]
    workers: int
    marked: str = PLAIN
    nice: int = 0

    def options(self, words: Sequence[str] = ()) -> list[str]:
        """For pytest. Where further words name tests, these are run in place of all."""
        shared = ["-n", str(self.workers), "--dist", "loadfile", "--no-loadscope-reorder"] if self.workers > 1 else []
        return ["-m", self.marked, *shared, *(() if named(words) else self.paths), *words]


def _naming(marker: str) -> tuple[str, ...]:
    """The tests' files that name a marker: to look into all of them costs more than these tests do."""
    root = Path(__file__).resolve().parents[2]
    found = (root / "tests").rglob("test_*.py")
    return tuple(sorted(str(path.relative_to(root)) for path in found if f"mark.{marker}" in path.read_text()))


PURE = Stage("pure", "code, documents, units, properties", ("tests/tidy", "tests/unit", "tests/property"), 2, nice=5)
STORES = Stage(
    "stores",
    "API, RM, GPG, dashboard and what-if over real Postgres and Valkey",
    tuple(f"tests/integration/{n}" for n in ("api", "rm", "gpg", "dashboard", "embedded", "production", "whatif")),
    2,
    nice=5,
)
STACK = Stage(
    "stack",
    "whole clusters, node managers, the client",
    ("tests/acceptance", "tests/integration/nodemanager", "tests/integration/client"),
    2,
)
BROWSER = Stage("browser", "every page in a browser, on a whole stack", ("tests/browser",), 1)
KERNELS = Stage(
    "kernels",
    "what wants compiled kernels",
    _naming(KERNELS_MARKER),
    1,
    f"{KERNELS_MARKER} and not {FAULTS_MARKER}",
)
FAULTS = Stage("faults", "promises and their limits, alone on the machine", ("tests",), 1, FAULTS_MARKER)
# Side by side; the stages of a lane one after another. Meanwhile the kernels are compiled, which takes minutes.
# Stacks and browsers wait often: what only works fills their pauses, and gives way to them.
GATE_LANES = ((STACK,), (BROWSER,), (PURE, KERNELS), (STORES,))
STAGES = {stage.name: stage for stage in (PURE, STORES, STACK, BROWSER, KERNELS, FAULTS)}
