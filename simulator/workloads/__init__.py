"""Workloads by name: logs, traces and generators that tell a simulated federation what is submitted, and when."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.workloads import history, openb, philly, sls, swf, synthetic
from simulator.workloads.source import Source, one_of


@dataclass(frozen=True, slots=True)
class WorkloadReader:
    """read(path, **options); what reads no file takes None. options: their names."""

    read: Callable[..., Source]
    options: tuple[str, ...]
    reads_file: bool = True


def _reader(read: Callable[..., Source]) -> WorkloadReader:
    given = inspect.signature(read).parameters.values()
    return WorkloadReader(read, tuple(p.name for p in given if p.kind is p.KEYWORD_ONLY))


READERS: dict[str, WorkloadReader] = {
    "history": _reader(history.read),
    "openb": _reader(openb.read),
    "philly": _reader(philly.read),
    "sls": _reader(sls.read),
    "swf": _reader(swf.read),
    "synthetic": WorkloadReader(synthetic.read, synthetic.OPTIONS, reads_file=False),
}


def open_workload(name: str, path: str | Path | None = None, **options: Any) -> Source:
    """The workload that the reader ``name`` finds at ``path``; ``ValueError`` says what is wrong and what there is.

    A file is opened at once, so one that is not there is noticed here.
    """
    reader = READERS[one_of("workload", name, READERS)]
    for option in options:
        if option not in reader.options:
            known = ", ".join(sorted(reader.options)) or "none"
            raise ValueError(f"{option!r} is no option of the workload {name}; options: {known}")
    if reader.reads_file:
        if path is None:
            raise ValueError(f"the workload {name} needs a path; give the file to read")
        with Path(path).open("rb"):
            pass  # only whether it can be
    return reader.read(path, **options)
