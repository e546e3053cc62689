"""Job files: read YAML or JSON, and turn the local files they name into artifacts.

A ``files`` entry with ``source`` names a local file or folder, relative to the
job file. Packing replaces it by what the server wants: path, digest, size, mode.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import yaml

import hydra
from client.errors import HydraError, InvalidJob
from contract import jobspec, yamltext
from contract.findings import NO_SUCH_FIELD
from contract.jobspec import JobSpec
from contract.parameters import fill
from contract.problems import FieldError
from wire.arrays import Scalar

_READ_BYTES = 1024 * 1024
_ANY_DIGEST = "0" * 64
_ENTRY = re.compile(r"((master|groups\.\d+)\.)?\bfiles\.\d+\b")  # of an error's field


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file on this machine, named by its content."""

    source: Path
    digest: str  # SHA-256, hex
    size: int  # bytes
    mode: int  # 0o755 when its owner may execute it, else 0o644


@dataclass(frozen=True, slots=True)
class Packed:
    """A spec ready for the server, and the files it needs there, each once.

    written: an entry of ``files`` in the job file by the one that came of it, as fields: ``files.7`` may be of the
    folder ``files.1``.
    """

    spec: dict[str, Any]
    uploads: list[LocalFile]
    written: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def as_written(self) -> Iterator[None]:
        """What a server refuses meanwhile names entries of ``files`` as they are in the job file."""
        try:
            yield
        except HydraError as error:
            own = [replace(each, field=self._own(each.field)) for each in error.problem.errors]
            error.problem = error.problem.model_copy(update={"errors": own})
            raise

    def _own(self, name: str) -> str:
        return _ENTRY.sub(lambda entry: self.written.get(entry[0], entry[0]), name, count=1)


def read_text(path: Path) -> str:
    """A file's text, line ends as they are, or stdin's for ``-``. ``InvalidJob`` when it cannot be read."""
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        wrong = FieldError(str(path), f"cannot be read: {reason}", "Name a YAML or JSON job file")
        raise InvalidJob([wrong]) from error


def parse(text: str, path: Path) -> dict[str, Any]:
    """The job that a file's text holds: JSON when it is named ``.json``, YAML otherwise. ``InvalidJob`` if neither."""
    try:
        raw = json.loads(text) if path.suffix == ".json" else yamltext.load(text)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise InvalidJob([_unreadable(error, text, path)]) from error
    if not isinstance(raw, dict):
        message = f"is not a job: it holds {'nothing' if raw is None else type(raw).__name__}"
        raise InvalidJob([FieldError(str(path), message, "A job starts with name: and groups:")])
    return raw


def _unreadable(error: Exception, text: str, path: Path) -> FieldError:
    """What keeps a file from being what its name says, and where."""
    if isinstance(error, yaml.YAMLError):
        return yamltext.refused(error, text, str(path))
    line, column = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else (0, 0)
    what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return FieldError(str(path), f"is not valid JSON: {' '.join(what.split())}", line=line, column=column)


def given(spec: dict[str, Any], values: Mapping[str, Scalar] | None) -> dict[str, Any]:
    """The job with these values of its parameters, before those that it gives itself."""
    own = spec.get("set")
    if not values:
        return spec
    return spec | {"set": {**(own if isinstance(own, dict) else {}), **values}}


def check(spec: dict[str, Any], base: Path, *, unknown: bool = True) -> list[FieldError]:
    """Everything wrong with a spec whose sources are relative to ``base``, in the server's own words.

    ``unknown`` false: but for fields that nobody here knows. The server has the last word.
    """
    found = jobspec.parse(as_if_stored(spec))[1]
    wrong = [error for error in found if unknown or error.message != NO_SUCH_FIELD]
    filled = fill(spec, JobSpec)
    missing = [error for error in _missing_sources(filled.job, base) if error.field not in filled.unknown]
    return [*wrong, *jobspec.told(missing, filled.job)]


def _refuse_wrong(spec: dict[str, Any], base: Path) -> None:
    """``InvalidJob`` where something is wrong; it then names fields that nobody here knows, too: most are mistyped."""
    if check(spec, base, unknown=False):
        raise InvalidJob(check(spec, base))


def as_if_stored(spec: dict[str, Any]) -> dict[str, Any]:
    """A spec whose local files have digests already."""
    result = deepcopy(spec)
    for holder, _ in _holders(result):
        files = holder.get("files")
        for entry in files if isinstance(files, list) else []:
            if isinstance(entry, dict) and entry.setdefault("digest", _ANY_DIGEST) is None:
                entry["digest"] = _ANY_DIGEST
            if isinstance(entry, dict) and entry.pop("source", None) is not None:
                entry["path"] = str(entry.get("path", "")).rstrip("/")
    return result


def pack(spec: dict[str, Any], base: Path) -> Packed:
    """Put in values of parameters, replace every ``source``; ``InvalidJob`` when anything is wrong. Uploads nothing."""
    _refuse_wrong(spec, base)
    result = deepcopy(fill(spec, JobSpec).job)
    if isinstance(result.get("master"), dict):
        _bring_sdk(result["master"])
    uploads: dict[str, LocalFile] = {}
    written: dict[str, str] = {}
    for holder, prefix in _holders(result):
        if "files" in holder:
            holder["files"] = _packed_entries(holder["files"], base, uploads, f"{prefix}files", written)
    return Packed(result, list(uploads.values()), written)


