"""On how many examples a property is tried. Always the same ones, but with ``--soak``."""

import os

from hypothesis import settings

SOAK = os.environ.get("HYDRA_SOAK") == "1"
LEAST = 25


def examples(number: int) -> settings:
    """Decorator. So many with ``--soak``; of a change the gate tries a third, which finds what is plainly wrong."""
    return settings(max_examples=number if SOAK else min(number, max(LEAST, number // 3)))
