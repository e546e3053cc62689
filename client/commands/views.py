"""Saved views of the job list, and another queue for jobs."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

import typer

from client.api import Client
from client.commands.common import connected
from client.errors import InvalidJob, client_error
from client.screen import Column, Format, OutputOption, print_json, show
from contract.jobs import SavedView

app = typer.Typer(no_args_is_help=True)


def view_named(client: Client, name: str) -> SavedView:
    """The account's view of that name; an error that lists those there are."""
    found = client.saved_views()
    for view in found:
        if view.name == name:
            return view
    names = ", ".join(view.name for view in found) or "none"
    raise client_error(f"you have no saved view {name!r}", field_name="view", remedy=f"there are: {names}")


@app.command("list")
def list_views(ctx: typer.Context, output: OutputOption = Format.table) -> None:
    """Your saved views."""
    columns: list[Column[SavedView]] = [("VIEW", lambda v: v.name), ("FILTERS", lambda v: v.query or " ")]
    with connected(ctx) as client:
        show(client.saved_views(), columns, output, nothing="You have no saved views.")


@app.command()
def save(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call it; one of that name is replaced.")],
    filters: Annotated[list[str] | None, typer.Argument(metavar="FILTER=VALUE...", help="Like state=FAILED.")] = None,
    output: OutputOption = Format.table,
) -> None:
    """Keep filters of the job list under a name."""
    pairs = []
    for each in filters or ():
        key, equals, value = each.partition("=")
        if not equals:
            raise client_error(f"{each!r} is no filter", field_name="FILTER", remedy="write it like state=FAILED")
        pairs.append((key, value))
    with connected(ctx) as client:
        view = client.save_view(name, urlencode(pairs))
    if output is Format.json:
        print_json(view)
    else:
        print(f"saved as {view.name!r}; use it: hydractl jobs --view {view.name!r}")


@app.command()
def delete(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    output: OutputOption = Format.table,
) -> None:
    """Forget a saved view."""
    with connected(ctx) as client:
        client.delete_view(view_named(client, name).id)
    if output is Format.json:
        print_json({"deleted": name})


def move(
    ctx: typer.Context,
    jobs: Annotated[list[int], typer.Argument(metavar="JOB...", help="The jobs' numbers.")],
    queue: Annotated[str, typer.Option("--to", help="The other queue's path.")],
    output: OutputOption = Format.table,
) -> None:
    """Put jobs into another queue. What runs goes on; each job's home decides, see hydractl events."""
    with connected(ctx) as client:
        results = client.act("queue", jobs, queue=queue)
    if output is Format.json:
        print_json(results)
    else:
        for each in results:
            if each.accepted:
                print(f"job {each.job}: asked to move to {queue}")
    refused = [client_error(each.refused, field_name=f"job {each.job}") for each in results if not each.accepted]
    if refused:
        raise InvalidJob([error.problem.errors[0] for error in refused])


def register(main: typer.Typer) -> None:
    main.add_typer(app, name="views", help="Saved views of the job list.", rich_help_panel="Jobs")
    main.command(rich_help_panel="Jobs")(move)
