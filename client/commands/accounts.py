"""Accounts for operators, and for everybody the own password and tokens."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from client.commands.common import connected
from client.commands.nodes import seconds
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.screen import Column, Format, OutputOption, Unheaded, noted, plain, print_json, say, show_one
from contract.accounts import TOKEN_LEAST_S, YEAR_S, Account, Token

account = typer.Typer(no_args_is_help=True, help="Accounts: who may log in, and as what.")
token = typer.Typer(no_args_is_help=True, help="Your tokens, for programs that act with your rights.")
NameArgument = Annotated[str, typer.Argument(metavar="ACCOUNT")]
StdinOption = Annotated[bool, typer.Option("--password-stdin", help="Read the password from stdin, for scripts.")]


class Role(StrEnum):
    operator = "operator"
    tenant = "tenant"
    viewer = "viewer"


@account.command("list")
def list_accounts(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Option(help="Only those whose name contains it.")] = None,
    role: Annotated[Role | None, typer.Option(help="Only of this role.")] = None,
    sort: Annotated[str | None, sorting(LIST)] = None,
    columns: Annotated[str | None, picking(LIST)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Every account, its role and what it was granted."""
    with connected(ctx) as client:
        found = partial(client.accounts, name, role.value if role else None)
        listed(found, LIST, output, nothing="No account matches.", look=Looking(sort, columns, watch))


@account.command("show")
def show_account(ctx: typer.Context, name: NameArgument, output: OutputOption = Format.table) -> None:
    """One account."""
    with connected(ctx) as client:
        _one(client.account(name), output)


@account.command("create")
def create(
    ctx: typer.Context,
    name: NameArgument,
    role: Annotated[Role, typer.Option(help="What it may do.")] = Role.tenant,
    password_stdin: StdinOption = False,
    output: OutputOption = Format.table,
) -> None:
    """A new account; asks for its password."""
    password = _password(password_stdin)
    with connected(ctx) as client:
        _one(client.create_account(name, password, role.value), output)


@account.command("role")
def role(ctx: typer.Context, name: NameArgument, role: Role, output: OutputOption = Format.table) -> None:
    """Give an account another role. Never your own, nor the last operator's."""
    with connected(ctx) as client:
        _one(client.set_role(name, role.value), output)


@account.command("email")
def email(
    ctx: typer.Context,
    name: NameArgument,
    address: Annotated[str, typer.Argument(help="As its owner reads it; nothing for none.")] = "",
    output: OutputOption = Format.table,
) -> None:
    """Where an account gets mail of its jobs, where it wants any (hydractl receiver)."""
    with connected(ctx) as client:
        _one(client.set_email(name, address), output)


@account.command("close")
def close(ctx: typer.Context, name: NameArgument, output: OutputOption = Format.table) -> None:
    """Nobody can use it any more: its sessions and tokens end at once. Its jobs go on."""
    with connected(ctx) as client:
        _one(client.close_account(name), output)


@account.command("open")
def open_again(ctx: typer.Context, name: NameArgument, output: OutputOption = Format.table) -> None:
    """Open a closed account again; it logs in anew."""
    with connected(ctx) as client:
        _one(client.open_account(name), output)


@account.command("sign-out")
def sign_out(ctx: typer.Context, name: NameArgument, output: OutputOption = Format.table) -> None:
    """End all sessions and tokens of an account; its password stays."""
    with connected(ctx) as client:
        _one(client.sign_out_account(name), output)


@account.command("reset-password")
def reset_password(
    ctx: typer.Context, name: NameArgument, password_stdin: StdinOption = False, output: OutputOption = Format.table
) -> None:
    """Another password for somebody who has lost it; asks for it. Sessions and tokens end."""
    password = _password(password_stdin)
    with connected(ctx) as client:
        _one(client.reset_password(name, password), output)


