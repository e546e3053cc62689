"""Reading job files and packing what they bring."""

import hashlib
import json
from pathlib import Path

import pytest

from client.errors import HydraError, InvalidJob, locating
from client.jobfile import check, pack, pack_template, parse, read_text
from contract.problems import FieldError, Problem


def load(path: Path) -> dict[str, object]:
    return parse(read_text(path), path)


def group(**more: object) -> dict[str, object]:
    return {"name": "g", "command": ["true"], **more}


def test_yaml_and_json_read_alike(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("name: a\ngroups:\n  - {name: g, command: [echo, ä]}\n", encoding="utf-8")
    (tmp_path / "job.json").write_text(json.dumps({"name": "a", "groups": [{"name": "g", "command": ["echo", "ä"]}]}))
    assert load(tmp_path / "job.yaml") == load(tmp_path / "job.json")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("job.yaml", b"name: [", "is not valid YAML"),
        ("job.yaml", b"name: a\ngroups: []\nname: b", "'name' stands twice"),
        ("job.json", b"{", "is not valid JSON"),
        ("job.yaml", b"", "holds nothing"),
        ("job.yaml", b"- a", "holds list"),
        ("job.yaml", b"\xff\xfe\x00", "not UTF-8"),
        ("job.yaml", b"!!python/object/apply:os.system ['true']", "is not valid YAML"),
    ],
)
def test_what_is_no_job_file_is_said_in_one_line(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidJob) as caught:
        load(path)
    (line,) = caught.value.lines()
    assert says in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("job.yaml", "name: a\ngroups: [\n", (3, 1)),
        ("job.yaml", "name: a\n  b: c\n", (2, 4)),
        ("job.json", '{"a":\n b}', (2, 2)),
    ],
)
def test_where_a_file_cannot_be_read_is_said(tmp_path: Path, name: str, content: str, place: tuple[int, int]) -> None:
    with pytest.raises(InvalidJob) as caught:
        parse(content, tmp_path / name)
    (wrong,) = caught.value.problem.errors
    assert (wrong.line, wrong.column) == place and "line" not in wrong.message, wrong


def test_what_is_refused_tells_where_it_stands_in_the_file(tmp_path: Path) -> None:
    text = "name: A\ngroups:\n  - name: g\n    files: [{path: x, source: gone}]\n    count: 0\n    command: [x]\n"
    with pytest.raises(InvalidJob) as caught, locating(text):
        pack(parse(text, tmp_path / "job.yaml"), tmp_path)
    assert [line.partition(":")[0] for line in caught.value.lines()] == [
        "name (line 1, column 1)",
        "groups.0.files.0.source (group g, line 4, column 23)",
        "groups.0.count (group g, line 5, column 5)",
    ]
    refused = HydraError(
        Problem(title="no", errors=[FieldError("groups.0.partition", "m", group="g"), FieldError("Key", "m")])
    )
    with pytest.raises(HydraError) as caught_too, locating(text):
        raise refused
    assert caught_too.value.lines() == ["Key: m.", "groups.0.partition (group g, line 3, column 5): m."]


def test_a_source_becomes_digest_size_and_mode_and_is_uploaded_once(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"print(1)")
    (tmp_path / "same.py").write_bytes(b"print(1)")
    (tmp_path / "tool").write_bytes(b"#!/bin/sh")
    (tmp_path / "tool").chmod(0o700)
    spec = {
        "name": "a",
        "files": [{"path": "bin/tool", "source": "tool"}],
        "groups": [
            group(files=[{"path": "a.py", "source": "a.py"}, {"path": "b.py", "source": "same.py", "mode": 0o600}])
        ],
    }
    packed = pack(spec, tmp_path)
    digest = hashlib.sha256(b"print(1)").hexdigest()
    assert packed.spec["groups"][0]["files"] == [
        {"path": "a.py", "digest": digest, "size": 8, "mode": 0o644},
        {"path": "b.py", "digest": digest, "size": 8, "mode": 0o600},
    ]
    assert packed.spec["files"][0]["mode"] == 0o755
    assert sorted(u.source.name for u in packed.uploads) == ["a.py", "tool"]
    assert spec["files"] == [{"path": "bin/tool", "source": "tool"}], "the caller's spec is left alone"


