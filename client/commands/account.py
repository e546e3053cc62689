"""login, logout, me, and the stored contexts."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from client import config
from client.api import Client
from client.commands.common import Settings, complete_context, connected
from client.errors import HydraError, client_error
from client.screen import Format, OutputOption, noted, say, show, show_one
from client.transport import is_loopback


def login(
    ctx: typer.Context,
    url: Annotated[str | None, typer.Argument(help="The server, like https://hydra.example.org.")] = None,
    *,
    username: Annotated[str, typer.Option("--username", "-u", prompt=True, help="Your account.")],
    password_stdin: Annotated[bool, typer.Option(help="Read the password from stdin, for scripts.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """Log in and remember the token (in a file only you can read)."""
    settings = ctx.find_object(Settings) or Settings()
    stored = config.load(config.config_path())
    known = stored.contexts.get(settings.context or stored.current)
    chosen = url or settings.url or (known.url if known else config.DEFAULT_URL)
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else typer.prompt("Password", hide_input=True)
    if chosen.startswith("http://") and not is_loopback(chosen):
        say(f"hydractl: {chosen} is not encrypted: your password and token can be read on the way. Use https.")
    with Client(chosen, retry_s=10) as client:
        answer = client.login(username, password)
    name = settings.context or stored.context_for(client.url, username)
    context = config.Context(client.url, username, answer.token)
    config.save(config.config_path(), stored.with_context(name, context))
    noted(
        {"context": name, "url": client.url, "username": username},
        f"Logged in to {client.url} as {username}. The current context is {name} now{_left(stored, name)}.",
        output,
    )


def _left(stored: config.Config, name: str) -> str:
    """How to get back to the account that was the current one, where another context is now."""
    was = stored.contexts.get(stored.current)
    if was is None or not was.token or name == stored.current:
        return ""
    return f"; back to {was.username or 'the one before'} at {was.url} with: hydractl use {stored.current}"


def logout(ctx: typer.Context, output: OutputOption = Format.table) -> None:
    """End the stored token and forget it."""
    settings = ctx.find_object(Settings) or Settings()
    stored = config.load(config.config_path())
    name = settings.context or stored.current
    context = config.resolve(stored, name if name in stored.contexts else None, None, None)
    if not context.token:
        raise client_error(f"context {name!r} is not logged in", remedy="There is nothing to do.")
    try:
        with Client(context.url, context.token, retry_s=0) as client:
            client.logout()
    except HydraError as error:
        if error.status not in (0, 401):
            raise
        if error.status == 0:
            say(f"hydractl: {context.url} does not answer; the token is forgotten here and lapses there by itself.")
    config.save(config.config_path(), stored.without_token(name))
    noted({"context": name, "url": context.url}, f"Logged out of {context.url} (context {name}).", output)


def me(ctx: typer.Context, output: OutputOption = Format.table) -> None:
    """Who you are, and which queues you may use."""
    with connected(ctx) as client:
        answer = client.me()
        granted = [f"{grant.path} ({grant.level})" for grant in answer.queues]
        pairs = [
            ("username", answer.username),
            ("role", answer.role),
            ("queues", _usable(answer.role, granted)),
            ("mail", answer.email),
            ("server", client.url),
        ]
        show_one(answer, pairs, output)


def _usable(role: str, granted: list[str]) -> str:
    if role == "viewer":
        return "all, to look at; a viewer submits nothing"
    if role == "operator":
        return "all"
    return ", ".join([*granted, "those open to all (hydractl queues)"])


def contexts(output: OutputOption = Format.table) -> None:
    """The servers you have logged in to; the current one is marked."""
    stored = config.load(config.config_path())
    rows = [
        {"current": name == stored.current, "name": name, "url": c.url, "username": c.username,
         "logged_in": c.token is not None}
        for name, c in stored.contexts.items()
    ]  # fmt: skip
    columns = [
        ("", lambda row: "*" if row["current"] else " "),
        ("NAME", lambda row: row["name"]),
        ("SERVER", lambda row: row["url"]),
        ("ACCOUNT", lambda row: row["username"]),
        ("LOGGED IN", lambda row: row["logged_in"]),
    ]
    show(rows, columns, output, nothing="No contexts yet. Make one with: hydractl login URL")


def use(
    name: Annotated[str, typer.Argument(help="A context.", autocompletion=complete_context)],
    output: OutputOption = Format.table,
) -> None:
    """Make a context the current one."""
    stored = config.load(config.config_path())
    context = config.resolve(stored, name, None, None)
    config.save(config.config_path(), stored.with_context(name, stored.contexts[name]))
    noted({"context": name, "url": context.url}, f"Now using {context.url} (context {name}).", output)


def register(app: typer.Typer) -> None:
    for command in (login, logout, me, contexts, use):
        app.command(rich_help_panel="Account")(command)