@account.command("tokens")
def list_account_tokens(
    ctx: typer.Context,
    name: NameArgument,
    sort: Annotated[str | None, sorting(TOKENS)] = None,
    columns: Annotated[str | None, picking(TOKENS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """The tokens of an account that are valid; never their text."""
    with connected(ctx) as client:
        found, look = partial(client.account_tokens, name), Looking(sort, columns, watch)
        listed(found, TOKENS, output, nothing=f"{name} has no tokens.", look=look)


@account.command("revoke-token")
def revoke_account_token(
    ctx: typer.Context,
    name: NameArgument,
    token: Annotated[str, typer.Argument(metavar="KEY", help="Its key or its name, as account tokens shows.")],
    output: OutputOption = Format.table,
) -> None:
    """End one token of an account, at once; its other tokens and its sessions stay."""
    with connected(ctx) as client:
        key = _key(client.account_tokens(name), token)
        client.revoke_account_token(name, key)
    noted({"account": name, "key": key}, f"Token {key} of {name} is revoked.", output)


def _one(a: Account, output: Format) -> None:
    pairs = [
        ("account", a.username), ("role", a.role), ("state", _state(a)), ("made", a.created_at),
        ("last log-in", a.last_login_at), ("tokens", a.tokens), ("a token used", a.token_used_at),
        ("mail", a.email), ("granted queues", _queues(a)),
    ]  # fmt: skip
    show_one(a, pairs, output)


def _state(a: Account) -> str:
    return "open" if a.active else "closed"


def _queues(a: Account) -> str:
    shown = [f"{q.path} ({q.level}{', policy' * (q.source == 'policy')})" for q in a.queues]
    return ", ".join(shown + [f"{a.queues_left_out:,} more"] * (a.queues_left_out > 0))


LIST: list[Column[Account]] = [
    ("ACCOUNT", lambda a: a.username), ("ROLE", lambda a: a.role), ("STATE", _state),
    ("LAST LOG-IN", lambda a: a.last_login_at), ("TOKENS", lambda a: a.tokens),
    ("GRANTED QUEUES", _queues),
]  # fmt: skip


def _password(from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise client_error("there is no terminal to ask for the password", remedy="Give it with --password-stdin.")
    given: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    return given


@token.command("create")
def create_token(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    valid: Annotated[str, typer.Option("--valid", help="How long, like 12h or 90d.")] = "90d",
    output: OutputOption = Format.table,
) -> None:
    """A token with your rights. It is shown this once; give it to programs in HYDRA_TOKEN.

    Made with such a token, it ends no later than that.
    """
    valid_s = seconds(valid, "--valid")
    if not TOKEN_LEAST_S <= valid_s <= YEAR_S:
        raise client_error(f"{valid} is out of bounds", field_name="--valid", remedy="Give 1m to 366d.")
    with connected(ctx) as client:
        made = client.create_token(name, valid_s)
    if output is Format.json:
        print_json(made)
        return
    print(made.token)
    say(f"Until {plain(made.expires_at)}. End it before with: hydractl token revoke {made.key}")


@token.command("list")
def list_tokens(
    ctx: typer.Context,
    sort: Annotated[str | None, sorting(TOKENS)] = None,
    columns: Annotated[str | None, picking(TOKENS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """Your tokens that are valid; the one you use now is marked."""
    with connected(ctx) as client:
        look = Looking(sort, columns, watch)
        listed(client.tokens, TOKENS, output, nothing="You have no tokens.", look=look)


TOKENS: list[Column[Token]] = [
    (Unheaded("CURRENT"), lambda t: "*" if t.current else " "), ("KEY", lambda t: t.key),
    ("NAME", lambda t: t.name or "(log-in)"), ("MADE", lambda t: t.created_at),
    ("UNTIL", lambda t: t.expires_at), ("LAST USED", lambda t: t.last_used_at),
]  # fmt: skip


def _key(rows: list[Token], said: str) -> str:
    """The key of the token of that name, or what was said, taken to be a key."""
    return next((t.key for t in rows if t.name == said), said)


@token.command("revoke")
def revoke_token(
    ctx: typer.Context,
    token: Annotated[str, typer.Argument(metavar="KEY", help="Its key or its name, as hydractl token list shows.")],
    output: OutputOption = Format.table,
) -> None:
    """End a token of yours, at once."""
    with connected(ctx) as client:
        key = _key(client.tokens(), token)
        client.revoke_token(key)
    noted({"key": key}, f"Token {key} is revoked.", output)


def password(ctx: typer.Context, password_stdin: StdinOption = False, output: OutputOption = Format.table) -> None:
    """Change your password; your tokens and sessions end. --password-stdin reads the old one, then the new."""
    if password_stdin:
        current, new = _password(True), _password(True)
    else:
        current = "" if not sys.stdin.isatty() else typer.prompt("Current password", hide_input=True)
        new = _password(False)
    with connected(ctx) as client:
        client.change_password(current, new)
    noted({}, "Your password is changed; log in anew: hydractl login", output)


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Account")(password)
    app.add_typer(account, name="account", rich_help_panel="Operators")
    app.add_typer(token, name="token", rich_help_panel="Account")
