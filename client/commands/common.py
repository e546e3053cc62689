"""What every command needs: the options of ``hydractl`` itself, and a client made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from itertools import islice
from typing import Annotated, Any, TypeVar, cast

import typer
from typer.core import TyperGroup

from client import clock, config
from client.api import Client
from client.errors import HydraError, client_error
from contract.nodes import Node
from contract.schedules import Schedule
from wire.counts import counted
from wire.states import JobState, TaskState

N = TypeVar("N", Node, Schedule)
OFFERED = 30  # values that completion shows
INDICES = 10_000  # of tasks, among which it looks
LOOKED_THROUGH = 5000  # names, for one that may have been meant
STATES = {"live", "ended", *JobState.__members__, *TaskState.__members__}


class ShowingGroup(TyperGroup):
    """What stands first and is no command is a name to show: ``hydractl node 3`` is ``hydractl node show 3``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["show", *args]
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True)
class Settings:
    """hydractl's own options; None where neither the option nor the environment says anything."""

    context: str | None = None
    url: str | None = None
    token: str | None = None

    def resolve(self) -> config.Context:
        return config.resolve(config.load(config.config_path()), self.context, self.url, self.token)


def with_number(named: list[N], text: str, read: Callable[[int], N]) -> list[N]:
    """What has the name ``text``, and what it is the number of; an error where neither is there and it is a number."""
    if not (text.isascii() and text.isdigit()):
        return named
    try:
        numbered = read(int(text))
    except HydraError as error:
        if error.status != 404 or not named:
            raise
        return named
    return named if any(each.id == numbered.id for each in named) else [*named, numbered]


def _unparsed(ctx: typer.Context) -> Settings:
    """hydractl's own options while the shell completes a line and ``main`` has not run."""
    given = ctx.find_root().params
    return Settings(given.get("context"), given.get("url") or None, given.get("token") or None)


@contextmanager
def connected(ctx: typer.Context, *, retry_s: float = 15.0, timeout_s: float = 30.0) -> Iterator[Client]:
    """A client for the chosen server."""
    where = (ctx.find_object(Settings) or _unparsed(ctx)).resolve()
    with Client(where.url, where.token, retry_s=retry_s, timeout_s=timeout_s) as client:
        clock.go_by(client.now)
        yield client


def server_time(ctx: typer.Context) -> datetime:
    """Of a command that has asked the server nothing yet."""
    with connected(ctx) as client:
        return client.now()


