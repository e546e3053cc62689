"""Jobs from files of any kind that is understood: job files, batch scripts, Kubernetes manifests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import typer
import yaml

from client import jobfile
from client.errors import client_error
from client.imports import Converted, converted, slurm
from client.screen import Format, OutputOption, print_json, say

AcceptOption = Annotated[
    bool, typer.Option("--accept-losses", help="Submit a script or a manifest even without what is lost of it.")
]
SetOption = Annotated[
    list[str], typer.Option("--set", metavar="NAME=VALUE", help="The value of a parameter of the job file; repeatable.")
]
_WORD = re.compile(r"[\w./-]+")
_FILES_MAX = 100  # that a script brings by naming them


class _Readable(yaml.SafeDumper):
    """Texts of several lines stand as they are."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Readable.add_representer(str, _text)


def brought(file: Path, *, accept_losses: bool) -> tuple[dict[str, Any], str | dict[str, int]]:
    """The job that a file of any kind describes, and where its fields stand: a job file's text, or lines of another.

    What was made of a script or a manifest is told on stderr. ``HydraError`` where something essential is lost and that
    was not accepted.
    """
    text = jobfile.read_text(file)
    made = _made(text, file)
    if made is None:
        return jobfile.parse(text, file), text
    _tell(made, file, brief=True)
    if made.lost and not accept_losses:
        raise client_error(
            f"{len(made.lost)} of what it says would be lost, see above; nothing was submitted",
            field_name=str(file),
            remedy="Add --accept-losses, or write it as a job file: hydractl convert FILE > job.yaml",
        )
    return made.spec, made.places


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


def _made(text: str, file: Path) -> Converted | None:
    made = converted(text, file.name)
    if made and made.source == slurm.SOURCE:
        found = beside(text, file)
        if found:
            made.spec["files"] = [{"path": name, "source": name} for name in found]
    return made


def _tell(made: Converted, file: Path, *, brief: bool = False) -> None:
    say(f"{'stdin' if str(file) == '-' else file} is {made.source}.")
    for line in made.lines(brief=brief):
        say(line)
    if made.spec.get("files"):
        say(f"brought, as it names them: {', '.join(entry['path'] for entry in made.spec['files'])}")


def beside(script: str, file: Path) -> list[str]:
    """Files in or below the script's folder that some word of the script names, in its order; never a folder."""
    found: dict[str, None] = {}
    for line in script.split("\n"):
        for word in () if line.lstrip().startswith("#") else _WORD.findall(line):
            path = PurePosixPath(word)
            if path.is_absolute() or ".." in path.parts or str(path) in (".", file.name) or str(path) in found:
                continue
            if len(word) <= 255 and (file.parent / path).is_file():
                found[str(path)] = None
    return list(found)[:_FILES_MAX]


def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A batch script or a Kubernetes Job; - is stdin.")],
    output: OutputOption = Format.table,
) -> None:
    """Print a batch script or a Kubernetes Job as a job file; stderr tells what was understood. No server is asked."""
    made = _made(jobfile.read_text(file), file)
    if made is None:
        raise client_error(
            "is neither a batch script nor a Kubernetes manifest",
            field_name=str(file),
            remedy="A script begins with #!, a manifest with apiVersion:; a job file is checked by hydractl validate",
        )
    _tell(made, file)
    if output is Format.json:
        print_json(made.spec)
    else:
        print(as_text(made.spec), end="")


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Jobs")(convert)
