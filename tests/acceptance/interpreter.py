"""A Python that tasks of other users can run, with packages that are installed here."""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.acceptance.cluster import Cluster

TENANT_UID = 200_001  # any user but ours: containers run as their tenant's


@functools.cache
def interpreter(cluster: Cluster, *packages: str) -> tuple[str, dict[str, str]]:
    """Its path, and the environment in which it finds these packages; skips where there is none.

    Where others may not look into our environment, what is needed of it is linked to where the cluster's tasks may.
    """
    if _runs(sys.executable, {}, packages):
        return sys.executable, {}
    env = {"PYTHONPATH": str(_linked(cluster.evidence / "packages", packages))}
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for python in (os.path.realpath(sys.executable), f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        if _runs(python, env, packages):
            return python, env
    pytest.skip(f"no {version} here that tasks of other users may run")


def _runs(python: str, env: dict[str, str], packages: tuple[str, ...]) -> bool:
    user: dict[str, Any] = {"user": TENANT_UID} if os.geteuid() == 0 else {}
    command = [python, "-c", f"import {', '.join(packages)}"]
    try:
        return subprocess.run(command, env=env, cwd="/", capture_output=True, check=False, **user).returncode == 0
    except OSError:
        return False


def _linked(folder: Path, packages: tuple[str, ...]) -> Path:
    """A folder with these packages and all that they need."""
    seen: dict[str, Distribution] = {}
    for name in packages:
        seen |= {found.name: found for found in _needed(name, set())}
    for file in (file for found in seen.values() for file in found.files or ()):
        source, target = Path(str(file.locate())), folder / file
        if ".." in file.parts or target.exists() or not source.is_file():
            continue  # commands, which lie elsewhere
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:  # on another disk
            shutil.copy2(source, target)
    return folder


def _needed(name: str, seen: set[str]) -> Iterator[Distribution]:
    if name in seen:
        return
    seen.add(name)
    found = distribution(name)
    yield found
    for wanted in map(Requirement, found.requires or ()):
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            yield from _needed(wanted.name, seen)
