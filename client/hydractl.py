"""``hydractl``: the cluster from a shell.

Results go to stdout, everything said beside them to stderr. Exit status: 0 done;
1 the job did not succeed; 2 refused, or a mistake in the request; 3 the server
cannot be reached or is overloaded; 130 Ctrl-C. ``exec`` ends with its command's.
"""

from __future__ import annotations

import errno
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import client
from client import clock
from client.commands import (
    account,
    accounts,
    bringing,
    cluster,
    compare,
    data,
    draining,
    endpoints,
    execs,
    explain,
    jobactions,
    jobs,
    logs,
    nodes,
    policy,
    policychanges,
    policyedit,
    policyplan,
    queues,
    receivers,
    replay,
    rollouts,
    schedules,
    secrets,
    series,
    services,
    simulating,
    subclusters,
    system,
    top,
    views,
)
from client.commands.common import Settings, complete_context, server_time
from client.copywords import not_here
from client.errors import HydraError, Unreachable, client_error
from client.screen import fail, say

REFUSED, UNREACHED, INTERRUPTED = 2, 3, 130
# These add their commands to `policy` and `sub-cluster` as they are imported.
ADDED = (draining, policychanges, policyedit, policyplan, simulating)


class _Group(TyperGroup):
    """Turns our errors into a line and an exit status, never a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HydraError as error:
            fail(error)
            away = isinstance(error, Unreachable) or error.status in (429, 502, 503, 504)
            raise typer.Exit(UNREACHED if away else REFUSED) from error
        except TimeoutError as error:
            say(f"hydractl: {error}.")
            raise typer.Exit(UNREACHED) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever reads what we write has gone
                raise
            path = error.filename
            fail(not_here(Path(str(path)), error) if path else client_error(error.strerror or str(error)))
            raise typer.Exit(REFUSED) from error
        except KeyboardInterrupt as error:
            raise typer.Exit(INTERRUPTED) from error


app = typer.Typer(
    name="hydractl",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"hydractl {client.VERSION}")
        raise typer.Exit


@app.callback()
def main(
    ctx: typer.Context,
    context: Annotated[
        str | None, typer.Option("--context", "-c", help="Use this stored login.", autocompletion=complete_context)
    ] = None,
    url: Annotated[str | None, typer.Option(envvar="HYDRA_URL", help="The server's address.")] = None,
    token: Annotated[
        str | None, typer.Option(envvar="HYDRA_TOKEN", help="Better in the environment: others see arguments.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print this client's version.")
    ] = False,
) -> None:
    """Submit jobs to a Hydra cluster, follow them, and fetch their results."""
    ctx.obj = Settings(context, url or None, token or None)
    clock.go_by(partial(server_time, ctx))


for _part in (
    jobs,
    bringing,
    jobactions,
    services,
    schedules,
    secrets,
    receivers,
    views,
    explain,
    logs,
    data,
    endpoints,
    execs,
    top,
    cluster,
    queues,
    subclusters,
    compare,
    series,
    nodes,
    policy,
    rollouts,
    replay,
    account,
    accounts,
    system,
):
    _part.register(app)
