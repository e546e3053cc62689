"""Compiled kernels, from the cache that a whole run shares."""

import os
from pathlib import Path

from controlplane import kernels
from scheduler.core.compiled import compile_all
from scheduler.warm import warm


def compile_kernels() -> None:
    """For this process, until ``interpret``; waits for whoever fills the cache."""
    if "NUMBA_CACHE_DIR" in os.environ:
        kernels.fill(Path(os.environ["NUMBA_CACHE_DIR"]))
    compile_all(warm)
