"""Which jobs a page of the list shows, at a cost that does not grow with the history.

Postgres takes matches to be spread evenly, so with a LIMIT it likes to walk
the whole history for the few there are. Here the walk is bounded. Owner,
queue, state and kind are each listed by number in an index that holds the
others, too, so that they are met from it alone. What else is asked is looked
up job by job along such a list, for ``DEPTH`` jobs at most: common things are
found so. Where few matches are expected, or few were found, all of them are
fetched by whatever indexes serve best together, and then sorted.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from controlplane.accounts.models import User
from controlplane.accounts.rights import access, covers, is_tenant, sees_everything
from controlplane.statestore.queries.paging import Cursor
from controlplane.statestore.queries.sql import beginning
from wire.states import JobState

FEW = 1_000  # matches that are better fetched at once
MANY = 10  # times as many matches of one term as of another
DEPTH = 3_000  # entries of one ordered index, whose jobs lie anywhere
DEPTH_ALL = 8_000  # jobs in the order of their numbers, which lie beside each other
DEPTH_MOST = 24_000  # of those, where so many are likely to hold a page of matches
MOST_QUEUES = 500  # of a tenant that are looked at one by one

# Every queue below a path that has had jobs, each found by one step into the index.
_QUEUES_BELOW = """
WITH RECURSIVE found(queue) AS (
    (SELECT queue FROM statestore_job WHERE queue >= %(low)s AND queue < %(high)s ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM statestore_job j WHERE j.queue > f.queue AND j.queue < %(high)s
             ORDER BY j.queue LIMIT 1)
      FROM found f WHERE f.queue IS NOT NULL
)
SELECT queue FROM found WHERE queue IS NOT NULL LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a job. ``ordered``: values of ``column``, each of which an index lists by number."""

    sql: str
    values: tuple[Any, ...]
    column: str = ""
    ordered: tuple[Any, ...] = ()


def one_of(column: str, values: Sequence[Any]) -> Condition:
    """A column that has an index with the number behind it is one of these."""
    return Condition(f"j.{column} = ANY(%s::{_KINDS[column]}[])", (list(values),), column, tuple(values))


@dataclass(frozen=True, slots=True)
class Walk:
    """From where, in which direction and how far: ``limit`` numbers. low, high: bounds that all matches keep."""

    at: Cursor
    rising: bool
    limit: int
    low: int | None = None
    high: int | None = None

    @property
    def order(self) -> str:
        return "ASC" if self.rising else "DESC"

    def bounds(self, name: str) -> tuple[str, list[int]]:
        """Conditions on the number ``name``, each with AND before it."""
        found = [(f"{name} {'>' if self.rising else '<'} %s", k) for k in self.at.key]
        found += [(f"{name} >= %s", k) for k in (self.low,) if k is not None]
        found += [(f"{name} <= %s", k) for k in (self.high,) if k is not None]
        return "".join(f" AND {sql}" for sql, _ in found), [k for _, k in found]


@dataclass(slots=True)
class _Statement:
    sql: str
    values: list[Any] = field(default_factory=list)

    def numbers(self) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(self.sql, self.values)
            return [number for (number,) in cursor.fetchall()]


def numbers(
    user: User, terms: list[Condition], walk: Walk, queue: str | None = None, owner: int | None = None
) -> list[int]:
    """Numbers of the first ``walk.limit`` jobs that meet all terms and that ``user`` may see, in the walk's order.

    queue, owner: what the terms ask of these two, for where they are a right already.
    """
    found: set[int] = set()
    for scope in _scopes(user, queue, owner):
        found.update(_search([*scope, *terms], walk))
    return sorted(found, reverse=not walk.rising)[: walk.limit]


def _scopes(user: User, queue: str | None, owner: int | None) -> Iterator[list[Condition]]:
    """Conditions whose union is what the account sees of what it asks for."""
    if sees_everything(user) or (is_tenant(user) and owner == user.pk):
        yield []
        return
    if not is_tenant(user):
        return
    granted = sorted(access(user))
    if queue is not None and any(covers(path, queue) for path in granted):
        yield []
        return
    yield [one_of("owner_id", [user.pk])]
    if below := [path for path in granted if queue is None or covers(queue, path)]:
        yield [in_branches(below)]


def in_branches(paths: Sequence[str]) -> Condition:
    """In one of these queues, or below it. A query for each that is not below another."""
    known = set(paths)
    for path in paths:
        if not any(path != other and covers(other, path) for other in paths):
            # The sign that follows a dot ends what begins with the path and a dot.
            values = {"low": f"{path}.", "high": f"{path}/", "most": MOST_QUEUES + 1}
            with connection.cursor() as cursor:
                cursor.execute(_QUEUES_BELOW, values)
                known.update(path for (path,) in cursor.fetchall())
    queues = sorted(known)
    if len(queues) <= MOST_QUEUES:
        return one_of("queue", queues)
    under = " OR ".join(["j.queue = %s OR j.queue LIKE %s"] * len(paths))
    return Condition(f"({under})", tuple(value for path in paths for value in (path, beginning(f"{path}."))))


_KINDS = {"owner_id": "bigint", "queue": "text", "kind": "text", "state": "smallint"}


def _rarity(term: Condition) -> int:
    """Which ordered list is likely to be the shortest, and holds the other columns: small is short."""
    usual = term.ordered in (("batch",), (int(JobState.SUCCEEDED),)) or len(term.ordered) > 1
    return {"owner_id": 0, "queue": 1, "state": 2, "kind": 2}[term.column] + (2 if usual else 0)


def _search(terms: list[Condition], walk: Walk) -> list[int]:
    ordered = sorted((t for t in terms if t.ordered), key=_rarity)
    rest = [t for t in terms if not t.ordered]
    if not rest:
        return _list(ordered, walk, walk.limit).numbers()
    expected = _expected(terms, walk)
    if expected > FEW or (ordered and _expected(ordered, walk) <= DEPTH):
        depth = DEPTH if ordered else _depth(expected, walk)
        found = _along(ordered, rest, walk, depth).numbers()
        if len(found) == walk.limit or _ends(ordered, walk, depth):
            return found
    return _all(terms, walk).numbers()


def _depth(expected: int, walk: Walk) -> int:
    """How far to walk among all jobs: where so many matches are likely to fill a page within twice that, so far."""
    needed = 2 * walk.limit * _expected([], walk) // max(1, expected)
    return needed if DEPTH_ALL < needed <= DEPTH_MOST else DEPTH_ALL


def _expected(terms: list[Condition], walk: Walk) -> int:
    """How many jobs Postgres expects to match."""
    where, values = _where(terms)
    bounds, limits = walk.bounds("j.id")
    with connection.cursor() as cursor:
        sql = f"EXPLAIN (FORMAT JSON) SELECT j.id FROM statestore_job j WHERE {where}{bounds}"
        cursor.execute(sql, [*values, *limits])
        (found,) = cursor.fetchone()
    [explained] = json.loads(found) if isinstance(found, str) else found
    return int(explained["Plan"]["Plan Rows"])


def _list(ordered: list[Condition], walk: Walk, depth: int) -> _Statement:
    """The first ``depth`` numbers that meet the ordered terms, along the first one's list; from an index alone."""
    bounds, limits = walk.bounds("j.id")
    where, values = _where(ordered[1:])
    tail, last = f" AND {where}{bounds} ORDER BY j.id {walk.order} LIMIT {depth:d}", [*values, *limits]
    if not ordered:
        return _Statement(f"SELECT j.id FROM statestore_job j WHERE true{tail}", last)
    term = ordered[0]
    if len(term.ordered) == 1:
        return _Statement(f"SELECT j.id FROM statestore_job j WHERE j.{term.column} = %s{tail}", [*term.ordered, *last])
    each = f"SELECT j.id FROM statestore_job j WHERE j.{term.column} = v.v{tail}"
    listed = f"unnest(%s::{_KINDS[term.column]}[]) v(v)"
    sql = f"SELECT l.id FROM {listed}, LATERAL ({each}) l ORDER BY l.id {walk.order} LIMIT {depth:d}"
    return _Statement(sql, [list(term.ordered), *last])


