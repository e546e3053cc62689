"""How policy versions spread: ``policy status``; for operators."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated

import typer

from client.commands.common import connected
from client.commands.policy import policy
from client.commands.rolling import rollout
from client.screen import Column, Format, OutputOption, plain, print_json, say, show
from contract.rollouts import Convergence, KindConvergence

WORDS = {"rm": "RMs", "router": "routers", "gpg": "GPG", "node": "nodes"}
SHOWN_LAGGARDS = 10
POLL_S = 0.25
VersionOption = Annotated[
    int | None, typer.Option(min=1, help="This version instead of the one last pushed to any part.")
]


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _columns() -> Sequence[Column[KindConvergence]]:
    return [
        ("PART", lambda k: WORDS.get(k.kind, k.kind)), ("ALL", lambda k: k.total), ("TOLD", lambda k: k.told),
        ("RUN IT", lambda k: k.on_version), ("BEHIND", lambda k: k.behind), ("SINCE", lambda k: k.since),
        ("P50 S", lambda k: _seconds(k.p50_s)), ("P99 S", lambda k: _seconds(k.p99_s)),
        ("MAX S", lambda k: _seconds(k.max_s)),
        ("VERSIONS", lambda k: ", ".join(f"{v.count} on {v.version}" for v in k.versions)),
    ]  # fmt: skip


def _show(found: Convergence, output: Format) -> None:
    if output is Format.json:
        print_json(found)
        return
    where = "in force" if found.active else "not in force everywhere"
    say(f"version {found.version}, {where}, pushed {plain(found.pushed_at)}")
    show(found.kinds, _columns(), output, nothing="Nothing runs.")
    for kind in found.kinds:
        more = f" and {kind.behind - SHOWN_LAGGARDS} more" if kind.behind > SHOWN_LAGGARDS else ""
        if kind.laggards:
            say(f"behind: {', '.join(kind.laggards[:SHOWN_LAGGARDS])}{more}")


@policy.command("status")
def status(
    ctx: typer.Context,
    version: VersionOption = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Until all that are told run it.")] = False,
    timeout_s: Annotated[float, typer.Option(min=0, help="Follow no longer than this; then the status is 1.")] = 600.0,
    output: OutputOption = Format.table,
) -> None:
    """Who runs a policy version, since when, and how long it took."""
    until = time.monotonic() + timeout_s
    with connected(ctx) as client:
        found = client.policy_convergence(version)
        told: list[tuple[str, int, int]] = []
        while follow and not found.converged and time.monotonic() < until:
            counts = [(k.kind, k.told - k.behind, k.told) for k in found.kinds]
            if counts != told:
                told = counts
                say(f"version {found.version}: " + ", ".join(f"{n} of {of} {WORDS[kind]}" for kind, n, of in counts))
            time.sleep(POLL_S)
            found = client.policy_convergence(found.version)
    _show(found, output)
    if follow and not found.converged:
        raise typer.Exit(1)


def register(app: typer.Typer) -> None:
    policy.add_typer(rollout, name="rollout")
