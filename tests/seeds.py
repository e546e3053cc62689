"""Seeds of what tests draw: the same everywhere, but new ones with ``--soak``, which are told."""

import os
import secrets
from random import Random

SOAK = os.environ.get("HYDRA_SOAK") == "1"
NAME = "HYDRA_TEST_SEED"  # of a run with --soak, to have it again


def fresh() -> int:
    return 1 + secrets.randbelow(10**9)


def _first() -> int:
    """Drawn once for a run; processes that share it find it in their environment."""
    return int(os.environ.setdefault(NAME, str(fresh()))) if SOAK else 0


_FIRST = _first()


def some(usual: int, soaking: int) -> range:
    """So many seeds, and so many with ``--soak``."""
    return range(_FIRST, _FIRST + soaking) if SOAK else range(usual)


def drawn(usual: int | str) -> Random:
    """From this seed, or with ``--soak`` from one of the run's own; told where the test fails."""
    seed = f"{_FIRST} {usual}" if SOAK else usual
    print(f"drawn from seed {seed!r}" + (f" ({NAME}={_FIRST})" if SOAK else ""))
    return Random(seed)
