"""What a reader hands over: submissions in order of time, with what the source says of itself and what was left out."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import TypeVar

from simulator.workload import Disordered, Submission

T = TypeVar("T")
SHOWN = 40  # characters of a value that is none


class Source:
    """The submissions of one source; each iteration reads it from the beginning.

    facts: what the source says of itself, such as a log's header. skipped: how
    many jobs the latest iteration has left out so far, by reason.
    """

    def __init__(
        self, begin: Callable[[Counter[str]], Iterator[Submission]], facts: Mapping[str, str] | None = None
    ) -> None:
        self._begin = begin
        self.facts = dict(facts or {})
        self.skipped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Submission]:
        self.skipped = Counter()
        return self._begin(self.skipped)


def resorted(timed: Iterable[tuple[int, T]], ahead: int) -> Iterator[tuple[int, T]]:
    """The same (time in ms, what) in order, where none stands over ``ahead`` places too late; else ``Disordered``."""
    numbers = count()
    held: list[tuple[int, int, T]] = []
    last: int | None = None
    for at, what in timed:
        if last is not None and at < last:
            raise Disordered(
                f"entry {next(numbers) + 1} goes back in time by {(last - at) / 1000:g} s, past more than {ahead} "
                "others; sort the file by time of submission, or read further ahead (option ahead)"
            )
        heapq.heappush(held, (at, next(numbers), what))
        if len(held) > ahead:
            last, _, earliest = heapq.heappop(held)
            yield last, earliest
    while held:
        at, _, what = heapq.heappop(held)
        yield at, what


def one_of(option: str, value: str, choices: Iterable[str]) -> str:
    """``value`` where it is among ``choices``; else a ``ValueError`` that names them."""
    known = sorted(choices)
    if value not in known:
        raise ValueError(f"{option}: {str(value)[:SHOWN]!r} is unknown; use one of: {', '.join(known)}")
    return value
