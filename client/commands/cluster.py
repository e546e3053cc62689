"""What the cluster is made of, and how full it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any

import typer

from client.api import Client
from client.commands.common import connected
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, Keyed, OutputOption, plain, say, show, show_one, size
from contract.base import Amounts, Answer
from contract.nodes import Node
from contract.subclusters import Overview, SubCluster
from wire.resources import RESOURCES, Resource

CLOSED = ("CORDONED", "DRAINING", "DRAINED", "LEAVING", "MAINTENANCE")
STALE_S = 5.0  # five heartbeats without news


def nodes(
    ctx: typer.Context,
    sub_cluster: Annotated[str | None, typer.Option("--sub-cluster", "-s", help="Of this sub-cluster only.")] = None,
    contains: Annotated[str | None, typer.Option(help="Whose name contains it.")] = None,
    rack: Annotated[str, typer.Option(help="In this rack.")] = "",
    label: Annotated[str, typer.Option(help="With this label: KEY or KEY=VALUE.")] = "",
    state: Annotated[str, typer.Option(help="Like UP or DRAINED; closed: to new work; stale: silent.")] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0: all.")] = 200,
    sort: Annotated[str | None, sorting(NODES)] = None,
    columns: Annotated[str | None, picking(NODES)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """The nodes, their state and how full they are."""
    with connected(ctx) as client:

        def found() -> Iterator[Node]:
            return chosen(client.nodes(sub_cluster=sub_cluster, contains=contains), rack, label, state)

        look = Looking(sort, columns, watch)
        _whose(client, output)
        listed(found, NODES, output, nothing="There are no such nodes.", limit=limit, look=look)


def _whose(client: Client, output: Format) -> None:
    """A tenant is told only what his own jobs hold."""
    if output is Format.table and client.me().role == "tenant":
        say("What is held and waits there is your own part.")


def chosen(found: Iterable[Node], rack: str = "", label: str = "", state: str = "") -> Iterator[Node]:
    """Those that the fleet's page shows under the same filters; an empty one leaves all."""
    key, valued, value = (part.strip() for part in label.partition("="))
    for n in found:
        if rack and n.rack.lower() != rack.lower():
            continue
        if label and (key not in n.labels or (valued and n.labels[key] != value)):
            continue
        if state and not _in_state(n, state.upper()):
            continue
        yield n


def _in_state(n: Node, state: str) -> bool:
    shown = shown_state(n)
    if state == "STALE":
        return shown == "LOST" or n.last_seen_s is None or n.last_seen_s > STALE_S
    return shown in CLOSED if state == "CLOSED" else shown == state


