"""Workloads by name: logs, traces and generators that tell a simulated federation what is submitted, and when."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from simulator.workload import Machine
from simulator.workloads import history, openb, philly, sls, slsqueues, swf, synthetic
from simulator.workloads.source import SHOWN, Source, one_of


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

    A file is opened at once, so one that is not there is noticed here; its first job comes at 0 s.
    """
    reader = READERS[one_of("workload", name, READERS)]
    for option in options:
        if option not in reader.options:
            known = ", ".join(sorted(reader.options)) or "none"
            raise ValueError(f"{option[:40]!r} is no option of the workload {name}; options: {known}")
    if not reader.reads_file:
        return reader.read(path, **options)
    if path is None:
        raise ValueError(f"the workload {name} needs a path; give the file to read")
    with Path(path).open("rb"):
        pass  # only whether it can be
    return reader.read(path, **typed(reader.read, options)).from_first()


def typed(read: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as ``read`` declares them; ``ValueError`` at one that is something else."""
    hints = get_type_hints(read, include_extras=True)
    return {name: _typed(name, value, hints[name]) for name, value in options.items()}


def _typed(name: str, value: Any, hint: Any) -> Any:
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        wanted = " or ".join(dict.fromkeys(found["msg"].replace("Input should be ", "") for found in error.errors()))
        raise ValueError(f"{name}: {str(value)[:SHOWN]!r} does not fit; give {wanted}") from None
