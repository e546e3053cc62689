"""Files into containers and out of them, as tar archives that a ``tar`` there writes or reads; a part of ``Client``."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from client.copywords import not_here, not_put, not_started, not_taken
from client.errors import HydraError, client_error
from client.execs import ExecCalls, Piece, Running

BLOCK = 64 << 10
NAMELESS = ("", "..")  # last parts of paths that say nothing of a name
WORDS_MAX = 4000  # of what tar complains of
OnFile = Callable[[str], None]
_Filter = Callable[[tarfile.TarInfo], tarfile.TarInfo | None]


@dataclass(frozen=True, slots=True)
class Copied:
    """``files``: names of the files and folders, below the destination's or as paths here. left: so many links, files
    with holes and other things stayed where they are."""

    files: list[str]
    left: int


@dataclass(frozen=True, slots=True)
class Place:
    """A path in a container; one that is not absolute is of the task's folder."""

    container: str
    path: str

    @property
    def folder(self) -> str:
        return str(PurePosixPath(self.path).parent)

    @property
    def name(self) -> str:
        return PurePosixPath(self.path).name


class CopyCalls(ExecCalls):
    def copy_in(self, source: str | Path, container: str, path: str = ".") -> Copied:
        """Put a file or a folder of this machine into a live container of a job that you may change.

        path: under that name, or into that folder where it ends with ``/``, which has to be there; of the task's
        folder unless it begins with ``/``. A link is what it leads to; links below a folder stay here. The container
        needs ``tar``. ``HydraError`` names what could not be read or written, and on which side.
        """
        files: list[str] = []
        return Copied(files, bring(self, Path(source), Place(container, path), files.append))

    def copy_out(self, container: str, path: str, destination: str | Path) -> Copied:
        """Bring a file or a folder out of a live container of a job that you may change.

        destination: under that name, or into that folder where it is one or ends with ``/``; it is made. Otherwise as
        ``copy_in``.
        """
        files: list[str] = []
        inside = os.fspath(destination).endswith("/")
        return Copied(files, fetch(self, Place(container, path), Path(destination), files.append, inside=inside))


class _Read(io.RawIOBase):
    """What a command writes to stdout, as a file; what it writes to stderr is kept."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        self._pieces, self._left, self.words = pieces, b"", bytearray()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            if piece.stream == "stdout":
                self._left = piece.data
            else:
                _keep(self.words, piece)
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    def rest(self) -> bytes:
        """Read to the end; what tar has complained of."""
        while self.read(BLOCK):
            pass
        return bytes(self.words)


class _Written(io.RawIOBase):
    """A command's stdin, as a file."""

    def __init__(self, running: Running) -> None:
        self._running = running

    def writable(self) -> bool:
        return True

    def write(self, data: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        if not self._running.say(bytes(data)):
            raise BrokenPipeError("the command in the container has ended")
        return len(data)


def fetch(client: ExecCalls, source: Place, to: Path, told: OnFile, *, inside: bool = False) -> int:
    """Bring a file or a folder here: into ``to`` where that is a folder or ``inside`` is wanted, else under that name.

    Links, files with holes and what is neither a file nor a folder stay there; returns how many did.
    """
    if source.name in NAMELESS:
        raise client_error("names no file", field_name="source", remedy="Give a path that ends with a name.")
    place = to / source.name if inside or to.is_dir() else to
    command = ["tar", "-cf", "-", "-C", source.folder, "--", f"./{source.name}"]
    with client.open_exec(source.container, command) as running, _begun(running, source.container):
        running.end_input()
        read, left = _Read(running.pieces()), 0
        try:
            with tarfile.open(fileobj=io.BufferedReader(read, BLOCK), mode="r|") as archive:
                for member in archive:
                    path = place.joinpath(*_below(member.name))
                    if _extract(archive, member, path):
                        told(str(path))
                    else:
                        left += 1
        except tarfile.TarError as error:
            if said := _complaint(running, read.rest()):
                raise not_taken(source.container, source.folder, said) from error
            raise client_error(
                f"tar in {source.container} wrote no archive: {error}",
                field_name="source",
                remedy=f"See which tar it is: hydractl exec {source.container} -- tar --version",
            ) from error
        except (OSError, ValueError) as error:  # a name that is none here is a ValueError
            raise not_here(place, error, "destination") from error
        if said := _complaint(running, read.rest()):
            raise not_taken(source.container, source.folder, said)
    return left


@contextmanager
def _begun(running: Running, container: str) -> Iterator[None]:
    """A container without tar is told to have none."""
    try:
        yield
    except HydraError as error:
        if running.end is None or not running.end.error:
            raise
        raise not_started(container, running.end.status, error) from error


def _below(name: str) -> tuple[str, ...]:
    """The parts of a member's name below the one that was asked for: whatever the container says, nowhere else."""
    parts = PurePosixPath(name).parts[1:]
    if ".." in parts or name.startswith("/"):
        raise client_error(f"holds {name[:100]!r}, which leads out of it", field_name="source")
    return parts


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> bool:
    """Whether it was taken over: a file or a folder, with its permissions and nothing else."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return True
    whole = member.isreg() and not member.issparse()  # of holes a few bytes stand for a full disk
    content = archive.extractfile(member) if whole else None
    if content is None:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with content, path.open("wb") as file:
        shutil.copyfileobj(content, file, BLOCK)
    path.chmod(member.mode & 0o755)
    return True


def bring(client: ExecCalls, source: Path, to: Place, told: OnFile) -> int:
    """Put a file or a folder there: into ``to`` where that ends with ``/`` or ``..``, else under that name.

    A link is what it leads to, under its own name. Links below a folder, and what is neither a file nor a folder, stay
    here; returns how many did.
    """
    if not source.exists():
        raise client_error(f"there is no {source} on this machine", field_name="source", remedy="Correct the path.")
    inside = to.path.endswith("/") or to.name in NAMELESS
    own = source.resolve().name if source.name in NAMELESS else source.name
    folder, name = (to.path, own) if inside else (to.folder, to.name)
    words, unread, left = bytearray(), list[OSError](), list[str]()

    def sent(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        if not (member.isfile() or member.isdir() or member.islnk()):  # a hard link is a file once more
            left.append(member.name)
            return None
        member.uid = member.gid = 0  # it becomes the task's user's
        member.uname = member.gname = ""
        told(member.name)
        return member

    command = ["tar", "-xf", "-", "-C", folder]
    with client.open_exec(to.container, command) as running, _begun(running, to.container):
        writer = threading.Thread(target=_write, args=(running, source, name, sent, unread), daemon=True)
        writer.start()
        for piece in running.pieces():
            _keep(words, piece)
    for error in unread:
        raise not_here(source, error, "source")
    if said := _complaint(running, words):
        raise not_put(to.container, folder, said)
    return len(left)


def _write(running: Running, source: Path, name: str, sent: _Filter, unread: list[OSError]) -> None:
    try:
        with tarfile.open(fileobj=_Written(running), mode="w|") as archive:
            archive.add(source.resolve(), name, filter=sent)
    except BrokenPipeError:
        return  # tar there says why
    except OSError as error:  # of a file here
        unread.append(error)
    running.end_input()


def _keep(words: bytearray, piece: Piece) -> None:
    words += piece.data[: max(0, WORDS_MAX - len(words))]


def _complaint(running: Running, words: bytes | bytearray) -> str:
    """What tar said, where it failed."""
    status = running.end.status if running.end else 0
    return (words.decode(errors="replace").strip() or f"it ended with status {status}") if status else ""