def sub_clusters(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(SUB_CLUSTER_COLUMNS)] = None,
    columns: Annotated[str | None, picking(SUB_CLUSTER_COLUMNS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """The sub-clusters, who leads them and how full they are."""
    with connected(ctx) as client:
        _whose(client, output)
        look, nothing = Looking(sort, columns, watch), "There are no sub-clusters."
        listed(client.sub_clusters, SUB_CLUSTER_COLUMNS, output, nothing=nothing, look=look)


def overview(ctx: typer.Context, output: OutputOption = Format.table) -> None:
    """The whole cluster at a glance."""
    with connected(ctx) as client:
        o = client.overview()
    your = "your " if o.scope == "own" else ""
    pairs = [
        ("in service", in_service(o)), ("nodes", amounts(o.nodes)), (f"{your}jobs", amounts(o.jobs)),
        (f"{your}containers", o.live_containers),
        *((your + name, held(o)) for name, held in HELD),
        (f"{your}pending", amounts(o.pending)), ("policy version", o.policy_version),
    ]  # fmt: skip
    show_one(o, pairs, output)
    if output is Format.table:
        print()
        columns = [(your.upper() * (name in YOURS) + name, value) for name, value in SUB_CLUSTER_COLUMNS]
        show(o.sub_clusters, columns, output, nothing="There are no sub-clusters.")


def resources(value: Amounts | None) -> str:
    """Memory, cores and GPUs as people say them; a dash where there is nothing."""
    given = [] if value is None else [(each, getattr(value, each.axis)) for each in RESOURCES]
    text = ", ".join(_said(each, amount) for each, amount in given if amount)
    return Keyed(text, tuple(float(amount) for _, amount in given)) if text else "-"


def _said(of_: Resource, amount: float) -> str:
    """``4.0 GiB``, ``1.5 cores``; what is not memory has its word, whatever the unit."""
    if of_.in_mib:
        return size(amount * 2**20) + ("" if of_.axis == "memory_mib" else f" of {of_.word}")
    number = f"{amount / of_.large:g}"
    return f"{number} {of_.one if number == '1' else of_.word}"


def of(used: float, whole: float, unit: int = 1) -> str:
    """``512 / 4096``; a dash where there is nothing to share out."""
    return Keyed(f"{used / unit:g} / {whole / unit:g}", used) if whole else "-"


def _held(of_: Resource) -> tuple[str, Callable[[Any], str]]:
    unit, axis = 1 if of_.in_mib else of_.large, of_.axis
    name = f"{of_.word} MiB" if of_.in_mib else of_.word
    return name, lambda found: of(getattr(found.allocated, axis), getattr(found.capacity, axis), unit)


# By name, how much of a resource is ``allocated`` of a ``capacity``.
HELD = [_held(each) for each in RESOURCES]


def amounts(value: Any) -> str:
    """Amounts by name, without those that are zero."""
    named = value.model_dump() if isinstance(value, Answer) else value
    return plain({k: v for k, v in named.items() if v}) if isinstance(named, dict) else plain(named)


def shown_state(n: Node) -> str:
    """Its state; of a node that is up, what operators have made of that."""
    leaves = n.sub_cluster_state == "draining"
    kept = leaves or bool(n.maintenance and n.maintenance.active)
    if n.state != "UP" or (n.duty == "in_service" and not kept):
        return n.state
    if n.drained:
        return "DRAINED"
    if leaves and n.duty in ("in_service", "cordoned"):
        return "DRAINING"
    words = {"cordoned": "CORDONED", "draining": "DRAINING", "decommissioned": "LEAVING"}
    return words.get(n.duty, "MAINTENANCE")


def in_service(of_: SubCluster | Overview) -> str:
    """``3``, or ``3, 1 closed``: of the nodes that are up, those that take containers and those kept from them."""
    closed = of_.duties.get("closed", 0)
    return f"{of_.duties.get('open', 0)}" + (f", {closed} closed" if closed else "")


def ago(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f} s ago"


def _labels(n: Node) -> str:
    """``gpu, zone=a``, as ``--label`` takes them."""
    return ", ".join(f"{key}={value}" if value else key for key, value in sorted(n.labels.items())) or " "


NODES: list[Column[Node]] = [
    ("NODE", lambda n: n.id), ("NAME", lambda n: n.name), ("SUB-CLUSTER", lambda n: n.sub_cluster),
    ("RACK", lambda n: n.rack), ("STATE", shown_state), ("FAULTS", lambda n: n.health or " "),
    *((name.upper(), held) for name, held in HELD),
    ("CONTAINERS", lambda n: n.containers), ("SEEN", lambda n: ago(n.last_seen_s)), ("LABELS", _labels),
]  # fmt: skip
SUB_CLUSTER_COLUMNS: list[Column[SubCluster]] = [
    ("SUB-CLUSTER", lambda s: s.name), ("STATE", lambda s: "frozen" if s.frozen else s.state),
    ("LEADER", lambda s: s.leader), ("EPOCH", lambda s: s.epoch),
    ("LEASE", lambda s: {None: "-", True: "held", False: "lapsed"}[s.lease_ok]),
    ("IN SERVICE", in_service), ("NODES", lambda s: amounts(s.nodes)),
    *((name.upper(), held) for name, held in HELD),
    ("RUNNING", lambda s: s.live_containers), ("PENDING", lambda s: s.pending.containers),
]  # fmt: skip
YOURS = {"RUNNING", "PENDING", *(name.upper() for name, _ in HELD)}  # of which tenants are told their own part


def register(app: typer.Typer) -> None:
    for command in (overview, nodes, sub_clusters):
        app.command(rich_help_panel="Cluster")(command)
