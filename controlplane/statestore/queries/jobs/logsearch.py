"""Lines that hold a text, in all that a job's containers have written: by task, container, stream and offset.

How much is read for one answer is bounded; it says where to go on. A line that is longer than ``LINE_MAX``, or came in
more pieces than one answer reads, is looked through in parts, and told once for each part that holds the text.
"""

import datetime as dt
import re
import time
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple

from controlplane.statestore.models import Job, LogChunk, TaskGroup
from controlplane.statestore.queries.jobs import logpieces
from controlplane.statestore.queries.jobs.containers import beyond, history_since
from controlplane.statestore.queries.jobs.logpieces import Kept
from controlplane.statestore.queries.jobs.logsources import LogSource
from controlplane.statestore.queries.paging import Cursor, Page
from controlplane.statestore.queries.sql import rows_as_dicts
from wire.ids import format_container

CONTAINERS = 500  # that one answer looks at
READS = 100  # of pieces, likewise
TOGETHER = 64  # streams that are read at once, where they are small
LOOK_BYTES = 8 << 20  # likewise, but for what one read finds more
CPU_S = 0.5  # likewise
STEP_BYTES = 1 << 20
LINE_MAX = 1 << 20  # bytes
OVERLAP = 1 << 10  # bytes of a part that are looked at again with the next: no text looked for is longer
SHOWN = 500  # characters of a line
BEFORE = 100  # of these, before the text, where the line is longer
KEY_PARTS = 5

# Colours and cursor moves of terminals: what people see of a log is without them.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OF = """SELECT id, sub_cluster_id, node_id, group_no, task_index, attempt, allocated_at::date AS day, {live} AS live
    FROM {table} WHERE job_id = %(job)s"""
_LIVE = _OF.format(live="true", table="statestore_container")
_ENDED = _OF.format(live="false", table="statestore_container_history") + " AND finished_at >= %(since)s"
_ORDER = " ORDER BY group_no, task_index, id LIMIT %(limit)s"
_Place = tuple[dict[str, Any], int, int]  # row of a container, stream, offset


class _Block(NamedTuple):
    """Whole lines of a stream, or a part of a line that goes on. begin: bytes before it. came: its last piece."""

    begin: int
    data: bytes
    came: dt.datetime
    goes_on: bool = False

    @property
    def done(self) -> int:
        """Bytes of it that need not be looked at again: up to the beginning of a character."""
        done = len(self.data) - (min(OVERLAP, len(self.data) // 2) if self.goes_on else 0)
        while self.goes_on and done > 1 and self.data[done] & 0b1100_0000 == 0b1000_0000:
            done -= 1
        return done


class Search:
    """One look for ``text``, in whatever case. ``searched``: bytes looked through so far."""

    def __init__(self, job: Job, text: str, streams: Sequence[int], group_no: int | None = None) -> None:
        self._job, self._text, self._streams, self._group_no = job, _folded(text), streams, group_no
        self._lines: list[dict[str, Any]] = []
        self._most = self._reads = self.searched = 0
        self._began_s = 0.0

    def page(self, at: Cursor, size: int) -> Page:
        """Up to ``size`` lines from a cursor on, of ``KEY_PARTS``: group, task, container, stream, offset. At most
        3 + ``READS`` queries, and one for each ``TOGETHER`` streams."""
        self._most, self._began_s = size, time.thread_time()
        rows = _containers(self._job, at, self._group_no)
        places = [place for row in rows for place in _places(row, self._streams, at)]
        written = logpieces.written([(_source(row), stream, offset) for row, stream, offset in places])
        todo = [place for no, place in enumerate(places) if no in written]
        names = dict(TaskGroup.objects.filter(job_id=self._job.pk).values_list("no", "name"))
        for (row, stream, offset), brief in zip(todo, self._brief(todo), strict=True):
            left = self._through(row | {"group": names[row["group_no"]]}, stream, offset, brief)
            if left is not None:
                return Page(self._lines, _cursor(row, stream, left))
        return Page(self._lines, _cursor(rows[-1], max(self._streams) + 1, 0) if len(rows) == CONTAINERS else None)

    def _brief(self, todo: list[_Place]) -> Iterator[list[Kept] | None]:
        """Of each place all its pieces, where it is a whole stream of few bytes. Read as they are asked for."""
        for first in range(0, len(todo), TOGETHER):
            if self._full():
                yield from repeat(None, len(todo) - first)
                return
            some = todo[first : first + TOGETHER]
            found = logpieces.brief([(_source(row), stream) for row, stream, _ in some])
            yield from (None if offset else found.get(no) for no, (*_, offset) in enumerate(some))

    def _through(self, row: dict[str, Any], stream: int, offset: int, brief: list[Kept] | None) -> int | None:
        """Look through a stream from the beginning of a line on; where to go on, ``None`` after all of it. ``brief``:
        all its pieces, where they are known."""
        if self._full():
            return offset
        for block in self._blocks(_source(row), stream, offset, brief):
            offset = block.begin + self._lines_in(block, row | {"stream": stream})
            if self._full():
                return offset
        return offset if self._full() else None

    def _full(self) -> bool:
        spent = len(self._lines) >= self._most or self._reads >= READS or self.searched >= LOOK_BYTES
        return spent or (self.searched > 0 and time.thread_time() - self._began_s > CPU_S)

    def _read(self, source: LogSource, stream: int, offset: int) -> tuple[list[Kept], bool]:
        self._reads += 1
        return logpieces.forward(source, stream, offset, STEP_BYTES)

    def _blocks(self, source: LogSource, stream: int, offset: int, brief: list[Kept] | None) -> Iterator[_Block]:
        begin, rest, more, came = offset, b"", True, dt.datetime.max.replace(tzinfo=dt.UTC)
        first = not self.searched
        while more and not self._full():
            pieces, more = (brief, False) if brief is not None else self._read(source, stream, begin + len(rest))
            for piece in pieces:
                at = begin + len(rest)
                if piece.begin > at:  # what was between is not kept
                    yield _Block(begin, rest, came)
                    begin, rest, at = piece.begin, b"", piece.begin
                new = piece.data[max(0, at - piece.begin) :]
                self.searched += len(new)
                whole = new.rfind(b"\n") + 1
                whole += len(rest) if whole else 0
                rest, came = rest + new, piece.came
                if whole:
                    yield _Block(begin, rest[:whole], came)
                    begin, rest = begin + whole, rest[whole:]
                elif len(rest) >= LINE_MAX:
                    part = _Block(begin, rest, came, goes_on=True)
                    yield part
                    begin, rest = begin + part.done, rest[part.done :]
        if rest and not more:
            yield _Block(begin, rest, came)
        elif rest and first and begin == offset:  # or else it would be begun anew for ever
            yield _Block(begin, rest, came, goes_on=True)

    def _lines_in(self, block: _Block, of: dict[str, Any]) -> int:
        """Take the lines that hold the text, as far as there is room; how many bytes need not be looked at again."""
        if self._text not in _folded(_plain(block.data)):
            return block.done
        done = 0
        for raw in block.data.removesuffix(b"\n").split(b"\n"):
            if len(self._lines) >= self._most:
                return done
            line = _plain(raw)
            at = _folded(line).find(self._text)
            if at >= 0 and not (block.goes_on and at >= len(_plain(raw[: block.done]))):
                self._lines.append(self._line(line, at, of | {"offset": block.begin + done, "at": block.came}))
            done += len(raw) + 1
        return block.done

    def _line(self, line: str, found_at: int, of: dict[str, Any]) -> dict[str, Any]:
        first = max(0, found_at - BEFORE) if len(line) > SHOWN else 0
        return {
            "group": of["group"],
            "index": of["task_index"],
            "attempt": of["attempt"],
            "container": format_container(of["id"]),
            "stream": str(LogChunk.Stream(of["stream"]).label),
            "offset": of["offset"],
            "at": of["at"],
            "text": line[first : first + SHOWN],
            "cut": len(line) > SHOWN,
        }


def _plain(data: bytes) -> str:
    """As people see it."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\r")
    return _ESCAPES.sub("", text) if "\x1b" in text else text


