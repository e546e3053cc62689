"""``policy edit``: the policy in an editor, looked at and put in force. What was typed is never lost."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from client.api import Client
from client.commands.common import connected
from client.commands.policy import policy, read, reading
from client.commands.policypush import ForceOption, MessageOption, pushed, show_diff
from client.errors import HydraError, client_error
from client.policycalls import Pushed
from client.screen import Format, OutputOption, fail, say
from contract.policies import PolicyDetail

NOTES = 50  # changes of others that are told in the text


@policy.command("edit")
def edit(
    ctx: typer.Context,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="Go on with this text, which an earlier edit has kept.")
    ] = None,
    *,
    message: MessageOption = "",
    force: ForceOption = False,
    output: OutputOption = Format.table,
) -> None:
    """Change the policy in $EDITOR: it is checked, the changes are shown, and put in force with your message."""
    with connected(ctx) as client:
        now = client.policy()
        path, before = _begin(client, now, file)
        try:
            found = _edited(client, path, before, now, (message, force))
        except BaseException:  # also Ctrl-C, and a program's bug: the text is somebody's work
            say(f"Your text is kept in {path}; go on with: hydractl policy edit -f {path}")
            raise
    if file is None:
        path.unlink()
    if found is None:
        say("Nothing was changed.")
    else:
        pushed(found, output)


def text_of(version: int, document: dict[str, Any] | None) -> str:
    """A document as people edit it; the first line says which version it was made from."""
    return f"# version {version}\n" + yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _begin(client: Client, now: PolicyDetail, file: Path | None) -> tuple[Path, str]:
    """The file to edit, made from the version in force; and the text that would change nothing."""
    if file is None:
        handle, name = tempfile.mkstemp(prefix="hydra-policy-", suffix=".yaml")
        text = text_of(now.version, now.document)
        with os.fdopen(handle, "w") as out:
            out.write(text)
        return Path(name), text
    made_from = read(file)[1]
    if made_from is not None and made_from != now.version:
        changes = client.diff_policy(first=made_from, second=now.version).changes
        notes = [f"# since version {made_from}, others have changed:"] + [f"#   {c.text}" for c in changes[:NOTES]]
        body = file.read_text().partition("\n")[2]
        file.write_text("\n".join([f"# version {now.version}", *(notes if changes else []), body]))
    return file, ""


def _edited(client: Client, path: Path, before: str, now: PolicyDetail, given: tuple[str, bool]) -> Pushed | None:
    """What came of it; ``None`` when the text changes nothing."""
    message, force = given
    while True:
        _run_editor(path)
        if path.read_text() == before:
            return None
        try:
            with reading(path) as (document, _):
                found = client.diff_policy(document)
        except HydraError as error:
            if not sys.stdin.isatty():
                raise
            fail(error)
            if not typer.confirm("Edit it again?", default=True, err=True):
                raise
            continue
        break
    if found.identical:
        return None
    show_diff(found)
    if not message.strip():
        message = _asked()
    return client.push_policy(document, message, parent=now.version, force=force)


def _asked() -> str:
    if not sys.stdin.isatty():
        raise client_error("the change has no message", field_name="message", remedy="Say what changes and why: -m WHY")
    return str(typer.prompt("What changes, and why", err=True))


def _run_editor(path: Path) -> None:
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    try:
        status = subprocess.run([*command, str(path)], check=False).returncode
    except OSError as error:
        raise client_error(
            f"the editor {command[0]} cannot be started: {error.strerror}", remedy="Name yours in EDITOR."
        ) from None
    if status:
        raise client_error(f"the editor {command[0]} ended with status {status}", remedy="Nothing was changed.")