def brings(spec: dict[str, Any]) -> bool:
    """Whether it names files of this machine, by ``source``."""
    entries = (entry for holder, _ in _holders(spec) for entry in _listed(holder.get("files")))
    return any(isinstance(entry, dict) and "source" in entry for entry in entries)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def pack_template(spec: dict[str, Any], base: Path, values: Mapping[str, Scalar]) -> Packed:
    """As ``pack``, for a job whose parameters get their values later: only what names local files is put in already.

    values: of all parameters that have to be given, to check it with. The spec is the same one where it brings nothing.
    """
    tried = given(spec, values)
    _refuse_wrong(tried, base)
    result, known = deepcopy(spec), deepcopy(fill(tried, JobSpec).job)
    if isinstance(known.get("master"), dict):
        _bring_sdk(known["master"])
    uploads: dict[str, LocalFile] = {}
    written: dict[str, str] = {}
    for (holder, prefix), (filled, _) in zip(_holders(result), _holders(known), strict=True):
        entries = filled.get("files") or []
        if any(entry.get("source") is not None for entry in entries):
            holder["files"] = _packed_entries(entries, base, uploads, f"{prefix}files", written)
    return Packed(result, list(uploads.values()), written)


def _bring_sdk(master: dict[str, Any]) -> None:
    """An application master finds the package ``hydra`` in its work folder, unless the job brings its own."""
    files = master.setdefault("files", [])
    if not any(entry["path"].split("/")[0] == "hydra" for entry in files):
        files.append({"path": "hydra", "source": str(Path(hydra.__file__).resolve().parent)})


def read_file(source: Path) -> LocalFile:
    """Digest, size and mode of a local file. ``OSError`` when it cannot be read."""
    digest = hashlib.sha256()
    size = 0
    with source.open("rb") as file:
        mode = 0o755 if stat.S_IMODE(source.stat().st_mode) & stat.S_IXUSR else 0o644
        while block := file.read(_READ_BYTES):
            digest.update(block)
            size += len(block)
    return LocalFile(source, digest.hexdigest(), size, mode)


def _packed_entries(
    entries: list[dict[str, Any]], base: Path, uploads: dict[str, LocalFile], where: str, written: dict[str, str]
) -> list[dict[str, Any]]:
    """The entries of one ``files`` as the server wants them. written: gets the field of each by what came of it."""
    found: list[dict[str, Any]] = []
    for number, entry in enumerate(entries):
        for packed in _pack_entry(entry, base, uploads):
            written[f"{where}.{len(found)}"] = f"{where}.{number}"
            found.append(packed)
    return found


def _pack_entry(entry: dict[str, Any], base: Path, uploads: dict[str, LocalFile]) -> Iterator[dict[str, Any]]:
    """One entry as the server wants it; a folder becomes one entry per file in it."""
    if entry.get("source") is None:
        yield {key: value for key, value in entry.items() if value is not None}
        return
    source = base / entry["source"]
    for file in _files_of(source):
        local = read_file(file)
        uploads.setdefault(local.digest, local)
        below = file.relative_to(source).as_posix()
        path = entry["path"] if file == source else f"{entry['path'].rstrip('/')}/{below}"
        mode = entry.get("mode")
        yield {"path": path, "digest": local.digest, "size": local.size, "mode": local.mode if mode is None else mode}


def _files_of(source: Path) -> list[Path]:
    """The file itself, or all regular files in a folder, in a fixed order, without what Python caches there."""
    if not source.is_dir():
        return [source]
    return sorted(p for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def _holders(spec: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Whatever may have ``files``: the job, its master and its groups, each with its name in error messages."""
    yield spec, ""
    if isinstance(spec.get("master"), dict):
        yield spec["master"], "master."
    groups = spec.get("groups")
    for number, group in enumerate(groups if isinstance(groups, list) else []):
        if isinstance(group, dict):
            yield group, f"groups.{number}."


def _missing_sources(spec: dict[str, Any], base: Path) -> list[FieldError]:
    wrong: list[FieldError] = []
    for holder, prefix in _holders(spec):
        files = holder.get("files")
        for number, entry in enumerate(files if isinstance(files, list) else []):
            if isinstance(entry, dict):
                wrong.extend(_source_errors(entry, base, f"{prefix}files.{number}"))
    return wrong


def _source_errors(entry: dict[str, Any], base: Path, where: str) -> Iterator[FieldError]:
    source, digest = entry.get("source"), entry.get("digest")
    if source is None and digest is None:
        yield FieldError(where, "names neither a source nor a digest", "Add source: and the name of a local file")
    elif source is not None and digest is not None:
        yield FieldError(where, "names a source and a digest", "Keep one of them")
    elif source is not None and not isinstance(source, str):
        yield FieldError(f"{where}.source", "is not a text", "Name a local file or folder")
    elif source is not None:
        found = base / source
        if not found.exists():
            yield FieldError(f"{where}.source", f"{source} does not exist in {base.resolve()}", "Correct the name")
        elif not (found.is_file() or found.is_dir()):
            yield FieldError(f"{where}.source", f"{source} is neither a file nor a folder", "Name a file or a folder")
        elif unread := _unread(found):
            yield FieldError(f"{where}.source", f"{unread} is not yours to read", "Change its rights")


def _unread(source: Path) -> Path | None:
    """The first that may not be read, of a file or of a folder and all that it brings."""
    if not source.is_dir():
        return None if os.access(source, os.R_OK) else source
    every = (each for each in source.rglob("*") if "__pycache__" not in each.parts)
    folders = (each for each in every if each.is_dir() and not each.is_symlink())
    asked = chain(((each, os.R_OK | os.X_OK) for each in (source, *folders)), ((f, os.R_OK) for f in _files_of(source)))
    return next((each for each, mode in asked if not os.access(each, mode)), None)
