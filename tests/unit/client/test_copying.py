"""Files out of containers: what a container sends is somebody else's word."""

import io
import tarfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from client.commands import execs
from client.copying import Copied, CopyCalls, Place, bring, fetch
from client.errors import HydraError
from client.execs import Piece
from client.hydractl import app
from contract.problems import Problem
from tests import mutations
from tests.patience import stretched
from wire.execs import End


class Said(CopyCalls):
    """A client whose container's tar says this; in small pieces, with a complaint between."""

    def __init__(self, archive: bytes) -> None:
        self.archive, self.end, self.ended = archive, End(code=0), threading.Event()

    def open_exec(self, container: str, command: Sequence[str], **_: Any) -> Any:
        return self

    def __enter__(self) -> "Said":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, data: bytes) -> bool:
        return True

    def end_input(self) -> None:
        self.ended.set()

    def pieces(self) -> Iterator[Piece]:
        assert self.ended.wait(stretched(10)), "tar there waits for the end of its input"
        for at in range(0, len(self.archive), 1000):
            yield Piece("stderr", b"tar: ./tree: file changed as we read it\n")
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
    assert fetch(Said(archive), there, new, names.append) == 2
    assert sorted(p.name for p in new.rglob("*")) == ["a", "file"]
    assert names == [str(new), str(new / "a" / "file")]
    assert (new / "a" / "file").read_bytes() == b"x" * 5000 and (new / "a" / "file").stat().st_mode & 0o7777 == 0o755
    assert fetch(Said(archive), there, new, names.append) == 2
    assert (new / "tree" / "a" / "file").exists(), "into a folder that is there"
    for name in ("./tree/../../x", "/etc/x"):
        with pytest.raises(HydraError, match="leads out of it"):
            fetch(Said(packed((name, tarfile.REGTYPE, b"x"))), there, new, names.append)
    with pytest.raises(HydraError, match="tree in c-1-1-1 changed while it was read"):
        said = Said(archive[:600])
        said.end = End(code=2)
        fetch(said, there, new, names.append)


def test_a_few_bytes_do_not_become_a_full_disk(tmp_path: Path) -> None:
    """A file with holes, as no tar writes that was not asked to."""
    told = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(1 << 40)}
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        hole = tarfile.TarInfo("./tree/hole")
        hole.size, hole.pax_headers = 512, told
        archive.addfile(hole, io.BytesIO(b"0\n".ljust(512, b"\0")))
    names: list[str] = []
    assert fetch(Said(file.getvalue()), Place("c-1-1-1", "tree"), tmp_path / "new", names.append) == 1
    assert names == [] and not (tmp_path / "new").exists()


def test_whatever_a_container_sends_ends_in_words(tmp_path: Path) -> None:
    draw, said = Random(1), list[str]()
    whole = packed(("./tree", tarfile.DIRTYPE, b""), ("./tree/" + "é" * 90, tarfile.REGTYPE, b"x" * 700))
    for no in range(200):
        sent = summed(mutations.data(draw, whole))
        try:
            fetch(Said(sent), Place("c-1-1-1", "tree"), tmp_path / str(no), str)
        except HydraError as error:
            said.append(error.lines()[0])
    assert len(set(said)) > 3


def summed(archive: bytes) -> bytes:
    """With the sums that headers have of themselves, by which most of what was changed would be noticed at once."""
    found = bytearray(archive)
    for at in range(0, len(found) - 511, 512):
        if found[at + 257 : at + 262] == b"ustar":
            found[at + 148 : at + 156] = b" " * 8
            found[at + 148 : at + 156] = b"%06o\0 " % sum(found[at : at + 512])
    return bytes(found)


def test_a_file_here_that_cannot_be_read_ends_the_copy_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    gone = tmp_path / "tree" / "file"
    gone.write_bytes(b"x")

    def told(name: str) -> None:
        if name.endswith("file"):
            gone.unlink()

    with pytest.raises(HydraError, match="file on this machine does not exist"):
        bring(Said(b""), tmp_path / "tree", Place("c-1-1-1", "copy"), told)


