"""What this is built of: pinned to the last package, under licences that suit whoever uses and passes it on.

Whether anybody knows a hole in one of them changes without us: docs/changing.md has the commands that ask.
"""

import json
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from controlplane.embedded.venv import CONSTRAINTS

ROOT = Path(__file__).resolve().parents[2]
FRONTEND = ROOT / "frontend"
# Words of licences: those that ask for their text and name to stay, and those that ask for changes of their own files.
# LGPL-3.0 (psycopg) is linked dynamically and not changed.
SUITABLE = re.compile(
    r"mit\b|mit-0|bsd|isc|apache|psf|python-2\.0|0bsd|unlicense|zlib|cc0|mpl|mozilla public license 2|lgpl-3\.0-only",
    re.I,
)
UNSUITABLE = re.compile(r"(?<!l)gpl|affero|sspl|busl|commons clause|proprietary", re.I)
REQUIREMENTS = ["requirements.txt", "requirements-dev.txt"]
SAID_ELSEWHERE = {"axe-playwright-python": "MIT"}  # in its LICENSE file alone


def required(name: str, seen: set[str]) -> Iterator[Distribution]:
    """A package and all that it needs here."""
    requirement = Requirement(name)
    what = f"{canonicalize_name(requirement.name)}[{','.join(sorted(requirement.extras))}]"
    if what in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
        return
    seen.add(what)
    found = distribution(requirement.name)
    yield found
    extras = [{"extra": each} for each in ("", *requirement.extras)]
    for line in found.requires or []:
        marker = Requirement(line).marker
        if marker is None or any(marker.evaluate(extra) for extra in extras):
            yield from required(line.partition(";")[0], seen)


def licence(found: Distribution) -> str:
    """As its metadata says, by the newest of the ways there are."""
    said = found.metadata.get("License-Expression") or "; ".join(
        line.rpartition("::")[2] for line in found.metadata.get_all("Classifier") or [] if line.startswith("License")
    )
    return said or (found.metadata.get("License") or "").partition("\n")[0] or SAID_ELSEWHERE.get(found.name, "")


def lines_of(name: str) -> list[str]:
    return [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]


def locked() -> dict[str, Any]:
    packages: dict[str, Any] = json.loads((FRONTEND / "package-lock.json").read_text())["packages"]
    return packages


def test_all_that_is_installed_is_pinned_however_indirectly_it_is_needed() -> None:
    seen: set[str] = set()
    wanted = {
        canonicalize_name(found.name): found.version
        for name in REQUIREMENTS
        for line in lines_of(name)
        for found in required(line, seen)
    }
    pinned = dict(line.split("==") for line in lines_of(CONSTRAINTS))
    assert {name: version for name, version in wanted.items() if pinned.get(name) != version} == {}


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_licences_are_suitable(name: str) -> None:
    lines = lines_of(name)
    seen: set[str] = set()
    said = {found.name: licence(found) for line in lines for found in required(line, seen)}
    assert len(said) >= len(lines)
    assert {each: text for each, text in said.items() if not SUITABLE.search(text) or UNSUITABLE.search(text)} == {}


def test_the_pages_licences_are_suitable() -> None:
    said = {name: str(package.get("license")) for name, package in locked().items() if name}
    assert {name: text for name, text in said.items() if not SUITABLE.search(text) or UNSUITABLE.search(text)} == {}


def test_the_pages_packages_are_pinned_by_version_and_hash() -> None:
    packages = locked()
    assert [name for name, one in packages.items() if name and not {"version", "integrity"} <= one.keys()] == []
    wanted = json.loads((FRONTEND / "package.json").read_text())
    direct = wanted["dependencies"] | wanted["devDependencies"]
    exact = re.compile(r"(npm:[\w./@-]+@)?\d+\.\d+\.\d+(-[\w.]+)?")
    assert {name: version for name, version in direct.items() if not exact.fullmatch(version)} == {}
