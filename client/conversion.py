"""Jobs from files of any kind that is understood: job files, batch scripts, Kubernetes manifests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from client import jobfile
from client.errors import InvalidJob, Source, client_error, locating
from client.imports import Converted, converted, slurm
from contract.problems import FieldError
from wire.arrays import Scalar

_WORD = re.compile(r"[\w./-]+")
_FILES_MAX = 100  # that a script brings by naming them
_ACCEPT = "Give accept_losses=True, or write it as a job file"
Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Brought:
    """A job, whose sources are relative to the folder ``base``. ``source``: where its fields stand in what it is from.

    ``made``: the same with what became of all that a script or a manifest says; None of a job file.
    """

    spec: Spec
    base: Path
    source: Source = None
    made: Converted | None = None


def brought(file: Path) -> Brought:
    """The job that a file describes, whose kind is known by its content. ``InvalidJob`` says what is wrong with it."""
    text = jobfile.read_text(file)
    made = _made(text, file)
    if made:
        return Brought(made.spec, file.parent, made.places, made)
    return Brought(jobfile.parse(text, file), file.parent, text)


def taken(job: Spec | str | Path, *, accept_losses: bool) -> Brought:
    """The job itself, or what its file describes. ``InvalidJob`` also names what is lost, unless that is accepted."""
    if isinstance(job, dict):
        return Brought(job, Path())
    found = brought(Path(job))
    lost = found.made.lost if found.made and not accept_losses else []
    if lost:
        raise InvalidJob([FieldError(r.what[:100], f"is lost: {r.became}", _ACCEPT, line=r.line) for r in lost])
    return found


def packed(
    job: Spec | str | Path, parameters: Mapping[str, Scalar] | None = None, *, accept_losses: bool = False
) -> tuple[jobfile.Packed, Source]:
    """What the server is sent of a job as ``taken`` takes it, and where its fields stand; one that can be sent as it
    is stays so."""
    found = taken(job, accept_losses=accept_losses)
    spec = jobfile.given(found.spec, parameters)
    if isinstance(job, dict) and not jobfile.brings(spec):
        return jobfile.Packed(spec, [], {}), found.source
    with locating(found.source):
        return jobfile.pack(spec, found.base), found.source


def convert(file: str | Path) -> Converted:
    """The job that a batch script or a Kubernetes Job describes, and what became of all that it says.

    ``spec`` is a job file's document, whose sources are relative to the file's folder; ``lost`` what the job would need
    to do the same, ``remarks`` all that was understood or not, and ``lines()`` the same for people. No server is asked.
    ``InvalidJob`` names the lines that are wrong, ``HydraError`` a file that is neither.
    """
    path = Path(file)
    made = _made(jobfile.read_text(path), path)
    if made is None:
        raise client_error(
            "is neither a batch script nor a Kubernetes manifest",
            field_name=str(file),
            remedy="A script begins with #!, a manifest with apiVersion:; a job file is checked by hydractl validate",
        )
    return made


def _made(text: str, file: Path) -> Converted | None:
    """Also the files beside a script that it names. None of any other text."""
    made = converted(text, file.name)
    if made and made.source == slurm.SOURCE:
        found = beside(text, file)
        if found:
            made.spec["files"] = [{"path": name, "source": name} for name in found]
    return made


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
