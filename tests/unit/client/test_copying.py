"""Files out of containers: what a container sends is somebody else's word."""

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client.copying import Place, fetch
from client.errors import HydraError
from client.execs import Piece
from wire.execs import End


class Said:
    """A client whose container's tar says this; in small pieces, with a complaint between."""

    def __init__(self, archive: bytes) -> None:
        self.archive, self.end = archive, End(code=0)

    def open_exec(self, container: str, command: list[str]) -> Any:
        return self

    def __enter__(self) -> "Said":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def end_input(self) -> None:
        pass

    def pieces(self) -> Iterator[Piece]:
        for at in range(0, len(self.archive), 1000):
            yield Piece("stderr", b"tar: file changed\n")
            yield Piece("stdout", self.archive[at : at + 1000])


def packed(*members: tuple[str, bytes, bytes]) -> bytes:
    """Of names, types and contents or links' targets."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        for name, kind, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.mode = kind, 0o4755
            if kind == tarfile.REGTYPE:
                member.size = len(content)
            else:
                member.linkname = content.decode()
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


def test_what_a_container_sends_stays_below_its_place(tmp_path: Path) -> None:
    there = Place("c-1-1-1", "tree")
    archive = packed(
        ("./tree", tarfile.DIRTYPE, b""),
        ("./tree/out", tarfile.SYMTYPE, b"/etc"),
        ("./tree/hard", tarfile.LNKTYPE, b"/etc/passwd"),
        ("./tree/a/file", tarfile.REGTYPE, b"x" * 5000),
    )
    names: list[str] = []
    new = tmp_path / "new"
    assert fetch(Said(archive), there, new, names.append) == 2  # type: ignore[arg-type]
    assert sorted(p.name for p in new.rglob("*")) == ["a", "file"]
    assert names == [str(new), str(new / "a" / "file")]
    assert (new / "a" / "file").read_bytes() == b"x" * 5000 and (new / "a" / "file").stat().st_mode & 0o7777 == 0o755
    assert fetch(Said(archive), there, new, names.append) == 2  # type: ignore[arg-type]
    assert (new / "tree" / "a" / "file").exists(), "into a folder that is there"
    for name in ("./tree/../../x", "/etc/x"):
        with pytest.raises(HydraError, match="leads out of it"):
            fetch(Said(packed((name, tarfile.REGTYPE, b"x"))), there, new, names.append)  # type: ignore[arg-type]
    with pytest.raises(HydraError, match="tar: file changed"):
        said = Said(archive[:600])
        said.end = End(code=2)
        fetch(said, there, new, names.append)  # type: ignore[arg-type]
