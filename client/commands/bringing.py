"""Jobs from files of any kind that is understood: job files, batch scripts, Kubernetes manifests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from client import conversion
from client.errors import Source, client_error
from client.imports import Converted
from client.screen import Format, OutputOption, print_json, say

AcceptOption = Annotated[
    bool, typer.Option("--accept-losses", help="Submit a script or a manifest even without what is lost of it.")
]
SetOption = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="The value of a parameter of the job file; repeatable.")
]


class _Readable(yaml.SafeDumper):
    """Texts of several lines stand as they are."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Readable.add_representer(str, _text)


def brought(file: Path, *, accept_losses: bool) -> tuple[dict[str, Any], Source]:
    """The job that a file of any kind describes, and where its fields stand.

    What was made of a script or a manifest is told on stderr. ``HydraError`` where something essential is lost and that
    was not accepted.
    """
    found = conversion.brought(file)
    if found.made:
        _tell(found.made, file, brief=True)
    if found.made and found.made.lost and not accept_losses:
        raise client_error(
            f"{len(found.made.lost)} of what it says would be lost, see above; nothing was submitted",
            field_name=str(file),
            remedy="Add --accept-losses, or write it as a job file: hydractl convert FILE > job.yaml",
        )
    return found.spec, found.source


def as_text(spec: dict[str, Any]) -> str:
    """A job as people read it."""
    return yaml.dump(spec, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=120)


def settings(pairs: Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` each; values are taken as they are. ``HydraError`` for what is none, and for a name said twice."""
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in found:
            wrong = f"{name!r} is said twice" if name in found else f"{pair[:80]!r} is not NAME=VALUE"
            raise client_error(wrong, field_name="--set", remedy="Write it like --set rate=0.1, once for each name.")
        found[name] = value
    return found


def _tell(made: Converted, file: Path, *, brief: bool = False) -> None:
    say(f"{'stdin' if str(file) == '-' else file} is {made.source}.")
    for line in made.lines(brief=brief):
        say(line)
    if made.spec.get("files"):
        say(f"brought, as it names them: {', '.join(entry['path'] for entry in made.spec['files'])}")


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A batch script or a Kubernetes Job; - is stdin.")],
    output: OutputOption = Format.table,
) -> None:
    """Print a batch script or a Kubernetes Job as a job file; stderr tells what was understood. No server is asked."""
    made = conversion.convert(file)
    _tell(made, file)
    if output is Format.json:
        print_json(made.spec)
    else:
        print(as_text(made.spec), end="")


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Jobs")(convert)
