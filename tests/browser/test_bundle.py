"""The committed bundle is what its sources make, and small enough to load at once."""

import gzip
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

FRONTEND = Path(__file__).resolve().parents[2] / "frontend"
DIST = FRONTEND / "dist"
INITIAL_MAX_BYTES = 200_000  # gzip, everything the first page needs


def files(folder: Path) -> dict[str, bytes]:
    """Path below the folder -> content; packed files by what they unpack to, as packers differ in their choices."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        found[str(path.relative_to(folder))] = gzip.decompress(data) if path.suffix == ".gz" else data
    return found


def test_the_bundle_equals_a_rebuild(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("no Node.js here: the committed bundle is not compared with its sources")
    copy = tmp_path / "frontend"
    shutil.copytree(FRONTEND, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    for command in (["npm", "ci", "--ignore-scripts"], ["npm", "run", "build"]):
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=280, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    rebuilt, committed = files(copy / "dist"), files(DIST)
    assert sorted(rebuilt) == sorted(committed), "run `npm run build` in frontend/ and commit frontend/dist"
    assert [name for name in rebuilt if rebuilt[name] != committed[name]] == []


def test_packed_files_match_the_ones_beside_them() -> None:
    packed = list(DIST.rglob("*.gz"))
    assert packed
    for path in packed:
        assert gzip.decompress(path.read_bytes()) == path.with_suffix("").read_bytes()


def test_the_first_load_is_small_and_lists_no_foreign_address() -> None:
    page = (DIST / "index.html").read_text()
    wanted = re.findall(r'(?:src|href)="/static/([^"]+)"', page)
    assert len(wanted) >= 2
    assert "http" not in page.replace("http-equiv", "")
    size = sum(len(gzip.compress((DIST / name).read_bytes(), 9)) for name in wanted) + len(gzip.compress(page.encode()))
    assert size <= INITIAL_MAX_BYTES, f"{size} bytes"


def test_every_dependency_is_pinned() -> None:
    package = json.loads((FRONTEND / "package.json").read_text())
    for name, version in (package["dependencies"] | package["devDependencies"]).items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), f"{name}: {version}"