def _along(ordered: list[Condition], rest: list[Condition], walk: Walk, depth: int) -> _Statement:
    """Those of the first ``depth`` of a list that meet the rest; the look-ups end with the page."""
    if not ordered:
        where, values = _where(rest)
        bounds, limits = walk.bounds("i.id")
        first = f"SELECT i.* FROM statestore_job i WHERE true{bounds} ORDER BY i.id {walk.order} LIMIT {depth:d}"
        sql = f"SELECT j.id FROM ({first}) j WHERE {where} ORDER BY j.id {walk.order} LIMIT {walk.limit:d}"
        return _Statement(sql, [*limits, *values])
    inner = _list(ordered, walk, depth)
    # By its number alone: the index of names would be read from the beginning to the end of the name for every job. The
    # LIMIT of one keeps the look-up a look-up: it is not turned into a join of everything.
    where, values = _where([_hidden(term) for term in rest])
    look = f"SELECT j.id FROM statestore_job j WHERE j.id = c.id AND {where} LIMIT 1"
    sql = f"SELECT c.id FROM ({inner.sql}) c, LATERAL ({look}) h ORDER BY c.id {walk.order} LIMIT {walk.limit:d}"
    return _Statement(sql, inner.values + values)


def _ends(ordered: list[Condition], walk: Walk, depth: int) -> bool:
    """Whether the list is no longer than that."""
    inner = _list(ordered, walk, depth)
    (length,) = _Statement(f"SELECT count(*) FROM ({inner.sql}) c", inner.values).numbers()
    return length < depth


def _all(terms: list[Condition], walk: Walk) -> _Statement:
    """Every match, by the indexes that find few, and then the first of them."""
    where, values = _where(_served(terms, walk))
    bounds, limits = walk.bounds("j.id")
    sql = f"""WITH found AS MATERIALIZED (SELECT j.id FROM statestore_job j WHERE {where}{bounds})
        SELECT id FROM found ORDER BY id {walk.order} LIMIT {walk.limit:d}"""
    return _Statement(sql, [*values, *limits])


def _served(terms: list[Condition], walk: Walk) -> list[Condition]:
    """The same terms, those that very many meet hidden from the indexes: reading one of its entries costs more."""
    ordered, rest = [t for t in terms if t.ordered], [t for t in terms if not t.ordered]
    if len(terms) < 2:
        return terms
    expected = [_expected([t], walk) for t in rest]
    fewest = min([*expected, *([_expected(ordered, walk)] if ordered else [])])
    kept = [_hidden(t) if n > MANY * (fewest + FEW) else t for t, n in zip(rest, expected, strict=True)]
    return [*ordered, *kept]


def _hidden(term: Condition) -> Condition:
    """The same, for which no index is used."""
    return Condition(f"(({term.sql}) IS TRUE)", term.values)


def _where(terms: list[Condition]) -> tuple[str, list[Any]]:
    return " AND ".join(t.sql for t in terms) or "true", [value for t in terms for value in t.values]
