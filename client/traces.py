"""Logs and traces of other systems as recorded jobs: read by the simulator's readers, which a checkout has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from client import replay
from client.errors import client_error
from client.replay import Recorded

HISTORY = "history"


def read(kind: str, path: Path, given: list[str]) -> Iterator[Recorded]:
    """The jobs of ``path``. kind: of workload, as ``manage.py simulate`` knows it. given: options of its reader, K=V.

    Raises ``HydraError``.
    """
    if kind == HISTORY:
        if given:
            raise client_error("the workload history has no options", field_name="option", remedy="leave it out")
        return replay.read(path)
    return _others(kind, path, options(given))


def options(given: list[str]) -> dict[str, Any]:
    """Values that are written like a number or a list are one, others are texts."""
    found: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise client_error(f"{text!r} has no value", field_name="option", remedy="write NAME=VALUE")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = {"true": True, "false": False}.get(value.lower(), value)
    return found


def _others(kind: str, path: Path, given: dict[str, Any]) -> Iterator[Recorded]:
    try:
        from simulator.workloads import READERS, history, open_workload
    except ImportError:
        remedy = "run hydractl from a checkout of Hydra, or make a history of it there: manage.py trace"
        raise client_error(f"what reads {kind} is not installed", field_name="workload", remedy=remedy) from None
    kinds = [name for name, reader in READERS.items() if reader.reads_file]
    if kind not in kinds:
        known = ", ".join(sorted(kinds))
        raise client_error(f"{kind!r} is no kind of workload", field_name="workload", remedy=f"use one of: {known}")
    try:
        for number, job in enumerate(open_workload(kind, path, **given), 1):
            yield Recorded(job.at_s, number, history.values(job))
    except (OSError, ValueError, TypeError) as error:  # they say where, what and what to do
        raise client_error(f"{path} cannot be read as {kind}: {error}", field_name="FILE") from error
