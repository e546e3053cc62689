"""The environment beside manage.py: when it counts as installed, and how an interrupted install is seen."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from controlplane.embedded import venv

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # nothing of this needs the network
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    return tmp_path


def test_what_cannot_be_installed_is_said_with_pips_reason(project: Path):
    (project / "requirements.txt").write_text("./no-such-folder\n")
    files = [project / "requirements.txt"]
    with pytest.raises(venv.InstallError, match="no-such-folder"):
        venv.fill(project / ".venv", files, venv.fingerprint(files))
    assert not venv.installed(project / ".venv", files, venv.fingerprint(files))


def wheel(folder: Path, version: str) -> None:
    """A package of nothing."""
    info = f"thing-{version}.dist-info"
    with zipfile.ZipFile(folder / f"thing-{version}-py3-none-any.whl", "w") as packed:
        packed.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: thing\nVersion: {version}\n")
        packed.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{info}/RECORD", "")


def test_what_is_pinned_is_installed_anew_when_it_was_interrupted_or_the_requirements_change(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    for version in ("1.0", "2.0"):
        wheel(project, version)
    monkeypatch.setenv("PIP_FIND_LINKS", str(project))
    (project / "requirements.txt").write_text("thing\n")
    (project / venv.CONSTRAINTS).write_text("thing==1.0\nwhat-nothing-needs==1.0\n")
    where, files = project / ".venv", [project / venv.CONSTRAINTS, project / "requirements.txt"]
    stamp = venv.fingerprint(files)
    where.mkdir()
    (where / venv.INSTALLING).touch()
    (where / "half").write_text("left behind")
    assert not venv.installed(where, files, stamp)
    venv.fill(where, files, stamp)
    assert venv.installed(where, files, stamp)
    assert not (where / "half").exists() and "interrupted" in capsys.readouterr().err
    own = [where / "bin" / "python", "-c", "import sys; sys.exit(sys.prefix == sys.base_prefix)"]
    assert subprocess.run(own, check=False).returncode == 0
    assert [found.name for found in where.glob("lib/*/site-packages/thing*")] == ["thing-1.0.dist-info"]
    (project / venv.CONSTRAINTS).write_text("thing==2.0\n")
    assert not venv.installed(where, files, venv.fingerprint(files))


KEEPS = """
import sys
from controlplane.embedded import venv
sys.prefix = sys.argv[1]
venv.keep_bytecode()
import thing
"""


@pytest.mark.parametrize("wish", ["", "1"])
def test_bytecode_is_kept_and_not_beside_sources_where_nobody_wants_it_there(tmp_path: Path, wish: str):
    beside, prefix = tmp_path / "sources", tmp_path / "venv"
    beside.mkdir()
    (beside / "thing.py").write_text("THIS = 1\n")
    env = {"PYTHONPATH": f"{beside}:{ROOT}", "PYTHONDONTWRITEBYTECODE": wish}
    subprocess.run([sys.executable, "-c", KEEPS, str(prefix)], env=env, check=True)
    assert bool(list(prefix.rglob("thing.*.pyc"))) is bool(wish)
    assert (beside / "__pycache__").exists() is not bool(wish)


def test_an_incomplete_clone_is_said(tmp_path: Path):
    with pytest.raises(venv.InstallError, match="complete clone"):
        venv.fingerprint([tmp_path / "requirements.txt"])


def test_an_old_python_is_told_what_is_needed():
    """The first lines must be readable for any Python 3, so that they can say it."""
    source = (ROOT / "manage.py").read_text()
    head = source.partition("from pathlib")[0].replace("sys.version_info <", "(3, 8) <")
    done = subprocess.run([sys.executable, "-c", head], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "3.11" in done.stderr