def completing(read: Callable[[Client, typer.Context], Iterable[tuple[str, str]]]) -> Callable[..., Any]:
    """Shell completion from up to ``OFFERED`` values and their help; none when the server cannot be asked at once."""

    def complete(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        try:
            with connected(ctx, retry_s=0, timeout_s=1) as client:
                return list(islice((each for each in read(client, ctx) if each[0].startswith(incomplete)), OFFERED))
        except HydraError:
            return []

    return complete


def _jobs(client: Client, _ctx: typer.Context) -> Iterator[tuple[str, str]]:
    return ((str(job.id), f"{job.name} {job.state}") for job in islice(client.jobs(page_size=OFFERED), OFFERED))


def _queues(client: Client, _ctx: typer.Context) -> Iterator[tuple[str, str]]:
    return ((queue.path, "") for queue in client.queues())


def _nodes(client: Client, _ctx: typer.Context) -> Iterator[tuple[str, str]]:
    return ((node.name, f"{node.sub_cluster} {node.state}") for node in client.nodes())


def _groups(client: Client, ctx: typer.Context) -> Iterator[tuple[str, str]]:
    """Of the job that stands before it on the line."""
    # A line that ends with an option lacks its value: then nothing of it has been read.
    job = ctx.params.get("job") or next((word for word in ctx.args if word.isdecimal()), None)
    return ((group.name, group.state) for group in client.job(int(job)).groups) if job else iter(())


def complete_target(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """``JOB``; then ``JOB/GROUP``, and then ``JOB/GROUP/INDEX``, once what stands before is typed."""
    job, *rest = incomplete.split("/")

    def read(client: Client, ctx: typer.Context) -> Iterator[tuple[str, str]]:
        if not rest:
            return _jobs(client, ctx)
        groups = client.job(int(job)).groups if job.isdecimal() else []
        if len(rest) == 1:
            return ((f"{job}/{group.name}", f"{group.state}, {counted(group.count, 'task')}") for group in groups)
        indices = next((range(min(group.count, INDICES)) for group in groups if group.name == rest[0]), range(0))
        return ((f"{job}/{rest[0]}/{index}", "") for index in indices)

    return cast(list[tuple[str, str]], completing(read)(ctx, incomplete))


def _schedules(client: Client, _ctx: typer.Context) -> Iterator[tuple[str, str]]:
    return ((schedule.name, f"{schedule.owner} {schedule.words}") for schedule in client.schedules())


def _secrets(client: Client, _ctx: typer.Context) -> Iterator[tuple[str, str]]:
    return ((secret.name, "") for secret in client.secrets())


def _receivers(client: Client, _ctx: typer.Context) -> Iterator[tuple[str, str]]:
    return ((receiver.name, receiver.address) for receiver in client.receivers())


def complete_context(incomplete: str) -> list[str]:
    """Names of stored logins."""
    try:
        return [name for name in config.load(config.config_path()).contexts if name.startswith(incomplete)]
    except HydraError:
        return []


complete_queue, complete_node, complete_group = completing(_queues), completing(_nodes), completing(_groups)
complete_schedule, complete_secret = completing(_schedules), completing(_secrets)
complete_receiver = completing(_receivers)


def state_word(text: str | None) -> str | None:
    """A state as the API spells it, whatever case a person typed; another word as it is."""
    for known in () if text is None else (text.lower(), text.upper()):
        if known in STATES:
            return known
    return text


def job_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise typer.BadParameter(f"{text[:60]!r} is not a job's number; hydractl jobs lists them.")
    return int(text)


JobArgument = Annotated[
    int,
    typer.Argument(metavar="JOB", help="The job's number.", parser=job_number, autocompletion=completing(_jobs)),
]


def _typed(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _spelt(ctx: typer.Context, name: str) -> str:
    return next((each.opts[0] for each in ctx.command.params if each.name == name), name)


def apart(ctx: typer.Context, option: str, *others: str) -> None:
    """``HydraError`` where ``option`` was typed and one of the others, of which it makes nothing; all by name."""
    for other in others:
        if _typed(ctx, option) and _typed(ctx, other):
            message = f"does not go with {_spelt(ctx, option)}"
            raise client_error(message, field_name=_spelt(ctx, other), remedy="Leave one of them out.")


def only_of(ctx: typer.Context, option: str, *wholes: str) -> None:
    """``HydraError`` where ``option`` was typed and none of these, of which it says something; all by name."""
    if _typed(ctx, option) and not any(_typed(ctx, whole) for whole in wholes):
        known = [_spelt(ctx, whole) for whole in wholes]
        remedy = f"Add {known[0]}, or leave it out."
        raise client_error(f"is of {' and '.join(known)}", field_name=_spelt(ctx, option), remedy=remedy)


def near(name: str, known: Iterable[str], see: str) -> str:
    """What to do about a name that nothing has: those of the first that are much like it, and where all are."""
    meant = " or ".join(get_close_matches(name, sorted(set(islice(known, LOOKED_THROUGH))), 3, 0.7))
    return f"Did you mean {meant}? See: {see}" if meant else f"See: {see}"


def nothing_in(client: Client, queue: str | None, nothing: str) -> Callable[[], str]:
    """``nothing``, and that there is no such queue where it may be misspelt."""

    def words() -> str:
        known = [q.path for q in client.queues()] if queue else []
        if not queue or any(f"{path}.".startswith(f"{queue}.") for path in known):
            return nothing
        meant = get_close_matches(queue, known, 1)
        absent = f"{nothing} There is no queue {queue} that you may use now."
        return f"{absent} Did you mean {meant[0]}?" if meant else absent

    return words
