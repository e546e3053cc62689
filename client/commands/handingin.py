"""Traces for simulations: handing them in, and a list of what there is; for operators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from client import traces
from client.api import Client
from client.commands.common import connected
from client.commands.policy import policy
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption, say
from contract.simulations import SimulationTrace
from wire.counts import counted

TRACES: list[Column[SimulationTrace]] = [
    ("NUMBER", lambda t: t.id), ("NAME", lambda t: t.name), ("KIND", lambda t: t.kind), ("JOBS", lambda t: t.jobs),
    ("CONTAINERS", lambda t: t.containers), ("SECONDS", lambda t: round(t.span_s)), ("NODES", lambda t: t.nodes),
    ("BY", lambda t: t.added_by), ("ADDED", lambda t: t.added_at),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class AskedTrace:
    """trace: a file, or the number of what was handed in before. cluster: a file of nodes."""

    trace: str
    kind: str
    options: dict[str, Any]
    cluster: Path | None
    own_nodes: bool

    @property
    def number(self) -> int | None:
        return int(self.trace) if self.trace.isascii() and self.trace.isdigit() else None

    @property
    def nodes(self) -> str:
        return "trace" if self.own_nodes or self.cluster else "fleet"


def asked_trace(
    trace: str | None, workload: str | None, given: list[str], cluster: Path | None, own_nodes: bool
) -> AskedTrace | None:
    """None where no trace is asked for. Raises ``HydraError`` where other options say something of one."""
    if trace is None:
        said = {"workload": workload, "option": given, "cluster": cluster, "own-nodes": own_nodes}
        for name in (name for name, value in said.items() if value):
            raise client_error("says something of a trace", field_name=name, remedy="Leave it out, or give --trace.")
        return None
    found = AskedTrace(trace, workload or traces.HISTORY, traces.options(given), cluster, own_nodes)
    if found.number is not None and (workload or (given and not cluster)):
        name = "workload" if workload else "option"
        raise client_error("is of a file that is handed in", field_name=name, remedy="Leave it out, or name the file.")
    return found


def hand_in(client: Client, asked: AskedTrace) -> int:
    """The trace's number; what is said of it goes to stderr."""
    number = asked.number
    if number is None:
        found = client.add_simulation_trace(asked.trace, asked.kind, asked.options)
        said = [f"{counted(found.jobs, 'job')}, {counted(found.containers, 'container')} over {found.span_s:,.0f} s"]
        said += [f"{count:,} left out: {why}" for why, count in found.skipped.items()]
        say(f"trace {found.id}: {'; '.join(said)}")
        number = found.id
    if asked.cluster is not None:
        found = client.put_simulation_trace_nodes(number, asked.cluster, asked.options)
        say(f"trace {number}: {counted(found.nodes or 0, 'node')} of its own")
    return number


@policy.command("traces")
def list_traces(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(TRACES)] = None,
    columns: Annotated[str | None, picking(TRACES)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Traces that were handed in and are kept: --trace NUMBER of simulate takes one again."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.simulation_traces, TRACES, output, nothing="None yet.", look=look)
