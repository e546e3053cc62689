"""Files of this machine that cannot be read or written: said in a line, as a mistake in the request."""

import errno
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from client.api import Client
from client.errors import InvalidJob, locating
from client.jobfile import pack, parse
from tests import hydractl

DATA = b"found"
DIGEST = hashlib.sha256(DATA).hexdigest()


def test_a_download_goes_into_a_folder_that_is_there(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    cluster.artifacts = {DIGEST: DATA}
    done = hydractl.run(("artifacts", "get", DIGEST, "--to", str(tmp_path)), env)
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / DIGEST)), done.stderr
    assert (tmp_path / DIGEST).read_bytes() == DATA


def test_a_file_where_a_folder_is_to_be_is_refused(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    cluster.add_job({"name": "a", "groups": [{"name": "map"}]}, "SUCCEEDED")
    cluster.artifacts = {DIGEST: DATA}
    cluster.outputs = [{"group": "map", "index": 0, "name": "x", "path": "x", "digest": DIGEST, "size": len(DATA)}]
    (tmp_path / "taken").write_text("")
    for place in ("taken", "taken/below"):
        done = hydractl.run(("fetch", "1", "--to", place), env, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert "is a file where a folder is to be. Give another name" in done.stderr


def test_a_failed_write_names_what_was_to_be_written(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.artifacts = {DIGEST: DATA}

    def full(*_: Any) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    with Client(cluster.url, "secret-token") as client, pytest.raises(OSError, match="No space left") as caught:
        client.download(DIGEST, tmp_path / "x")
    assert caught.value.filename == str(tmp_path / "x") and not list(tmp_path.iterdir())


def test_a_source_that_may_not_be_read_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "x").write_text("")
    text = "name: a\nfiles:\n  - {path: x, source: in/deep/x}\n  - {path: in, source: in}\n"
    spec = parse(f"{text}groups: [{{name: g, command: [x]}}]\n", tmp_path / "job.yaml")
    pack(spec, tmp_path)
    barred = [tmp_path / "in" / "deep" / "x"]
    allowed = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path not in barred and allowed(path, mode))
    for barred in ([tmp_path / "in" / "deep" / "x"], [tmp_path / "in" / "deep"]):
        with pytest.raises(InvalidJob) as caught, locating(text):
            pack(spec, tmp_path)
        lines = [f"{error.line}: {error.said()}" for error in caught.value.problem.errors]
        assert f"4: files.1.source (line 4, column 16): {barred[0]} is not yours to read. Change its rights." in lines


def test_what_a_folder_does_not_bring_need_not_be_readable(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "x").write_text("")
    (tmp_path / "in" / ".#lock").symlink_to("ann@host.1")
    os.mkfifo(tmp_path / "in" / "pipe", 0)
    spec = parse("name: a\nfiles: [{path: in, source: in}]\ngroups: [{name: g, command: [x]}]\n", tmp_path / "job.yaml")
    packed = pack(spec, tmp_path)
    assert [entry["path"] for entry in packed.spec["files"]] == ["in/x"] and len(packed.uploads) == 1
