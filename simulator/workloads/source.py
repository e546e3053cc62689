"""What a reader hands over: submissions in order of time, with what the source says of itself and what was left out."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeVar

from simulator.workload import Disordered, Submission

T = TypeVar("T")
SHOWN = 40  # characters of a value that is none


class Source:
    """The submissions of one source; each iteration reads it from the beginning.

    facts: what the source says of itself, such as a log's header. skipped: how
    many jobs the latest iteration has left out so far, by reason. notes: what
    whoever reads figures of these jobs has to know of them.
    """

    def __init__(
        self, begin: Callable[[Counter[str]], Iterator[Submission]], facts: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self._begin = begin
        self.facts, self.notes = dict(facts or {}), list(notes)
        self.skipped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Submission]:
        self.skipped = Counter()
        return self._begin(self.skipped)

    def from_first(self) -> "Source":
        """The same, with the first job at 0 s: a log may be a part of a longer one."""

        def begin(skipped: Counter[str]) -> Iterator[Submission]:
            first_s: float | None = None
            for job in self._begin(skipped):
                first_s = job.at_s if first_s is None else first_s
                yield replace(job, at_s=job.at_s - first_s) if first_s else job

        return Source(begin, self.facts, self.notes)


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