class Receiving(Said):
    """A client whose container keeps what tar there is given."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.sent, self.command = bytearray(), list[str]()

    def open_exec(self, container: str, command: Sequence[str], **_: Any) -> Any:
        self.command = list(command)
        return self

    def say(self, data: bytes) -> bool:
        self.sent += data
        return True

    def members(self) -> dict[str, bytes | None]:
        """Contents by names; None of what is no file."""
        with tarfile.open(fileobj=io.BytesIO(bytes(self.sent))) as archive:
            return {m.name: (f := archive.extractfile(m)) and f.read() for m in archive}


def test_a_link_here_is_sent_as_what_it_leads_to_under_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "2030.csv").write_bytes(b"a,b")
    (tmp_path / "latest.csv").symlink_to(tmp_path / "2030.csv")
    there = Receiving()
    assert bring(there, tmp_path / "latest.csv", Place("c-1-1-1", "data/"), str) == 0
    assert (there.members(), there.command[-1]) == ({"latest.csv": b"a,b"}, "data/")


def test_links_below_a_folder_stay_here_and_are_counted(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").write_bytes(b"x")
    (tmp_path / "tree" / "again").hardlink_to(tmp_path / "tree" / "file")
    (tmp_path / "tree" / "out").symlink_to("/etc/passwd")
    (tmp_path / "link").symlink_to(tmp_path / "tree")
    there, names = Receiving(), list[str]()
    assert bring(there, tmp_path / "link", Place("c-1-1-1", "copy"), names.append) == 1
    assert set(there.members()) == set(names) == {"copy", "copy/file", "copy/again"}
    assert there.members()["copy/file"] == there.members()["copy/again"] == b"x"


def test_a_path_that_ends_with_two_dots_is_a_folder_and_no_name(tmp_path: Path) -> None:
    (tmp_path / "tree" / "below").mkdir(parents=True)
    there = Receiving()
    bring(there, tmp_path / "tree" / "below" / "..", Place("c-1-1-1", "data/.."), str)
    assert (set(there.members()), there.command[-1]) == ({"tree", "tree/below"}, "data/..")
    with pytest.raises(HydraError, match="names no file"):
        fetch(Said(b""), Place("c-1-1-1", "data/.."), tmp_path, str)


def test_a_program_copies_as_the_shell_does(tmp_path: Path) -> None:
    said = Said(packed(("./file", tarfile.REGTYPE, b"x"), ("./file/link", tarfile.SYMTYPE, b"/etc")))
    into = f"{tmp_path}/new/"
    assert said.copy_out("c-1-1-1", "data/file", into) == Copied([f"{into}file"], 1)
    there = Receiving()
    assert there.copy_in(tmp_path / "new" / "file", "c-1-1-1") == Copied(["file"], 0)
    assert (there.members(), there.command[-1]) == ({"file": b"x"}, ".")
    there = Receiving()
    there.copy_in(tmp_path / "new", "c-1-1-1", "data/copy")
    assert (set(there.members()), there.command[-1]) == ({"copy", "copy/file"}, "data")


def test_a_destination_here_that_ends_with_a_slash_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = Said(packed(("./file", tarfile.REGTYPE, b"x")))
    monkeypatch.setattr(execs, "connected", lambda ctx: nullcontext(said))
    done = CliRunner().invoke(app, ["cp", "c-1-1-1:file", f"{tmp_path}/new/"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "new" / "file").read_bytes() == b"x"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "tar: ./tree: Cannot stat: No such file or directory\ntar: Exiting with failure status",
            "there is no a/tree in ",
        ),
        ("tar: a: Cannot open: No such file or directory\ntar: Error is not recoverable", "there is no a in c-1-1-1"),
        ("tar: can't change directory to 'a': No such file or directory", "there is no a in c-1-1-1"),
        ("tar: ./tree/x: Cannot open: Permission denied", "a/tree/x in c-1-1-1 may not be read by the task's user"),
        ("tar: a: Cannot open: Not a directory", "a in c-1-1-1 is no folder"),
        ("tar: something new", "tar in c-1-1-1 failed: tar: something new"),
    ],
)
def test_why_a_copy_from_a_container_failed_is_told_in_words(tmp_path: Path, said: str, told: str) -> None:
    with pytest.raises(HydraError) as caught:
        fetch(Failing(said), Place("c-1-1-1", "a/tree"), tmp_path, str)
    (error,) = caught.value.problem.errors
    assert (error.field, error.message.startswith(told)) == ("source", True), error
    assert error.remedy


@pytest.mark.parametrize(
    ("said", "told", "remedy"),
    [
        ("tar: new: Cannot open: No such file or directory", "there is no folder new in c-1-1-1", "-- mkdir -p new"),
        ("tar: tree: Cannot open: File exists", "in c-1-1-1 new/tree is a folder where a file is to be", "ends with /"),
        ("tar: can't open 'tree': Read-only file system", "new/tree in c-1-1-1 may not be written", "task's folder"),
        ("tar: tree: Wrote only 512 of 10240 bytes: No space left on device", "there is no room for new/tree", "-- du"),
    ],
)
def test_why_a_copy_into_a_container_failed_is_told_in_words(tmp_path: Path, said: str, told: str, remedy: str) -> None:
    (tmp_path / "tree").write_text("x")
    with pytest.raises(HydraError) as caught:
        bring(Failing(said), tmp_path / "tree", Place("c-1-1-1", "new/"), str)
    (error,) = caught.value.problem.errors
    assert (error.field, error.message.startswith(told), remedy in error.remedy) == ("destination", True, True), error


def test_a_container_without_tar_is_said_to_have_none(tmp_path: Path) -> None:
    absent = Failing("")
    absent.end = End(code=127, error="the command could not be started: No such file or directory: tar")
    with pytest.raises(HydraError, match="c-1-1-1 has no tar, which copying needs"):
        fetch(absent, Place("c-1-1-1", "a"), tmp_path, str)


class Failing(Said):
    """A client whose container's tar only complains."""

    def __init__(self, words: str) -> None:
        super().__init__(b"")
        self.words, self.end = words, End(code=2)

    def pieces(self) -> Iterator[Piece]:
        assert self.ended.wait(stretched(10))
        if self.end.error:
            raise HydraError(Problem(title="The command did not end by itself", detail=self.end.error))
        yield Piece("stderr", self.words.encode())
