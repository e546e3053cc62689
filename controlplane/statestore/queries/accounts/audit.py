"""The audit log as operators see it, at a cost that does not grow with it.

Every entry of one action, or of one account and action, is listed from the
newest on in an index; there are some dozens of actions, so that those of a
beginning are walked side by side. What a target begins with is looked for along
such lists, for ``DEPTH`` entries at most; what is rarer than that is fetched by
the index that finds the fewest, and sorted. The lists are ordered by the
negative number: Postgres takes matches to be spread evenly, and would walk the
log by its numbers if it could.
"""

from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from controlplane.accounts.models import User
from controlplane.statestore.models import AuditEntry
from controlplane.statestore.queries.paging import Cursor, Page, by_number, page
from controlplane.statestore.queries.sql import beginning

DEPTH = 2_000  # entries of a list that are looked at one by one
ACTIONS_MAX = 500
SYSTEM = "system"  # what the log calls itself where no account acted
_FIELDS = ("id", "at", "actor__username", "action", "target", "before", "after", "address")
_ACTOR = "coalesce(e.actor_id, 0)"  # as the index has it

# Every action there is that begins so, each found by one step into the index.
_ACTIONS = """
WITH RECURSIVE found(action) AS (
    (SELECT e.action FROM statestore_auditentry e WHERE e.action LIKE %(like)s{of}
      ORDER BY e.action USING ~<~ LIMIT 1)
    UNION ALL
    SELECT (SELECT e.action FROM statestore_auditentry e
             WHERE e.action ~>~ f.action AND e.action LIKE %(like)s{of} ORDER BY e.action USING ~<~ LIMIT 1)
      FROM found f WHERE f.action IS NOT NULL
)
SELECT action FROM found WHERE action IS NOT NULL LIMIT %(most)s
"""


def list_page(at: Cursor, size: int, action: str = "", target: str = "", actor: str = "") -> Page:
    """One page, newest first. At most five queries.

    ``action``, ``target``: those that begin so. ``actor``: of this account; ``system``: of none.
    """
    found = AuditEntry.objects.values(*_FIELDS)
    if action or target or actor:
        whose = _number(actor) if actor else None
        if actor and whose is None:
            return Page([])
        numbers = _Search(at, size + 1, action, target, whose).numbers()
        rows = sorted(found.filter(pk__in=numbers), key=lambda row: row["id"], reverse=not at.back)
    else:
        rows = by_number(found, at, size, newest_first=True)
    for row in rows:
        row["actor"] = row.pop("actor__username")
    return page(rows, [(row["id"],) for row in rows], size, at)


def _number(actor: str) -> int | None:
    if actor == SYSTEM:
        return 0
    return User.objects.filter(username=actor).values_list("pk", flat=True).first()


@dataclass(slots=True)
class _Search:
    """What is asked, and from where. actor: the account's number, 0 for none at all, None for everybody's."""

    at: Cursor
    limit: int
    action: str
    target: str
    actor: int | None
    values: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.values = {"like": beginning(self.action), "target": beginning(self.target), "actor": self.actor}
        self.values |= {"key": self.at.key[0] if self.at.key else None, "most": ACTIONS_MAX, "limit": self.limit}

    @property
    def _order(self) -> str:
        return "DESC" if self.at.back else "ASC"

    @property
    def _of(self) -> str:
        return "" if self.actor is None else f" AND {_ACTOR} = %(actor)s"

    @property
    def _bounds(self) -> str:
        return f" AND -e.id {'<' if self.at.back else '>'} -%(key)s::bigint" if self.at.key else ""

    def numbers(self) -> list[int]:
        """Of the first ``limit`` entries that match."""
        if self.action or self.actor is not None:
            self.values["actions"] = [action for (action,) in self._read(_ACTIONS.format(of=self._of))]
        if not self.target:
            return [number for (number,) in self._read(f"SELECT c.id FROM ({self._listed('%(limit)s')}) c")]
        [(looked_at, found)] = self._read(self._along())
        if looked_at == DEPTH and len(found) < self.limit:
            found = [number for (number,) in self._read(self._all())]
        return list(found)

    def _listed(self, depth: str) -> str:
        """The first so many of those that match but for the target."""
        if "actions" not in self.values:
            order, bounds = "ASC" if self.at.back else "DESC", ""
            if self.at.key:
                bounds = f" WHERE e.id {'>' if self.at.back else '<'} %(key)s"
            return f"SELECT e.id, e.target FROM statestore_auditentry e{bounds} ORDER BY e.id {order} LIMIT {depth}"
        tail = f"{self._of}{self._bounds} ORDER BY -e.id {self._order} LIMIT {depth}"
        each = f"SELECT e.id, e.target FROM statestore_auditentry e WHERE e.action = v.v{tail}"
        listed = f"unnest(%(actions)s::text[]) v(v), LATERAL ({each}) l"
        return f"SELECT l.id, l.target FROM {listed} ORDER BY -l.id {self._order} LIMIT {depth}"

    def _along(self) -> str:
        """How many there are up to ``DEPTH``, and the first of them whose target fits."""
        fits = f"SELECT c.id FROM c WHERE c.target LIKE %(target)s ORDER BY -c.id {self._order} LIMIT %(limit)s"
        return f"WITH c AS MATERIALIZED ({self._listed(str(DEPTH))}) SELECT (SELECT count(*) FROM c), ARRAY({fits})"

    def _all(self) -> str:
        """Every match, and then the first of them."""
        actions = " AND e.action = ANY(%(actions)s)" if "actions" in self.values else ""
        where = f"e.target LIKE %(target)s{actions}{self._of}{self._bounds}"
        found = f"SELECT e.id FROM statestore_auditentry e WHERE {where}"
        return f"WITH c AS MATERIALIZED ({found}) SELECT c.id FROM c ORDER BY -c.id {self._order} LIMIT %(limit)s"

    def _read(self, sql: str) -> list[Any]:
        with connection.cursor() as cursor:
            cursor.execute(sql, self.values)
            return cursor.fetchall()
