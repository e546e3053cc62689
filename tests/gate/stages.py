"""What is tested in which stage. Each stage is a pytest process of its own, with state folders of its own.

``pure``, ``stores`` and ``stack`` are the gate. ``faults`` is every test of a promise's limits (marker ``faults``,
wherever it lies); it wants the machine to itself.
"""

from dataclasses import dataclass

MARKER = "faults"


@dataclass(frozen=True)
class Stage:
    """paths: what pytest collects. workers: processes that share it. faults: the marked tests, or all others."""

    name: str
    about: str
    paths: tuple[str, ...]
    workers: int
    faults: bool = False

    def options(self) -> list[str]:
        """For pytest."""
        marked = MARKER if self.faults else f"not {MARKER}"
        shared = ["-n", str(self.workers), "--dist", "loadfile", "--no-loadscope-reorder"] if self.workers > 1 else []
        return ["-m", marked, *shared, *self.paths]


PURE = Stage("pure", "code, documents, units, properties", ("tests/tidy", "tests/unit", "tests/property"), 2)
STORES = Stage(
    "stores",
    "API, RM, GPG, dashboard and what-if over real Postgres and Valkey",
    tuple(f"tests/integration/{n}" for n in ("api", "rm", "gpg", "dashboard", "embedded", "production", "whatif")),
    2,
)
STACK = Stage(
    "stack",
    "whole clusters, node managers, the client, the browser",
    ("tests/acceptance", "tests/browser", "tests/integration/nodemanager", "tests/integration/client"),
    2,
)
FAULTS = Stage("faults", "promises and their limits, alone on the machine", ("tests",), 1, faults=True)
GATE_LANES = ((STACK,), (PURE, STORES))  # side by side; the stages of a lane one after another
STAGES = {stage.name: stage for stage in (PURE, STORES, STACK, FAULTS)}
