"""What was well formed and is not quite so any more: for tests that send anything and look for what breaks."""

import copy
from random import Random
from typing import Any

DEEP: Any = []
for _ in range(150):
    DEEP = [DEEP]
NASTY: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63) - 1, 10**40, 0.0, -0.5, 1e308, 1e-320,
    "", " ", "0", "-1", "null", "\0", "a\0b", "\n", "é", "\u202e", "\U0001f600", "x" * 300, "x" * 20_000,
    "../../etc/passwd", "%00", "{index}", "{0.__class__}", "%s", "' OR 1=1 --", "<script>", "2024-02-31",
    "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "c-1-1-1", "c-2047-1048575-4294967295",
    "c-9999999999-1-1", [], [None], [[]], {}, {"": ""}, {"a": None}, ["x"] * 2_000, DEEP,
)  # fmt: skip


def value(rng: Random, of: Any, times: int = 1) -> Any:
    """A copy of a JSON value with some of its parts exchanged, left out, doubled or added."""
    found = copy.deepcopy(of)
    for _ in range(times):
        found = _once(rng, found)
    return found


def _nasty(rng: Random) -> Any:
    return copy.deepcopy(rng.choice(NASTY))


def _once(rng: Random, of: Any) -> Any:
    if not isinstance(of, dict | list) or not of or rng.random() < 0.1:
        return _nasty(rng)
    names = list(of) if isinstance(of, dict) else list(range(len(of)))
    at = rng.choice(names)
    how = rng.random()
    if how < 0.5:
        of[at] = _once(rng, of[at])
    elif how < 0.7:
        of[at] = _nasty(rng)
    elif how < 0.8:
        del of[at]
    elif isinstance(of, list):
        of.insert(at, rng.choice((of[at], _nasty(rng))))
    else:
        other = rng.choice((*names, "extra", "", "a\0b", "x" * 300))
        of[other] = copy.deepcopy(of[at]) if how < 0.9 else _nasty(rng)
    return of


def data(rng: Random, of: bytes) -> bytes:
    """Bytes of which some are others, or missing, or doubled; or bytes that are nothing at all."""
    found = bytearray(of)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(found))
        end = min(len(found), at + rng.choice((1, 2, 8, 100)))
        how = rng.randint(0, 5)
        if how == 0:
            del found[at:end]
        elif how == 1:
            found[at:at] = found[at:end]
        elif how == 2:
            found[at:at] = rng.randbytes(rng.choice((1, 4, 32)))
        elif how == 3:
            found[at:end] = bytes([rng.choice((0, 255, 0x7F, 0x22, 0x7B))]) * (end - at)
        elif at < len(found):
            found[at] ^= 1 << rng.randint(0, 7)
    return bytes(found) if rng.random() < 0.95 else rng.randbytes(rng.choice((0, 1, 40, 300)))


def text(rng: Random, of: str) -> str:
    """The same of a text."""
    return data(rng, of.encode()).decode(errors="replace")
