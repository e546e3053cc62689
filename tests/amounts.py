"""Amounts for tests that are about a few resources: there is none of any other."""

import numpy as np

from wire.resources import AXES

R = len(AXES)


def amounts(*first: int) -> tuple[int, ...]:
    """Memory, cores and GPUs, as far as they are given, and nothing of all else."""
    return (*first, *[0] * (R - len(first)))


def vector(*first: int) -> np.ndarray:
    """The same as an array (r,)."""
    return np.array(amounts(*first), np.int64)


def by_axis(**given: int) -> dict[str, int]:
    """What is given by name, and nothing of all else."""
    return dict.fromkeys(AXES, 0) | given