def test_a_folder_becomes_its_files(tmp_path: Path) -> None:
    for name in ("lib/a.py", "lib/sub/b.py", "lib/__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    packed = pack({"name": "a", "groups": [group(files=[{"path": "code/", "source": "lib"}])]}, tmp_path)
    assert [f["path"] for f in packed.spec["groups"][0]["files"]] == ["code/a.py", "code/sub/b.py"]


def test_a_template_keeps_its_references_but_where_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    entry = {"path": "${{ day }}.py", "source": "${{ which }}.py"}
    spec = {
        "name": "a",
        "parameters": {"day": None, "which": "b"},
        "groups": [group(env={"DAY": "${{ day }}"}, files=[entry]), group(name="h", env={"DAY": "${{ day }}"})],
    }
    packed = pack_template(spec, tmp_path, {"day": "monday", "which": "a"})
    (upload,) = packed.uploads
    kept = packed.spec["groups"]
    assert kept[0]["files"] == [{"path": "monday.py", "digest": upload.digest, "size": 1, "mode": 0o644}]
    assert kept[0]["env"] == {"DAY": "${{ day }}"} and kept[1] == spec["groups"][1]  # type: ignore[index]
    assert spec["groups"][0]["files"] == [entry]  # type: ignore[index]
    with pytest.raises(InvalidJob, match="day"):
        pack_template(spec, tmp_path, {})


def test_an_uploaded_file_passes_as_it_is(tmp_path: Path) -> None:
    entry = {"path": "x", "digest": "0" * 64, "size": 5}
    packed = pack({"name": "a", "groups": [group(files=[entry])]}, tmp_path)
    assert packed.spec["groups"][0]["files"] == [entry]
    assert packed.uploads == []


def test_missing_and_doubtful_sources_are_named(tmp_path: Path) -> None:
    spec = {
        "name": "a",
        "files": [{"path": "w"}],
        "groups": [group(files=[{"path": "x", "source": "no.py"}, {"path": "y", "source": "z", "digest": "0" * 64}])],
    }
    assert [e.field for e in check(spec, tmp_path)] == ["files.0", "groups.0.files.0.source", "groups.0.files.1"]
    with pytest.raises(InvalidJob, match=r"no.py does not exist"):
        pack(spec, tmp_path)


@pytest.mark.parametrize("job", ["hello", "service", "stdlib-census"])
def test_the_examples_are_valid(job: str) -> None:
    path = Path(__file__).parents[3] / "examples" / job / "job.yaml"
    assert check(load(path), path.parent) == []


def test_what_is_refused_anyway_is_told_with_the_fields_that_nobody_knows(tmp_path: Path) -> None:
    """A field that only a newer server knows is left to that; beside another mistake it is most likely one as well."""
    assert pack({"name": "a", "groups": [group(newer=1)]}, tmp_path).spec["groups"][0]["newer"] == 1
    with pytest.raises(InvalidJob) as refused:
        pack({"name": "a", "groups": [group(cuont=3, retries="x")]}, tmp_path)
    assert {error.field for error in refused.value.problem.errors} == {"groups.0.cuont", "groups.0.retries"}


def test_what_a_server_says_of_a_file_in_a_folder_is_said_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in "abc":
        (tmp_path / "src" / name).write_text(name)
    wrong = {"path": "w", "digest": "0" * 64}
    text = "name: a\nfiles:\n  - {path: src, source: src}\n  - {path: w, digest: x}\ngroups: []\n"
    packed = pack({"name": "a", "files": [{"path": "src", "source": "src"}, wrong], "groups": [group()]}, tmp_path)
    fields = ("spec.files.3.digest", "spec.files.1.path", "spec.name", "revision")
    said = [FieldError(name, "m") for name in fields]
    with pytest.raises(HydraError) as caught, locating(text, within="spec."), packed.as_written():
        raise HydraError(Problem(title="no", errors=said))
    assert [line.partition(":")[0] for line in caught.value.lines()] == [
        "revision",
        "name (line 1, column 1)",
        "files.0.path (line 3, column 6)",
        "files.1.digest (line 4, column 15)",
    ]


def test_a_template_knows_what_its_entries_were(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for name in "ab":
        (tmp_path / "src" / name).write_text(name)
    files = [{"path": "src", "source": "src"}, {"path": "w", "digest": "0" * 64}]
    packed = pack_template({"name": "a", "groups": [group(files=files)]}, tmp_path, {})
    with pytest.raises(HydraError) as caught, packed.as_written():
        raise HydraError(Problem(title="no", errors=[FieldError("job.groups.0.files.2.digest", "m")]))
    assert caught.value.problem.errors[0].field == "job.groups.0.files.1.digest"
