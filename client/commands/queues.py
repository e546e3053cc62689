"""Queues: as a list, as a tree, against the sub-clusters, and one with its reasons; and what was used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, TypeVar

import typer

from client.commands.cluster import resources
from client.commands.common import apart, complete_queue, connected, near, nothing_in, only_of
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.queuecalls import QueueCell, QueueStanding
from client.screen import Column, Format, Keyed, OutputOption, duration, print_json, printable
from contract.queues import Queue, QueueDetail, UsedAccount, UsedAmounts, UsedHour, UsedTag
from wire.resources import OF_AXIS

Q = TypeVar("Q", Queue, QueueStanding)
PRIORITY_MAX = 499  # that any job may have
RESOURCES = {each.word.lower(): axis for axis, each in OF_AXIS.items()}
ResourceOption = Annotated[
    str | None, typer.Option(help=f"One of {', '.join(RESOURCES)}; what each queue wants most of without it.")
]


def queues(
    ctx: typer.Context,
    queue: Annotated[
        str | None,
        typer.Argument(metavar="[QUEUE]", help="Only this one and those below it.", autocompletion=complete_queue),
    ] = None,
    *,
    long: Annotated[bool, typer.Option("--long", "-l", help="Orderings and limits, in place of what is used.")] = False,
    tree: Annotated[bool, typer.Option("--tree", help="What each holds, wants and was given, as a tree.")] = False,
    matrix: Annotated[bool, typer.Option("--matrix", help="A branch in every sub-cluster.")] = False,
    under: Annotated[str | None, typer.Option(help="With --matrix: the branch, as QUEUE.")] = None,
    why: Annotated[str | None, typer.Option(help="Why this queue has the share that it has in each place.")] = None,
    sub_cluster: Annotated[str | None, typer.Option("--sub-cluster", "-s", help="With --tree: there only.")] = None,
    resource: ResourceOption = None,
    sort: Annotated[str | None, sorting(LIST + MORE)] = None,
    columns: Annotated[str | None, picking(LIST + MORE)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """The queues: what each is guaranteed, may hold at most, uses and waits for."""
    axis, look = RESOURCES.get(resource or "", resource), Looking(sort, columns, watch)
    for option, named in (("why", why), ("under", under)):
        if named and queue:
            raise client_error("names its queue itself", field_name=option, remedy="Leave QUEUE out.")
    _matched(ctx)
    with connected(ctx) as client:
        if why:
            _why(client.queue_detail(why, axis), output)
        elif matrix:
            cells = partial(client.queue_matrix, queue or under or "root", axis)
            listed(cells, MATRIX, output, nothing="There is no queue of yours.", look=look)
        elif tree:
            rows = branch_of(queue, partial(client.queue_tree, sub_cluster))
            listed(rows, TREE, output, nothing="There are no queues.", look=look)
        else:
            usual, nothing = LONG if long else LIST, "There are no queues."
            found = branch_of(queue, client.queues)
            listed(found, LIST + MORE, output, nothing=nothing, look=look, usual=usual, sparse=long)


def _matched(ctx: typer.Context) -> None:
    """``HydraError`` where options are of different looks at the queues."""
    only_of(ctx, "sub_cluster", "tree")
    only_of(ctx, "under", "matrix")
    only_of(ctx, "resource", "matrix", "why")
    apart(ctx, "why", "tree", "matrix", "long", "sort", "columns", "watch")
    apart(ctx, "matrix", "tree", "long")
    apart(ctx, "tree", "long")


def branch_of(queue: str | None, read: Callable[[], list[Q]]) -> Callable[[], list[Q]]:
    """Of what is read a queue and those below it, where one is named; ``HydraError`` where that is not there."""

    def branch() -> list[Q]:
        rows = read()
        found = [q for q in rows if not queue or f"{q.path}.".startswith(f"{queue}.")]
        if queue and not found:
            remedy = near(queue, (q.path for q in rows), "hydractl queues")
            raise client_error(f"there is no queue {queue} that you may see", field_name="queue", remedy=remedy)
        return found

    return branch


def _why(found: QueueDetail, output: Format) -> None:
    """The reasons of one queue as sentences, a line per sub-cluster or, of an open one, per thing that may be told."""
    if output is Format.json:
        print_json(found)
        return
    if found.starving:
        print(printable(f"starved: {found.starving.text}"))
    for place in found.places:
        print(printable(f"{place.sub_cluster}: {place.why}"))
    for sentence in found.own:
        print(printable(sentence))


def usage(
    ctx: typer.Context,
    days: Annotated[int, typer.Option(min=1, max=400, help="So many days back.")] = 7,
    owner: Annotated[str | None, typer.Option(help="Whose, for operators; your own without it.")] = None,
    all_accounts: Annotated[
        bool, typer.Option("--all-accounts", help="With --csv: of all, each line with its owner; for operators.")
    ] = False,
    queue: Annotated[
        str | None, typer.Option(help="In this queue and those below it.", autocompletion=complete_queue)
    ] = None,
    hourly: Annotated[bool, typer.Option("--hourly", help="Per hour instead of per day.")] = False,
    by_account: Annotated[
        bool, typer.Option("--by-account", help="Per account, in at most 31 days; for operators and viewers.")
    ] = False,
    by_tag: Annotated[bool, typer.Option("--by-tag", help="Per tag of the jobs, in all the time.")] = False,
    tag: Annotated[str | None, typer.Option(help="Of jobs of this tag alone, per day.")] = None,
    csv: Annotated[bool, typer.Option("--csv", help="The whole ledger as CSV.")] = False,
    sort: Annotated[str | None, sorting(_USAGE)] = None,
    columns: Annotated[str | None, picking(_USAGE)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """What your jobs used, by the time in which their containers ended. A job counts for each of its tags."""
    if all_accounts and not csv:
        raise client_error("is of the CSV file alone", field_name="--all-accounts", remedy="add --csv")
    if by_account and (csv or by_tag or hourly or owner):
        remedy = "leave out --csv (its --all-accounts has each owner), --by-tag, --hourly and --owner"
        raise client_error("is a table of its own", field_name="--by-account", remedy=remedy)
    if tag is not None and (csv or by_tag or hourly or by_account):
        remedy = "leave out --by-tag, --by-account and --hourly; --csv --by-tag has the days of every tag"
        raise client_error("is told by the day", field_name="--tag", remedy=remedy)
    apart(ctx, "csv", "hourly", "sort", "columns", "watch", "output")
    apart(ctx, "by_tag", "hourly")
    look = Looking(sort, columns, watch)
    with connected(ctx) as client:
        nothing = nothing_in(client, queue, "Nothing was used in this time.")
        if csv:
            read = client.usage_tags_csv if by_tag else client.usage_csv
            print(read(days, owner, all_accounts=all_accounts, queue=queue), end="")
        elif by_account:
            accounts = partial(client.usage_accounts, days, queue=queue)
            listed(accounts, [*OWNED, *MORE_USED], output, nothing=nothing, look=look, usual=OWNED)
        elif by_tag:
            tags = partial(client.usage_tags, days, owner, queue=queue)
            listed(tags, [*TAGGED, *MORE_USED], output, nothing=nothing, look=look, usual=TAGGED)
        else:
            rows = partial(client.usage, days, owner, "hour" if hourly else "day", queue=queue, tag=tag)
            listed(rows, [*USED, *MORE_USED], output, nothing=nothing, look=look, usual=USED)


def _starves(q: QueueStanding) -> str:
    return duration(q.starves_since, None)


TREE: list[Column[QueueStanding]] = [
    ("QUEUE", lambda q: "  " * q.depth + q.path.rpartition(".")[2]),
    ("GUARANTEED", lambda q: resources(q.guaranteed)), ("MAXIMUM", lambda q: resources(q.maximum)),
    ("USED", lambda q: resources(q.used)), ("PENDING", lambda q: resources(q.pending)),
    ("SHARE", lambda q: resources(q.share)), ("JOBS", lambda q: f"{q.running_jobs} of {q.live_jobs}"),
    ("STARVED", _starves),
]  # fmt: skip
MATRIX: list[Column[QueueCell]] = [
    ("QUEUE", lambda c: c.queue), ("SUB-CLUSTER", lambda c: c.sub_cluster),
    ("SHARE", lambda c: resources(c.share)), ("GUARANTEED", lambda c: resources(c.guaranteed_part)),
    ("USED", lambda c: resources(c.used)), ("PENDING", lambda c: resources(c.pending)),
    ("RULE", lambda c: c.rule),
]  # fmt: skip


def _hours(value: float) -> Keyed:
    return Keyed(f"{value:,.3f}", value)


def _used_hours(of: UsedAmounts, value: float) -> Keyed:
    """A dash where nobody measured: a container that was measured took some memory."""
    return _hours(value) if of.cpu_ms or of.peak_memory_mib_s else Keyed("-", -1.0)


AMOUNTS: list[Column[UsedAmounts]] = [
    ("CONTAINERS", lambda u: u.containers),
    ("FAILED", lambda u: u.failed), ("GIB HOURS", lambda u: _hours(u.memory_mib_s / 1024 / 3600)),
    ("GIB HOURS USED", lambda u: _used_hours(u, u.peak_memory_mib_s / 1024 / 3600)),
    ("CORE HOURS", lambda u: _hours(u.vcores_milli_s / 3_600_000)),
    ("CORE HOURS USED", lambda u: _used_hours(u, u.cpu_ms / 3_600_000)),
    ("GPU HOURS", lambda u: _hours(u.gpu_s / 3600)),
    ("MEAN WAIT S", lambda u: f"{u.waited_s / u.tasks:.1f}" if u.tasks else "-"),
]  # fmt: skip
MORE_USED: list[Column[UsedAmounts]] = [
    ("GIB HOURS WASTED", lambda u: _used_hours(u, max(0, u.memory_mib_s - u.peak_memory_mib_s) / 1024 / 3600)),
    ("CORE HOURS WASTED", lambda u: _used_hours(u, max(0, u.vcores_milli_s - u.cpu_ms) / 3_600_000)),
    ("TASKS", lambda u: u.tasks), ("HOURS WAITED", lambda u: _hours(u.waited_s / 3600)),
]  # fmt: skip
_USAGE: list[Column[Any]] = [
    *[(head, str) for head in ("AT", "TAG", "ACCOUNT", "QUEUE")],
    *AMOUNTS,
    *MORE_USED,
]  # what may be asked for
USED: list[Column[UsedHour]] = [("AT", lambda u: u.at), ("QUEUE", lambda u: u.queue), *AMOUNTS]
OWNED: list[Column[UsedAccount]] = [("ACCOUNT", lambda u: u.owner or "(gone)"), *AMOUNTS]
TAGGED: list[Column[UsedTag]] = [("TAG", lambda u: u.tag or "(no tag)"), ("QUEUE", lambda u: u.queue), *AMOUNTS]


def _per_user(q: Queue) -> str:
    """What one user may hold, where that is less than the queue may."""
    return "-" if q.user_limit == q.maximum else resources(q.user_limit)


def _max_priority(q: Queue) -> int | None:
    """The highest that it allows, where jobs may have a higher one elsewhere."""
    return None if q.max_priority == PRIORITY_MAX else q.max_priority


LIST: list[Column[Queue]] = [
    ("QUEUE", lambda q: q.path), ("STATE", lambda q: q.state),
    ("GUARANTEED", lambda q: resources(q.guaranteed)), ("MAXIMUM", lambda q: resources(q.maximum)),
    ("USED", lambda q: resources(q.used)), ("PENDING", lambda q: q.pending), ("JOBS", lambda q: q.live_jobs),
    ("SUBMIT", lambda q: q.may_submit),
]  # fmt: skip
MORE: list[Column[Queue]] = [
    ("ORDER", lambda q: q.ordering), ("PREEMPT", lambda q: q.preemptable), ("WEIGHT", lambda q: q.weight),
    ("PER USER", _per_user), ("MAX JOBS", lambda q: q.max_running_jobs),
    ("JOBS/USER", lambda q: q.max_running_jobs_per_user), ("LIVE/USER", lambda q: q.max_live_jobs_per_user),
    ("TASKS/USER", lambda q: q.max_live_tasks_per_user), ("MIB/USER", lambda q: q.max_live_mib_per_user),
    ("MAX PRIO", _max_priority), ("PARTITION", lambda q: q.default_partition),
]  # fmt: skip
LONG = [column for column in LIST if column[0] not in ("USED", "PENDING")] + MORE


def register(app: typer.Typer) -> None:
    for command in (queues, usage):
        app.command(rich_help_panel="Cluster")(command)
