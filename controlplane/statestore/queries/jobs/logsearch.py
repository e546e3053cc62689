"""Lines that hold a text, in all that a job's containers have written: by task, container, stream and offset.

How much is read for one answer is bounded; it says where to go on. A line without an end, or one longer than
``LINE_MAX``, is looked through in parts of that size.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any

from controlplane.statestore.models import Job, LogChunk, TaskGroup
from controlplane.statestore.queries.jobs import logpieces
from controlplane.statestore.queries.jobs.containers import beyond, history_since
from controlplane.statestore.queries.jobs.logsources import LogSource
from controlplane.statestore.queries.paging import Cursor, Page
from controlplane.statestore.queries.sql import rows_as_dicts
from wire.ids import format_container

CONTAINERS = 500  # that one answer looks at
READS = 100  # of pieces, likewise
LOOK_BYTES = 8 << 20  # likewise, but for what one read finds more
STEP_BYTES = 1 << 20
LINE_MAX = 1 << 20  # bytes
SHOWN = 500  # characters of a line
BEFORE = 100  # of these, before the text, where the line is longer
KEY_PARTS = 5

_OF = """SELECT id, sub_cluster_id, node_id, group_no, task_index, attempt, allocated_at::date AS day, {live} AS live
    FROM {table} WHERE job_id = %(job)s"""
_LIVE = _OF.format(live="true", table="statestore_container")
_ENDED = _OF.format(live="false", table="statestore_container_history") + " AND finished_at >= %(since)s"
_ORDER = " ORDER BY group_no, task_index, id LIMIT %(limit)s"


class Search:
    """One look for ``text``, in whatever case. ``searched``: bytes looked through so far."""

    def __init__(self, job: Job, text: str, streams: Sequence[int], group_no: int | None = None) -> None:
        self._job, self._text, self._streams, self._group_no = job, text.casefold(), streams, group_no
        self._lines: list[dict[str, Any]] = []
        self._most = self._reads = self.searched = 0

    def page(self, at: Cursor, size: int) -> Page:
        """Up to ``size`` lines from a cursor on, of ``KEY_PARTS``: group, task, container, stream, offset. At most
        3 + ``READS`` queries."""
        self._most = size
        rows = _containers(self._job, at, self._group_no)
        places = [place for row in rows for place in _places(row, self._streams, at)]
        written = logpieces.written([(_source(row), stream, offset) for row, stream, offset in places])
        names = dict(TaskGroup.objects.filter(job_id=self._job.pk).values_list("no", "name"))
        for no, (row, stream, offset) in enumerate(places):
            left = self._through(row | {"group": names[row["group_no"]]}, stream, offset) if no in written else None
            if left is not None:
                return Page(self._lines, _cursor(row, stream, left))
        return Page(self._lines, _cursor(rows[-1], max(self._streams) + 1, 0) if len(rows) == CONTAINERS else None)

    def _through(self, row: dict[str, Any], stream: int, offset: int) -> int | None:
        """Look through a stream from the beginning of a line on; where to go on, ``None`` after all of it."""
        if self._full():
            return offset
        for begin, block, came in self._blocks(_source(row), stream, offset):
            offset = begin + self._lines_in(block, row | {"stream": stream, "begin": begin, "at": came})
            if self._full():
                return offset
        return offset if self._full() else None

    def _full(self) -> bool:
        return len(self._lines) >= self._most or self._reads >= READS or self.searched >= LOOK_BYTES

    def _blocks(self, source: LogSource, stream: int, offset: int) -> Iterator[tuple[int, bytes, dt.datetime | None]]:
        """(bytes before it, whole lines, when their last piece came); the last block may be without its end."""
        begin, rest, more, came = offset, b"", True, None
        first = not self._reads
        while more and not self._full():
            pieces, more = logpieces.forward(source, stream, begin + len(rest), STEP_BYTES)
            self._reads += 1
            for piece in pieces:
                at = begin + len(rest)
                new = piece.data[max(0, at - piece.begin) :]
                if new and piece.begin > at:  # what was between is not kept
                    yield begin, rest, came
                    begin, rest = piece.begin, b""
                self.searched += len(new)
                rest, came = rest + new, piece.came
                whole = rest.rfind(b"\n") + 1 or (len(rest) if len(rest) >= LINE_MAX else 0)
                if whole:
                    yield begin, rest[:whole], came
                    begin, rest = begin + whole, rest[whole:]
        if rest and (not more or (first and begin == offset)):  # or else it would be begun anew for ever
            yield begin, rest, came

    def _lines_in(self, block: bytes, of: dict[str, Any]) -> int:
        """Take the lines of a block that hold the text, as far as there is room; how many bytes were looked at."""
        if self._text not in block.decode("utf-8", "replace").casefold():
            return len(block)
        done = 0
        for raw in block.splitlines(keepends=True):
            if len(self._lines) >= self._most:
                return done
            line = raw.rstrip(b"\r\n").decode("utf-8", "replace")
            if self._text in line.casefold():
                self._lines.append(self._line(line, of, of["begin"] + done))
            done += len(raw)
        return done

    def _line(self, line: str, of: dict[str, Any], offset: int) -> dict[str, Any]:
        first = max(0, line.casefold().find(self._text) - BEFORE) if len(line) > SHOWN else 0
        return {
            "group": of["group"],
            "index": of["task_index"],
            "attempt": of["attempt"],
            "container": format_container(of["id"]),
            "stream": str(LogChunk.Stream(of["stream"]).label),
            "offset": offset,
            "at": of["at"],
            "text": line[first : first + SHOWN],
            "cut": len(line) > SHOWN,
        }


def _containers(job: Job, at: Cursor, group_no: int | None) -> list[dict[str, Any]]:
    """The next of the job's containers, the one at the cursor included. One query."""
    where = "" if group_no is None else " AND group_no = %(group)s"
    parts = beyond(">", ">=") if at.key else ["true"]
    each = [f"({rows}{where} AND {part}{_ORDER})" for rows in (_LIVE, _ENDED) for part in parts]
    values = {"job": job.pk, "since": history_since(job), "limit": CONTAINERS, "group": group_no}
    values |= dict(zip(("k0", "k1", "k2"), at.key, strict=False))
    return rows_as_dicts(f"{' UNION ALL '.join(each)}{_ORDER}", values)


def _places(row: dict[str, Any], streams: Sequence[int], at: Cursor) -> list[tuple[dict[str, Any], int, int]]:
    """(row, stream, offset) of what is to be looked at of a container."""
    if row["id"] not in at.key[2:3]:
        return [(row, stream, 0) for stream in streams]
    begun, offset = at.key[3:]
    return [(row, stream, offset if stream == begun else 0) for stream in streams if stream >= begun]


def _source(row: dict[str, Any]) -> LogSource:
    return LogSource(row["id"], row["sub_cluster_id"], row["node_id"], row["day"], row["live"])


def _cursor(row: dict[str, Any], stream: int, offset: int) -> Cursor:
    return Cursor((row["group_no"], row["task_index"], row["id"], stream, offset))
