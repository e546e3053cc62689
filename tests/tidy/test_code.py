"""The rules every file follows: formatters, types, import contracts, and sizes a reader can hold in mind."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.machine import FACTOR

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "wire", "contract", "scheduler", "simulator", "controlplane", "nodemanager", "client", "hydra", "examples",
    "benchmarks", "tests",
)  # fmt: skip
FUNCTION_LINES_MAX = 50
FILE_LINES_MAX = 500
CLOCK_AND_IO = {
    "asyncio", "celery", "datetime", "django", "glob", "http", "httpx", "io", "logging", "multiprocessing", "os",
    "pathlib", "psycopg", "random", "redis", "requests", "secrets", "select", "shutil", "signal", "socket", "sqlite3",
    "structlog", "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
CALLS_OUT = {"open", "print", "input"}


def sources(*folders: str) -> list[Path]:
    found = [p for folder in folders for p in sorted((ROOT / folder).rglob("*.py"))]
    return [ROOT / "manage.py", *found] if len(folders) > 1 else found


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Name and length in lines of every function, its decorators and docstring left out of the count."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            yield node.name, (node.end_lineno or 0) - body[0].lineno + 2


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def test_ruff():
    run("ruff", "check", "--no-cache", ".")


def test_format():
    run("ruff", "format", "--check", "--no-cache", ".")


@pytest.mark.timeout(900 * FACTOR)  # half a minute of a processor, of which the other stages may leave little
def test_types():
    run("pyrefly", "check", "--python-interpreter-path", sys.executable, "--output-format", "min-text")


def test_who_may_import_whom():
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([str(lint), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nobody_imports_his_importer():
    """Neither at the top nor within a function: raises ``CycleError``, which names the modules."""
    packages = [folder for folder in FOLDERS if (ROOT / folder / "__init__.py").exists()]
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)
    TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()


@pytest.mark.parametrize("folder", FOLDERS)
def test_sizes(folder: str):
    wrong = [
        f"{path.relative_to(ROOT)}: {name} has {lines} lines"
        for path in sources(folder)
        for name, lines in functions(path)
        if lines > FUNCTION_LINES_MAX
    ]
    wrong += [
        f"{path.relative_to(ROOT)} has {count} lines"
        for path in sources(folder)
        if path.parent.name != "migrations"  # as Django writes them
        and (count := path.read_text().count("\n")) > FILE_LINES_MAX
    ]
    assert not wrong, "\n".join(wrong)


def test_nothing_is_called_utils():
    assert not [p for p in sources(*FOLDERS) if re.fullmatch(r"utils?|helpers?|misc|common_utils", p.stem)]


def test_the_scheduler_has_no_clock_and_no_io():
    wrong = []
    for path in sources("scheduler"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS_OUT:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} calls {node.func.id}")
            wrong += [
                f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
                for name in names
                if name.partition(".")[0] in CLOCK_AND_IO
            ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_requirements_are_pinned(name: str):
    lines = [line.strip() for line in (ROOT / name).read_text().splitlines()]
    loose = [
        line for line in lines if line and not line.startswith("#") and not re.match(r"[\w.\[\]-]+==[\w.]+$", line)
    ]
    assert not loose
