"""What every command needs: the options of ``hydractl`` itself, and a client made of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from client import config
from client.api import Client
from client.errors import HydraError


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


def _unparsed(ctx: typer.Context) -> Settings:
    """hydractl's own options while the shell completes a line and ``main`` has not run."""
    given = ctx.find_root().params
    return Settings(given.get("context"), given.get("url") or None, given.get("token") or None)


@contextmanager
def connected(ctx: typer.Context, *, retry_s: float = 15.0, timeout_s: float = 30.0) -> Iterator[Client]:
    """A client for the chosen server."""
    where = (ctx.find_object(Settings) or _unparsed(ctx)).resolve()
    with Client(where.url, where.token, retry_s=retry_s, timeout_s=timeout_s) as client:
        yield client


def _complete_job(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Recent jobs, for shell completion; nothing when the server cannot be asked at once."""
    try:
        with connected(ctx, retry_s=0, timeout_s=1) as client:
            recent = [job for job, _ in zip(client.jobs(page_size=30), range(30), strict=False)]
    except HydraError:
        return []
    return [(str(job.id), f"{job.name} {job.state}") for job in recent if str(job.id).startswith(incomplete)]


JobArgument = Annotated[int, typer.Argument(metavar="JOB", help="The job's number.", autocompletion=_complete_job)]
