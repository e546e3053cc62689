"""Saved views of the job list."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

import typer

from client.api import Client
from client.commands.common import connected, state_word
from client.commands.nodes import moment
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption, noted, told
from contract.jobs import SavedView

app = typer.Typer(no_args_is_help=True)
LIST: list[Column[SavedView]] = [("VIEW", lambda v: v.name), ("FILTERS", lambda v: v.query or " ")]


def view_named(client: Client, name: str) -> SavedView:
    """The account's view of that name; an error that lists those there are."""
    found = client.saved_views()
    for view in found:
        if view.name == name:
            return view
    names = ", ".join(view.name for view in found) or "none"
    raise client_error(f"you have no saved view {name!r}", field_name="view", remedy=f"there are: {names}")


@app.command("list")
def list_views(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(LIST)] = None,
    columns: Annotated[str | None, picking(LIST)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Your saved views."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.saved_views, LIST, output, nothing="You have no saved views.", look=look)


@app.command()
def save(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What to call it; one of that name is replaced.")],
    filters: Annotated[
        list[str] | None, typer.Argument(metavar="FILTER=VALUE...", help="Like state=FAILED; as options of jobs.")
    ] = None,
    output: OutputOption = Format.table,
) -> None:
    """Keep filters of the job list under a name."""
    pairs = [_filter(each) for each in filters or ()]
    with connected(ctx) as client:
        view = client.save_view(name, urlencode(pairs))
    told(view, f"saved as {view.name!r}; use it: hydractl jobs --view {view.name!r}", output)


def _filter(text: str) -> tuple[str, str]:
    """A filter and its value, as the API takes them."""
    key, equals, value = text.partition("=")
    if not equals:
        raise client_error(f"{text!r} is no filter", field_name="FILTER", remedy="write it like state=FAILED")
    if key == "state":
        return key, state_word(value) or ""
    if key in ("since", "until") and value:
        if value == "now" or value[0] in "+-" or value[-1] in "smhd":
            remedy = f"Give YYYY-MM-DDTHH:MM; or leave it out, and say it with the view: --view NAME --{key} {value}"
            raise client_error(f"{value} would be the same moment for ever", field_name=key, remedy=remedy)
        return key, moment(value, key).isoformat()
    return key, value


@app.command()
def delete(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is called.")],
    output: OutputOption = Format.table,
) -> None:
    """Forget a saved view."""
    with connected(ctx) as client:
        client.delete_view(view_named(client, name).id)
    noted({"deleted": name}, f"view {name} is deleted", output)


def register(main: typer.Typer) -> None:
    main.add_typer(app, name="views", help="Saved views of the job list.", rich_help_panel="Jobs")
