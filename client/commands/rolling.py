"""``policy rollout``: a version that is put in force in stages; for operators."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import Annotated, Any

import typer

from client.api import Client
from client.commands.common import connected
from client.commands.policy import awaits_approval
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption, duration, print_json, say, show_one, told
from contract.policies import Proposal
from contract.rollouts import Rollout, SideMeasures

rollout = typer.Typer(help="A policy version that is put in force in stages.", no_args_is_help=True)

POLL_S = 1.0
SOAK_S = 60.0
DONE = ("completed",)
PAUSED = "paused"
RolloutArgument = Annotated[
    int | None, typer.Argument(metavar="[ROLLOUT]", help="The rollout's number; by default the last one.")
]
WhyOption = Annotated[str, typer.Option("--message", "-m", help="Why; others read it.")]
StagedOption = Annotated[
    list[str],
    typer.Option(
        "--staged",
        help="A stage: canary=west or west,east. Again for the next one. What concerns all sub-clusters together "
        "(queues, partitions, access, routing, shares, admission) changes after the last one: see --watch.",
        metavar="[NAME=]SUBS",
    ),
]
SoakOption = Annotated[
    list[float], typer.Option("--soak", min=0, help="Seconds a stage is watched; once for all, or once per stage.")
]
WatchAllOption = Annotated[
    float | None,
    typer.Option("--watch", min=0, help="Seconds all of it is watched once it holds everywhere, after the stages."),
]
GuardOption = Annotated[
    list[str],
    typer.Option(
        "--guard",
        metavar="NAME=BOUND",
        help="pending_p99_s, failures_per_min, failure_share, allocation_rate_drop or utilization_drop.",
    ),
]


class OnBreach(StrEnum):
    pause = "pause"
    rollback = "rollback"


OnBreachOption = Annotated[OnBreach, typer.Option("--on-breach", help="What follows when a guard is broken.")]


def stages_of(staged: list[str], soak: list[float]) -> list[dict[str, Any]]:
    """Stages as the API takes them; ``HydraError`` names the option that cannot be read."""
    if len(soak) > 1 and len(soak) != len(staged):
        raise client_error(
            f"{len(soak)} times --soak for {len(staged)} stages",
            field_name="--soak",
            remedy="Give one, or one a stage.",
        )
    times = [*soak] * len(staged) if len(soak) == 1 else soak or [SOAK_S] * len(staged)
    found = []
    for text, seconds in zip(staged, times, strict=True):
        names = [name.strip() for name in text.rpartition("=")[2].split(",") if name.strip()]
        if not names:
            raise client_error(
                f"{text!r} names no sub-cluster", field_name="--staged", remedy="Give west or a=west,east."
            )
        found.append({"sub_clusters": names, "soak_s": seconds})
    return found


def guards_of(given: list[str]) -> dict[str, float]:
    """Guards as the API takes them; which names there are, it knows itself."""
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name.strip()] = float(value.strip().removesuffix("%")) / (100 if value.strip().endswith("%") else 1)
        except ValueError:
            raise client_error(f"{text!r} has no number", field_name="--guard", remedy="Give NAME=BOUND.") from None
    return found


def plan_of(
    staged: list[str], soak: list[float], watch: float | None, guard: list[str], on_breach: OnBreach
) -> dict[str, Any]:
    """The options as ``Client.roll_out`` takes them; empty where nothing is to be watched."""
    if not staged and (soak or (guard and watch is None)):
        remedy = "Give --staged canary=SUB-CLUSTER, or --watch SECONDS for all at once."
        raise client_error("there is no stage to watch", field_name="--staged", remedy=remedy)
    stages = stages_of(staged, soak)
    if watch is not None:
        stages.append({"everywhere": True, "soak_s": watch})
    return {"stages": stages, "guards": guards_of(guard), "on_breach": str(on_breach)} if stages else {}


def begun(found: Rollout | Proposal, output: Format) -> None:
    """Say what came of a push in stages."""
    if output is Format.json:
        print_json(found)
    elif isinstance(found, Proposal):
        print(awaits_approval(found))
    else:
        print(f"rollout {found.id} of version {found.version}: follow it with hydractl policy rollout status -f")


ROLLOUTS: list[Column[Rollout]] = [
    ("ROLLOUT", lambda r: r.id), ("VERSION", lambda r: r.version), ("FROM", lambda r: r.from_version),
    ("STATE", lambda r: r.state), ("AT", lambda r: r.created_at), ("BY", lambda r: r.author or "the system"),
    ("MESSAGE", lambda r: r.message),
]  # fmt: skip


@rollout.command("list")
def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0: all.")] = 20,
    sort: Annotated[str | None, sorting(ROLLOUTS)] = None,
    columns: Annotated[str | None, picking(ROLLOUTS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Rollouts, newest first."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.rollouts, ROLLOUTS, output, nothing="There was none.", limit=limit, look=look)


@rollout.command("status")
def status(
    ctx: typer.Context,
    number: RolloutArgument = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Until it is over or paused; 1 unless it is completed.")
    ] = False,
    output: OutputOption = Format.table,
) -> None:
    """Where a rollout is, and what its guards see."""
    with connected(ctx) as client:
        found, told = _last(client, number), ""
        while follow and found.live and found.state != PAUSED:
            if found.message != told:
                told = found.message
                say(f"{found.state}: {told}")
            time.sleep(POLL_S)
            found = client.rollout(found.id)
    _shown(found, output)
    if follow and found.state == PAUSED:
        say(f"paused, and waits for you: go on with hydractl policy rollout resume {found.id}")
        say(f"or put the old content in force again: hydractl policy rollout abort {found.id}")
    if follow and found.state not in DONE:
        raise typer.Exit(1)


def _last(client: Client, number: int | None) -> Rollout:
    if number is not None:
        return client.rollout(number)
    found = next(client.rollouts(page_size=1), None)
    if found is None:
        raise client_error("there was no rollout yet", remedy="Begin one with hydractl policy push --staged.")
    return found


def _shown(r: Rollout, output: Format) -> None:
    pairs = [
        ("rollout", r.id), ("version", r.version), ("from", r.from_version), ("state", r.state),
        ("why", r.message), ("stage", f"{r.stage + 1} of {len(r.stages)}"),
        ("stages", [f"{', '.join(s.sub_clusters) or 'everywhere'} for {s.soak_s:g} s" for s in r.stages]),
        ("guards", r.guards), ("on breach", r.on_breach), ("rolled back by", r.rollback_version),
        ("began", r.created_at), ("took", duration(r.created_at, r.ended_at)),
        *((f"{side} {when}", text) for when, side, text in _measured(r)),
    ]  # fmt: skip
    show_one(r, pairs, output)


def _measured(r: Rollout) -> list[tuple[str, str, str]]:
    """(before or now, side, measures) of the stage it is in."""
    now = r.metrics.stages[r.stage : r.stage + 1]
    found = []
    for when, measures in (("before", r.baseline.get(str(r.stage))), ("now", now[0] if now else None)):
        if measures:
            found.append((when, "staged", _words(measures.staged)))
            if not r.stages[r.stage].everywhere:
                found.append((when, "others", _words(measures.others)))
    return found


def _words(m: SideMeasures) -> str:
    share = f"{100 * m.failed / m.ended:.1f} % failed" if m.ended else "none ended"
    used = "-" if m.utilization is None else f"{100 * m.utilization:.0f} %"
    waits = "-" if m.pending_p99_s is None else f"{m.pending_p99_s:.1f} s"
    return f"waits p99 {waits}, {share}, {m.allocations_per_s:.1f} allocations/s, used {used}"


def _steer(ctx: typer.Context, number: int | None, what: str, message: str, output: Format) -> None:
    with connected(ctx) as client:
        found = client.steer_rollout(_last(client, number).id, what, message)
    told(found, f"rollout {found.id} is {found.state}: {found.message}", output)


@rollout.command("pause")
def pause(
    ctx: typer.Context, number: RolloutArgument = None, message: WhyOption = "", output: OutputOption = Format.table
) -> None:
    """Tell nobody else; what runs the version goes on."""
    _steer(ctx, number, "pause", message, output)


@rollout.command("resume")
def resume(
    ctx: typer.Context, number: RolloutArgument = None, message: WhyOption = "", output: OutputOption = Format.table
) -> None:
    """Go on with the stage it is in, which is watched anew."""
    _steer(ctx, number, "resume", message, output)


@rollout.command("abort")
def abort(
    ctx: typer.Context, number: RolloutArgument = None, message: WhyOption = "", output: OutputOption = Format.table
) -> None:
    """Put the old content in force again, as a new version."""
    _steer(ctx, number, "abort", message, output)
