"""Result files and artifacts."""

from __future__ import annotations

import sys
import tempfile
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, NamedTuple

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from client.api import Client
from client.commands.common import JobArgument, connected
from client.errors import client_error
from client.looking import Looking, WatchOption, listed, picking, sorting
from client.progress import uploading
from client.screen import Column, Format, OutputOption, console, few, noted, print_json, printable, say, show, size
from contract.artifacts import Kept, KeptArtifact, MadeBy
from contract.jobs import Artifact, JobDetail, Output
from wire.counts import counted

artifacts = typer.Typer(no_args_is_help=True, help="Files by their SHA-256: what jobs bring and leave behind.")

LIST: list[Column[KeptArtifact]] = [
    ("SHA-256", lambda a: a.digest), ("SIZE", lambda a: size(a.size)), ("OUTPUT", lambda a: _made_by(a.output)),
    ("MADE", lambda a: a.created_at), ("USED", lambda a: a.last_used_at),
]  # fmt: skip
OUTPUTS: list[Column[Output]] = [
    ("OUTPUT", lambda o: o.name), ("TASK", lambda o: f"{o.group}/{o.index}"), ("PATH", lambda o: o.path),
    ("SIZE", lambda o: size(o.size)), ("SHA-256", lambda o: o.digest),
]  # fmt: skip
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0: all.")]
GroupOption = Annotated[str | None, typer.Option("--group", "-g", help="Of this group only.")]
IndexOption = Annotated[int | None, typer.Option("--index", "-i", min=0, help="Of this task of the group only.")]
SOME_MISSING = 1  # what there is was stored
MASTER = "master"  # the group of an application's own master
NO_CHOICE = (None, None, None)  # of name, group and index
NameArgument = Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only outputs of this name.")]


