"""What the tests of workload readers share: real data, comparison of jobs, and files of one line."""

import gzip
import os
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from simulator.workload import Submission


def real(name: str) -> Path:
    """A file of the folder that HYDRA_DATA names; the test is skipped where there is none."""
    folder = os.environ.get("HYDRA_DATA")
    if not folder:
        pytest.skip("HYDRA_DATA names no folder with traces")
    return Path(folder) / name


def written(path: Path, text: str) -> Path:
    """``path`` with this text, gzipped where the name says so."""
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def same(one: Iterable[Submission], other: Iterable[Submission]) -> bool:
    """Whether two workloads are equal to the last digit."""
    return [told(job) for job in one] == [told(job) for job in other]


def told(job: Submission) -> list[object]:
    """A job as values that can be compared."""
    groups = [
        [(value.dtype.str, value.tolist()) if isinstance(value, np.ndarray) else value for value in values]
        for values in ([getattr(group, f.name) for f in fields(group)] for group in job.groups)
    ]
    return [groups if f.name == "groups" else getattr(job, f.name) for f in fields(job)]
