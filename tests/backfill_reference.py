"""Rigid parallel jobs on a machine of equal processors, by the book: first come first served, EASY, conservative.

Written from the definitions (Lifka 1995; Mu'alem and Feitelson 2001), one
event after the other, with counts of processors and nothing of ``scheduler``.
Arrivals and ends of one moment come together; equals are in order of arrival.
A job that has outlived its estimate is expected to end at any moment: now.
"""

import gzip
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Job:
    """``estimate``: how long it is expected to run; seconds, as the rest."""

    arrives: float
    processors: int
    runs: float
    estimate: float


@dataclass(slots=True)
class Machine:
    """waiting: numbers of jobs, in order of arrival. running: number -> expected end."""

    jobs: list[Job]
    free: int
    waiting: list[int]
    running: dict[int, float]

    def ends(self, now: float) -> list[tuple[float, int]]:
        """(when, processors) that running jobs are expected to give back, in order."""
        return sorted((max(end, now), self.jobs[j].processors) for j, end in self.running.items())


Rule = Callable[[Machine, float], list[int]]


def simulate(jobs: list[Job], processors: int, rule: Rule) -> list[float]:
    """When each job starts. ``rule``: which jobs start now. Jobs are in order of arrival."""
    machine, starts = Machine(jobs, processors, [], {}), [-1.0] * len(jobs)
    events: list[tuple[float, int, int]] = []
    for number, job in enumerate(jobs):
        heappush(events, (job.arrives, 1, number))
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, arrival, number = heappop(events)
            if arrival:
                insort(machine.waiting, number)
            else:
                del machine.running[number]
                machine.free += jobs[number].processors
        for number in rule(machine, now):
            starts[number] = now
            machine.waiting.remove(number)
            machine.free -= jobs[number].processors
            machine.running[number] = now + jobs[number].estimate
            heappush(events, (now + jobs[number].runs, 0, number))
        assert machine.free >= 0
    return starts


def anything(m: Machine, now: float) -> list[int]:
    """Whoever fits."""
    found, free = [], m.free
    for number in m.waiting:
        if m.jobs[number].processors <= free:
            free -= m.jobs[number].processors
            found.append(number)
    return found


def first_come(m: Machine, now: float) -> list[int]:
    """Nobody passes the first that does not fit."""
    found, free = [], m.free
    for number in m.waiting:
        if m.jobs[number].processors > free:
            break
        free -= m.jobs[number].processors
        found.append(number)
    return found


def easy(m: Machine, now: float) -> list[int]:
    """The first that does not fit is due at the shadow time; others end by then or use what is to spare then."""
    found = first_come(m, now)
    free = m.free - sum(m.jobs[j].processors for j in found)
    rest = m.waiting[len(found) :]
    if not rest:
        return found
    ends = m.ends(now) + [(now + m.jobs[j].estimate, m.jobs[j].processors) for j in found]
    shadow, spare = shadow_time(sorted(ends), free, m.jobs[rest[0]].processors)
    for number in rest[1:]:
        job = m.jobs[number]
        if job.processors > free:
            continue
        if now + job.estimate > shadow:
            if job.processors > spare:
                continue
            spare -= job.processors
        free -= job.processors
        found.append(number)
    return found


def shadow_time(ends: list[tuple[float, int]], free: int, wanted: int) -> tuple[float, int]:
    """(when so many processors are free, how many more are free then)."""
    for when in sorted({when for when, _ in ends}):
        there = free + sum(processors for end, processors in ends if end <= when)
        if there >= wanted:
            return when, there - wanted
    raise AssertionError("it is larger than the machine")


class Profile:
    """Free processors over time: from each moment of ``times`` on as many as ``free`` says."""

    def __init__(self, now: float, free: int, ends: list[tuple[float, int]]):
        self.times, self.free = [now], [free]
        for when, processors in ends:
            self._add(when, float("inf"), processors)

    def _split(self, when: float) -> int:
        at = bisect_left(self.times, when)
        if at == len(self.times) or self.times[at] != when:
            self.times.insert(at, when)
            self.free.insert(at, self.free[at - 1])
        return at

    def _add(self, begin: float, end: float, processors: int) -> None:
        first = self._split(begin)
        last = self._split(end) if end < float("inf") else len(self.times)
        for i in range(first, last):
            self.free[i] += processors

    def reserve(self, job: Job) -> float:
        """Take the earliest place for the job: when it starts."""
        first = 0  # enough is free from here up to where the loop stands
        for i, when in enumerate(self.times):
            if first < i and when >= self.times[first] + job.estimate:
                break
            if self.free[i] < job.processors:
                first = i + 1
        begin = self.times[first]
        self._add(begin, begin + job.estimate, -job.processors)
        return begin


def conservative(m: Machine, now: float) -> list[int]:
    """Everybody has a place in the profile, in order; who has one now, and fits, starts."""
    profile, found, free = Profile(now, m.free, m.ends(now)), [], m.free
    for number in m.waiting:
        if profile.reserve(m.jobs[number]) == now and m.jobs[number].processors <= free:
            free -= m.jobs[number].processors
            found.append(number)
    return found


def read_swf(path: Path, processors: int, faster: float, most: int) -> list[Job]:
    """Jobs of a log in the standard workload format, coming ``faster``; estimates are those of the log, or exact."""
    found: list[Job] = []
    with gzip.open(path, "rt") as lines:
        for line in lines:
            if line.startswith(";") or not line.strip() or len(found) == most:
                continue
            numbers = [float(x) for x in line.split()]
            submitted, runs, used, asked = numbers[1], numbers[3], int(numbers[4]), numbers[8]
            if runs > 0 and 0 < used <= processors:
                found.append(Job(float(round(submitted / faster)), used, runs, asked if asked > 0 else runs))
    return sorted(found, key=lambda job: job.arrives)