def outputs(
    ctx: typer.Context,
    job: JobArgument,
    name: NameArgument = None,
    *,
    group: GroupOption = None,
    index: IndexOption = None,
    sort: Annotated[str | None, sorting(OUTPUTS)] = None,
    columns: Annotated[str | None, picking(OUTPUTS)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """The files a job's tasks have left behind."""
    with connected(ctx) as client:

        def found() -> list[Output]:
            return [o for o in client.outputs(job) if _chosen(o, name, group, index)]

        def nothing() -> str:
            said = ". ".join(_nothing(client.job(job), chosen=(name, group, index) != NO_CHOICE))
            return f"{said[:1].upper()}{said[1:]}"

        listed(found, OUTPUTS, output, nothing=nothing, look=Looking(sort, columns, watch))


def fetch(
    ctx: typer.Context,
    job: JobArgument,
    name: NameArgument = None,
    *,
    group: GroupOption = None,
    index: IndexOption = None,
    to: Annotated[Path | None, typer.Option("--to", "-d", help="A folder; by default job-JOB.")] = None,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print one output instead of storing it.")] = False,
    output: OutputOption = Format.table,
) -> None:
    """Download a job's outputs into FOLDER/GROUP/ (FOLDER/GROUP/INDEX/ where a group has several tasks)."""
    with connected(ctx) as client:
        of = client.job(job)
        found = [o for o in client.outputs(job) if _chosen(o, name, group, index)]
        if not found:
            chosen = (name, group, index) != NO_CHOICE
            why, remedy = _nothing(of, chosen=chosen)
            raise client_error(why, field_name="output" if chosen else "", remedy=remedy)
        if stdout:
            _print_one(client, found)
            return
        several = {g.name for g in of.groups if g.count > 1}
        folder = to or Path(f"job-{job}")
        stored = [_store(client, each, folder, each.group in several) for each in found]
    if output is Format.json:
        print_json([{"path": str(path), "name": o.name, "size": o.size} for path, o in zip(stored, found, strict=True)])
    else:
        for path in stored:
            print(path)
    missing = _missing(of, found, name, group, index)
    if missing:
        what = f"{len(missing):,} of {len(missing) + len(found):,} outputs are not there{'' if of.ended else ' yet'}"
        names = few([f"{each.name} of {each.group}/{each.index}" for each in missing])
        say(f"{what}: {names}. See: hydractl tasks {job}")
        raise typer.Exit(SOME_MISSING)


class _Named(NamedTuple):
    """An output that a job's file names, of one task."""

    group: str
    index: int
    name: str


def _missing(
    job: JobDetail, found: list[Output], name: str | None, group: str | None, index: int | None
) -> list[_Named]:
    """What tasks should leave of what was chosen and is not among ``found``; what is optional need not be."""
    there = {(o.group, o.index, o.name) for o in found}
    said = {MASTER: job.spec.get("master") or {}} | {g["name"]: g for g in job.spec.get("groups", [])}
    every = (
        _Named(g.name, at, o["name"])
        for g in job.groups
        for o in said.get(g.name, {}).get("outputs", [])
        if group in (None, g.name) and name in (None, o["name"]) and not o.get("optional")
        for at in (range(g.count) if index is None else range(index, min(index + 1, g.count)))
    )
    return [each for each in every if each not in there]


def _nothing(job: JobDetail, *, chosen: bool) -> tuple[str, str]:
    """Why there is nothing to show, and what to do. ``chosen``: of those that were asked for."""
    if chosen:
        return f"job {job.id} has no such output{'' if job.ended else ' yet'}", f"See: hydractl outputs {job.id}"
    why = f"job {job.id} left no outputs" if job.ended else f"job {job.id} has left no outputs yet"
    groups = [job.spec.get("master") or {}, *job.spec.get("groups", [])]
    named = [output for group in groups for output in group.get("outputs", [])]
    if not named:
        return why, "Groups name them under outputs:."
    if job.ended and all(output.get("optional") for output in named):
        return why, "All that it names are optional, and were not written."
    return why, f"What its tasks did: hydractl tasks {job.id}"


def _chosen(output: Output, name: str | None, group: str | None, index: int | None) -> bool:
    return (
        (name is None or output.name == name)
        and (group is None or output.group == group)
        and (index is None or output.index == index)
    )


def _store(client: Client, output: Output, folder: Path, several: bool) -> Path:
    """Download one output to its place; refuses names that would lead out of ``folder``."""
    target = place(folder, output, several)
    with Progress(
        TextColumn("{task.description}"), BarColumn(24), DownloadColumn(), console=console(stderr=True), transient=True,
        disable=not sys.stderr.isatty(),
    ) as progress:  # fmt: skip
        bar = progress.add_task(printable(output.name).replace("[", "\\["), total=output.size)
        return client.download(output.digest, target, lambda got: progress.update(bar, completed=got))


def place(folder: Path, output: Output, several: bool) -> Path:
    """Where an output is stored. ``HydraError`` for a path that is not plainly below ``folder``."""
    parts = [output.group, *([str(output.index)] if several else []), *PurePosixPath(output.path).parts]
    if any(part in ("", ".", "..", "/") or "\x00" in part or "/" in part or "\\" in part for part in parts):
        raise client_error(
            f"the server names an output {output.path!r} that would lie outside {folder}",
            field_name="path",
            remedy=f"Fetch it by its digest: hydractl artifacts get {output.digest}",
        )
    return folder.joinpath(*parts)


def _print_one(client: Client, found: list[Output]) -> None:
    if len(found) > 1:
        names = ", ".join(f"{o.name} of {o.group}/{o.index}" for o in islice(found, 5))
        raise client_error(
            f"{len(found)} outputs match ({names}{' ...' if len(found) > 5 else ''}), --stdout prints one",
            field_name="output",
            remedy="Choose with NAME, --group and --index.",
        )
    with tempfile.TemporaryDirectory(prefix="hydractl-") as folder:
        path = client.download(found[0].digest, Path(folder) / "output")
        sys.stdout.flush()
        with path.open("rb") as file:
            while block := file.read(1024 * 1024):
                sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()


@artifacts.command("put")
def artifacts_put(
    ctx: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", exists=True, dir_okay=False, readable=True)],
    output: OutputOption = Format.table,
) -> None:
    """Upload files; print their digests, for digest: in a job file."""
    with connected(ctx) as client, uploading() as on_upload:
        stored = [(path, client.upload(path, on_upload)) for path in files]
    rows = [{"path": str(path), "digest": a.digest, "size": a.size} for path, a in stored]
    columns = [
        ("SHA-256", lambda r: r["digest"]), ("SIZE", lambda r: size(r["size"])), ("FILE", lambda r: r["path"])
    ]  # fmt: skip
    show(rows, columns, output, nothing="Nothing uploaded.")


@artifacts.command("get")
def artifacts_get(
    ctx: typer.Context,
    digest: Annotated[str, typer.Argument(help="SHA-256, 64 hexadecimal digits.")],
    to: Annotated[
        Path | None, typer.Option("--to", "-d", help="A file, or a folder for it; by default the digest.")
    ] = None,
    output: OutputOption = Format.table,
) -> None:
    """Download a file by its digest."""
    target = to / digest if to and to.is_dir() else to or Path(digest)
    with connected(ctx) as client:
        path = client.download(digest, target)
    if output is Format.json:
        print_json(Artifact(digest=digest, size=path.stat().st_size))
    else:
        print(path)


@artifacts.command("has")
def artifacts_has(
    ctx: typer.Context,
    digest: Annotated[str, typer.Argument(help="SHA-256, 64 hexadecimal digits.")],
    output: OutputOption = Format.table,
) -> None:
    """Whether the cluster holds a file that you may use; status 0 or 1."""
    with connected(ctx) as client:
        there = client.has_artifact(digest)
    if output is Format.json:
        print_json({"digest": digest, "there": there})
    else:
        print("yes" if there else "no")
    raise typer.Exit(0 if there else 1)


@artifacts.command("list")
def artifacts_list(
    ctx: typer.Context,
    limit: LimitOption = 100,
    sort: Annotated[str | None, sorting(LIST)] = None,
    columns: Annotated[str | None, picking(LIST)] = None,
    watch: WatchOption = None,
    output: OutputOption = Format.table,
) -> None:
    """What you keep, the largest first: what you have uploaded, and what your tasks have left."""
    with connected(ctx) as client:
        look, nothing = Looking(sort, columns, watch), "You keep no artifacts."
        listed(client.artifacts, LIST, output, nothing=nothing, limit=limit, look=look)
        if output is Format.table:
            say(_said(client.artifacts_kept()))


def _said(kept: Kept) -> str:
    files = f"{kept.files:,} of at most {kept.files_max:,} files" if kept.files_max else counted(kept.files, "file")
    return f"{files}, {size(kept.size)}" + (f" of at most {size(kept.size_max)}" if kept.size_max else "")


def _made_by(output: MadeBy | None) -> str:
    return f"{output.job}/{output.group}/{output.index} {output.name}" if output else "-"


@artifacts.command("rm")
def artifacts_rm(
    ctx: typer.Context,
    digests: Annotated[list[str], typer.Argument(metavar="DIGEST...", help="SHA-256, 64 hexadecimal digits.")],
    output: OutputOption = Format.table,
) -> None:
    """Keep files no longer, neither as uploads nor as outputs of ended jobs; not those that live jobs want."""
    with connected(ctx) as client:
        for digest in digests:
            client.delete_artifact(digest)
    noted({"deleted": digests}, f"{len(digests)} deleted", output)


def register(app: typer.Typer) -> None:
    for command in (outputs, fetch):
        app.command(rich_help_panel="Results")(command)
    app.add_typer(artifacts, name="artifacts", rich_help_panel="Results")
