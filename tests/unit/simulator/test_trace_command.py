"""``manage.py trace`` on other systems' logs, without any store."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from simulator.workloads import history, open_workload
from tests.unit.client.test_client_traces import FILES
from tests.unit.simulator.workload_cases import same


def trace(tmp_path: Path, kind: str, output: str, *options: str) -> Path:
    path = tmp_path / "log"
    path.write_text(FILES[kind])
    call_command("trace", str(tmp_path / output), str(path), "--workload", kind, *(f"--option={o}" for o in options))
    return tmp_path / output


@pytest.mark.parametrize("kind", FILES)
def test_every_kind_becomes_a_history(tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = trace(tmp_path, kind, "jobs.jsonl.gz")
    assert same(history.load(found), open_workload(kind, tmp_path / "log"))
    assert " job" in capsys.readouterr().err


def test_options_are_the_readers_and_names_say_whether_it_is_packed(tmp_path: Path) -> None:
    found = trace(tmp_path, "swf", "jobs.jsonl", "queue=root.x", "memory_mib=7")
    first, *jobs = map(json.loads, found.read_text().splitlines())
    assert first == {"format": "hydra-history", "version": 1}
    assert {(job["queue"], job["groups"][0]["memory_mib"]) for job in jobs} == {("root.x", 7)}


def test_to_stdout_it_is_packed(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "log").write_text(FILES["swf"])
    call_command("trace", "-", str(tmp_path / "log"), "--workload", "swf")
    assert len(gzip.decompress(capfdbinary.readouterr().out).splitlines()) == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "--from: and --workload are both given, or neither"),
        ({"first": "2026-01-01", "workload": "swf"}, "--from: and --workload are both given"),
        ({"first": "yesterday"}, "--from: 'yesterday' is no time; write YYYY-MM-DDTHH:MM, or -6h"),
        ({"first": "-2h", "last": "-3d"}, "does not lie before --to"),
        ({"first": "2026-01-02", "last": "2026-01-01"}, "--from: 2026-01-02T00:00 does not lie before --to"),
        ({"workload": "swf", "path": Path("none")}, "--workload: none cannot be read"),
        ({"workload": "swf", "option": ["memory"]}, "--option: 'memory' has no value"),
        (
            {"workload": "synthetic", "option": ["containers=5"], "output": "/none/a"},
            "output: /none/a cannot be written",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(CommandError, match=says):
        call_command("trace", options.pop("output", str(tmp_path / "out")), **options)
    assert not list(tmp_path.iterdir())
