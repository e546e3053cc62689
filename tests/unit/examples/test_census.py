"""The standard library census, its scripts run for real as tasks run them."""

import io
import json
import os
import runpy
import subprocess
import sys
import sysconfig
import tokenize
from pathlib import Path

import pytest

from tests.machine import FACTOR

CENSUS = Path(__file__).parents[3] / "examples" / "stdlib-census"


def task(script: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, str(CENSUS / script)], cwd=folder, env={"PATH": os.environ["PATH"], **env},
        capture_output=True, text=True, timeout=120 * FACTOR, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three map tasks of twenty-four (the first have long texts alone); returns the reduce task's work folder."""
    base = tmp_path_factory.mktemp("census")
    (base / "reduce" / "parts").mkdir(parents=True)
    for index in range(3, 6):
        done = task("map.py", base / f"map-{index}", HYDRA_TASK_INDEX=str(index), HYDRA_TASK_COUNT="24")
        assert done.returncode == 0, done.stderr
        (base / f"map-{index}" / "part.json").rename(base / "reduce" / "parts" / f"{index}.json")
    done = task("reduce.py", base / "reduce")
    assert done.returncode == 0, done.stderr
    return base / "reduce"


def test_every_module_is_one_tasks() -> None:
    script = runpy.run_path(str(CENSUS / "map.py"))
    files = script["sources"](Path(sysconfig.get_path("stdlib")))
    shares = [script["share"](files, index, 24) for index in range(24)]
    assert sorted(path for share in shares for path in share) == sorted(path for _, path in files)
    assert not any("test" in path.split("/") or "site-packages" in path for _, path in files)


def test_what_the_tasks_count_differs_and_is_about_as_much(census: Path) -> None:
    parts = [json.loads(path.read_text()) for path in sorted((census / "parts").iterdir())]
    names = [name for part in parts for name in part["modules"]]
    assert len(names) == len(set(names)) > 30
    sizes = [sum(figures["tokens"] for figures in part["modules"].values()) for part in parts]
    assert max(sizes) < 1.5 * min(sizes), "the split is balanced"


def test_the_figures_are_right(census: Path) -> None:
    report = json.loads((census / "report.json").read_text())
    assert report["totals"]["modules"] == len(report["modules"])
    stdlib = Path(sysconfig.get_path("stdlib"))
    files = {each["module"]: stdlib / f"{each['module'].replace('.', '/')}.py" for each in report["modules"]}
    known = next(each for each in reversed(report["modules"]) if files[each["module"]].exists() and each["definitions"])
    source = files[known["module"]].read_text()
    assert known["tokens"] == sum(1 for _ in tokenize.generate_tokens(io.StringIO(source).readline)) + 1  # its encoding
    defined = sum(line.lstrip().startswith(("def ", "async def ", "class ")) for line in source.splitlines())
    assert known["definitions"] == defined
    assert report["modules"] == sorted(report["modules"], key=lambda each: (-each["tokens"], each["module"]))
    assert report["most_imported"][0]["module"] in {"sys", "os"}


def test_the_table_is_for_people(census: Path) -> None:
    text = (census / "report.txt").read_text()
    assert " modules, " in text.splitlines()[1]
    assert "The 20 largest modules" in text
    assert "The 20 most imported modules" in text
    assert max(len(line) for line in text.splitlines()) < 140


def test_what_is_no_python_is_left_out_and_named(tmp_path: Path) -> None:
    script = runpy.run_path(str(CENSUS / "map.py"))
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "broken.py").write_bytes(b"def (:\n")
    (tmp_path / "nul.py").write_bytes(b"x\x00y\n")
    (tmp_path / "fine.py").write_bytes(b"# coding: latin-1\nimport os, sys\nx = '\xe9'\ndef f(): pass\n")
    main = script["main"]
    main.__globals__["sysconfig"] = type("Here", (), {"get_path": staticmethod(lambda _name: str(tmp_path))})
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        main()
    finally:
        os.chdir(here)
    part = json.loads((tmp_path / "part.json").read_text())
    assert set(part["skipped"]) == {"latin.py", "broken.py", "nul.py"}
    assert part["modules"]["fine"]["imports"] == {"os": 1, "sys": 1}


def test_relative_imports_are_spelt_out() -> None:
    script = runpy.run_path(str(CENSUS / "map.py"))
    import ast

    tree = ast.parse("from . import a\nfrom .b import c\nfrom ..d import e\nimport x.y as z\n")
    assert script["imported"](tree, "p.q") == {"p.q": 1, "p.q.b": 1, "p.d": 1, "x.y": 1}


def test_without_parts_reduce_says_so(tmp_path: Path) -> None:
    done = task("reduce.py", tmp_path / "empty")
    assert done.returncode == 1
    assert done.stderr == "reduce: there are no parts to merge in parts/\n"
