"""Workloads by name: logs, traces and generators that tell a simulated federation what is submitted, and when."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.workload import Machine
from simulator.workloads import history, openb, philly, sls, slsqueues, swf, synthetic
from simulator.workloads.source import Source, one_of


@dataclass(frozen=True, slots=True)
class WorkloadReader:
    """read(path, **options); what reads no file takes None. options: their names.

    machines, queues: read the trace's nodes, and the ``queues`` of a policy
    document, from files of their own. machine_options: which of the options
    ``machines`` takes too, with the same meaning.
    """

    read: Callable[..., Source]
    options: tuple[str, ...]
    reads_file: bool = True
    machines: Callable[..., list[Machine]] | None = None
    machine_options: tuple[str, ...] = ()
    queues: Callable[[str | Path], dict[str, Any]] | None = None


def _reader(read: Callable[..., Source], **more: Any) -> WorkloadReader:
    given = inspect.signature(read).parameters.values()
    return WorkloadReader(read, tuple(p.name for p in given if p.kind is p.KEYWORD_ONLY), **more)


READERS: dict[str, WorkloadReader] = {
    "history": _reader(history.read),
    "openb": _reader(openb.read, machines=openb.machines),
    "philly": _reader(
        philly.read, machines=philly.machines, machine_options=("memory_mib", "vcores_milli"), queues=philly.queues
    ),
    "sls": _reader(sls.read, machines=sls.machines, queues=slsqueues.queues),
    "swf": _reader(swf.read, machines=swf.machines, machine_options=("memory_mib",)),
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
            raise ValueError(f"{option[:40]!r} is no option of the workload {name}; options: {known}")
    if reader.reads_file:
        if path is None:
            raise ValueError(f"the workload {name} needs a path; give the file to read")
        with Path(path).open("rb"):
            pass  # only whether it can be
    return reader.read(path, **options)