def _folded(text: str) -> str:
    """In one case, character by character: of all that have two cases, the one left out becomes two in the lower."""
    return text.replace("\u0130", "I").lower()


def _containers(job: Job, at: Cursor, group_no: int | None) -> list[dict[str, Any]]:
    """The next of the job's containers, the one at the cursor included. One query."""
    where = "" if group_no is None else " AND group_no = %(group)s"
    parts = beyond(">", ">=") if at.key else ["true"]
    each = [f"({rows}{where} AND {part}{_ORDER})" for rows in (_LIVE, _ENDED) for part in parts]
    values = {"job": job.pk, "since": history_since(job), "limit": CONTAINERS, "group": group_no}
    values |= dict(zip(("k0", "k1", "k2"), at.key, strict=False))
    return rows_as_dicts(f"{' UNION ALL '.join(each)}{_ORDER}", values)


def _places(row: dict[str, Any], streams: Sequence[int], at: Cursor) -> list[_Place]:
    """(row, stream, offset) of what is to be looked at of a container."""
    if row["id"] not in at.key[2:3]:
        return [(row, stream, 0) for stream in streams]
    begun, offset = at.key[3:]
    return [(row, stream, offset if stream == begun else 0) for stream in streams if stream >= begun]


def _source(row: dict[str, Any]) -> LogSource:
    return LogSource(row["id"], row["sub_cluster_id"], row["node_id"], row["day"], row["live"])


def _cursor(row: dict[str, Any], stream: int, offset: int) -> Cursor:
    return Cursor((row["group_no"], row["task_index"], row["id"], stream, offset))
