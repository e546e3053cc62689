"""What tenants' own type checkers see of the packages they install, and that an installation has all of them."""

import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

from tests.stores import ROOT

PROGRAM = """
from hydra.am import ApplicationMaster, AskSpec
from client.api import Client
from contract.jobs import JobDetail

am = ApplicationMaster.from_env()
am.register({"port": "ui", "path": "/progress"})
spec: AskSpec = {"resources": {"memory_mib": 64}, "ports": [{"name": "http"}], "gang": True}
am.ask("work", 2, **spec)
am.ask("web", 2, ports=[{"name": "http"}], health_check={"port": "http", "http": "/"}, estimated_duration_s=60)
am.scale("work", 3, command=["work"], files=am.files("work.py"))

def page(client: Client) -> str | None:
    job: JobDetail = client.job(1)
    return job.tracking
"""
WRONG = {
    'am.ask("work", 2, memory_mib=64)': "Unexpected keyword argument",
    'am.ask("work", 2, gang="yes")': "incompatible type",
    'am.ask("work", 2, resources={"memory": 64})': 'Extra key "memory"',
    'am.scale("work", 2, ports=["http"])': "incompatible type",
    'am.ask("work", 2, health_check={"http": "/"})': "incompatible type",
    'am.register({"path": "/"})': "incompatible type",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of a tenant's, with the distribution's packages; its folder."""
    folder = tmp_path_factory.mktemp("tenant")
    venv.create(folder / "venv", with_pip=False)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    for package in packages():
        shutil.copytree(ROOT / package, site / package, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def packages() -> list[str]:
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]["include"]
    return [pattern.removesuffix("*") for pattern in found]


def check(installed: Path, text: str) -> str:
    """What mypy says of a program with this text."""
    program = installed / "program.py"
    program.write_text(text)
    python = installed / "venv" / "bin" / "python"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable", str(python), program]
    done = subprocess.run(
        command, cwd=installed, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_what_is_installed_is_typed_and_a_wrong_ask_is_found(installed: Path) -> None:
    said, first = check(installed, PROGRAM + "\n".join(WRONG)).splitlines(), PROGRAM.count("\n") + 1
    for line, words in enumerate(WRONG.values(), first):
        assert any(found.startswith(f"program.py:{line}:") and words in found for found in said), said
    right = tuple(f"program.py:{line}:" for line in range(first))
    assert not [found for found in said if found.startswith(right) or "program.py" not in found][:-1], said


# What an installation lacks and says so; a checkout has it.
LACKS = {"client/traces.py": "simulator"}


def test_an_installation_has_all_that_it_imports() -> None:
    own = {folder.name for folder in ROOT.iterdir() if (folder / "__init__.py").exists()}
    for package in packages():
        assert (ROOT / package / "py.typed").exists(), package
        for path in (ROOT / package).rglob("*.py"):
            for other in own - {*packages(), LACKS.get(str(path.relative_to(ROOT)))}:
                assert f"from {other}" not in path.read_text() and f"import {other}" not in path.read_text(), path
