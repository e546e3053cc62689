"""The committed bundle and API types are what their sources make, and the first load is small."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gate import frontend
from tests.machine import FACTOR
from tests.stores import ROOT, bare_environment

FRONTEND = ROOT / "frontend"
TYPES = Path("src/api/schema.d.ts")
DIST = FRONTEND / "dist"
INITIAL_MAX_BYTES = 200_000  # gzip, everything the first page needs


def files(folder: Path) -> dict[str, bytes]:
    """Path below the folder -> content; packed files by what they unpack to, as packers differ in their choices."""
    found = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        found[str(path.relative_to(folder))] = gzip.decompress(data) if path.suffix == ".gz" else data
    return found


def run(*command: str, cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=bare_environment(), capture_output=True, text=True, timeout=280 * FACTOR, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the front end without what was made from it, with its packages as the lock file names them."""
    if reason := frontend.cannot():
        pytest.skip(f"what is committed is not compared with its sources: {reason}")
    frontend.install()
    copy = tmp_path_factory.mktemp("sources") / "frontend"
    shutil.copytree(FRONTEND, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (copy / "node_modules").symlink_to(FRONTEND / "node_modules")
    return copy


def test_the_bundle_equals_a_rebuild(sources: Path) -> None:
    run("npm", "run", "build", cwd=sources)
    rebuilt, committed = files(sources / "dist"), files(DIST)
    assert sorted(rebuilt) == sorted(committed), "run `npm run build` in frontend/ and commit frontend/dist"
    assert [name for name in rebuilt if rebuilt[name] != committed[name]] == []


def test_the_types_equal_what_the_api_says(sources: Path) -> None:
    run(sys.executable, "manage.py", "spectacular", "--file", str(sources / "schema.json"), cwd=ROOT)
    (sources / TYPES).unlink()
    run("npm", "run", "api-types", cwd=sources)
    fresh = (sources / TYPES).read_text()
    (sources / TYPES).write_bytes((FRONTEND / TYPES).read_bytes())
    remedy = "run `python manage.py spectacular --file frontend/schema.json`, then `npm run api-types` in frontend/"
    assert fresh == (FRONTEND / TYPES).read_text(), remedy


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
        assert re.fullmatch(r"(npm:[a-z]+@)?\d+\.\d+\.\d+", version), f"{name}: {version}"
