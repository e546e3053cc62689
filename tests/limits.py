"""Limits that the product promises in seconds, measured.

Every measurement is kept (one JSON line each in the folder that ``HYDRA_TEST_RECORD`` names). A limit that is missed
ends the test by missing time, and so it is measured once more, alone. Where the machine was quiet meanwhile, the limit
holds as it stands; otherwise it is stretched by how much slower this machine is.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests import machine
from tests.machine import FACTOR, Stall, stalls
from tests.patience import RanOut, wait_until


class Missed(RanOut):
    """A promise in seconds was not kept."""


@contextmanager
def limit(name: str, seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[None]:
    """What happens inside takes at most ``seconds``. Where it breaks off, that is kept as well.

    name: what is promised, as the table of all limits calls it. clock: ``time.process_time`` for a processor's time.
    """
    mark, began = stalls.mark(), clock()
    try:
        yield
    except BaseException:
        _keep(name, clock() - began, seconds, stalls.since(mark), came=False)
        raise
    judge(name, clock() - began, seconds, mark)


@contextmanager
def no_sooner(seconds: float, what: str) -> Iterator[None]:
    """What happens inside takes at least ``seconds``, however fast the machine."""
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took >= seconds, f"{what} after {took:.2f} s already, not {seconds:g}"


def within(seconds: float, condition: Callable[[], Any], name: str, every_s: float = 0.02) -> None:
    """Wait for a condition, which must come within ``seconds``."""
    with limit(name, seconds):
        wait_until(condition, seconds, name, every_s)


def judge(name: str, took_s: float, limit_s: float, mark: tuple[float, float, float, float]) -> None:
    """Keep a measurement, and raise ``Missed`` where it is over its limit. mark: of when it began."""
    stall = stalls.since(mark)
    allowed_s = _keep(name, took_s, limit_s, stall)
    if took_s > allowed_s:
        raise Missed(f"{name}: only after {took_s:.2f} s (limit {allowed_s:g} s; {stall})")


def _keep(name: str, took_s: float, limit_s: float, stall: Stall, came: bool = True) -> float:
    """Write a measurement down; what is allowed."""
    allowed_s = limit_s if stall.quiet else limit_s * FACTOR
    print(f"measured: {name}: {took_s:.2f} s (limit {limit_s:g} s)")
    if folder := os.environ.get("HYDRA_TEST_RECORD"):
        line = {"name": name, "took_s": round(took_s, 3), "limit_s": limit_s, "allowed_s": allowed_s, "came": came}
        line |= asdict(stall) | {"machine": machine.name()}
        line |= {"test": os.environ.get("PYTEST_CURRENT_TEST", "").split(" ")[0]}
        with open(Path(folder) / "limits.jsonl", "a") as file:  # one write each: processes share it
            file.write(json.dumps(line) + "\n")
    return allowed_s
