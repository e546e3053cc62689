"""The audit log's list: what each filter finds, and that it costs no more where the log is long."""

import itertools
import random

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.statestore.models import AuditEntry
from controlplane.statestore.queries.accounts import audit
from controlplane.statestore.queries.paging import Cursor
from tests.integration.api.world import World
from tests.plans import rows_read

ENTRIES = "statestore_auditentry"
ACTIONS = ("job.submit", "job.kill", "policy.publish", "policy.override.add", "policy_x.add", "node.drain")
TARGETS = ("job/1", "job/12", "job/2", "policy/1", r"queue/a_b\c", "queue/axb", "node/100%")
ASKED = ("", "job.", "job.kill", "policy", "policy.", "policy_", "none.")
ABOUT = ("", "job/", "job/1", "queue/a_", "queue/a_b\\", "node/100%", "none/")
LONG = """
INSERT INTO statestore_auditentry (at, actor_id, action, target)
SELECT now(), CASE WHEN i %% 7 > 0 THEN %(often)s WHEN i < 300 THEN %(seldom)s END,
       CASE WHEN i < 200 THEN 'policy.publish' WHEN i %% 50 = 0 THEN 'job.kill' ELSE 'job.submit' END,
       CASE WHEN i < 200 THEN 'policy/' ELSE 'job/' END || i
  FROM generate_series(1, 20000) i
"""
QUERIES = (
    "", "action=policy.", "action=job.kill", "action=none.", "actor=operator", "actor=system", "actor=nobody",
    "target=policy/1", "target=job/2", "target=job/", "target=none/", "action=policy.&actor=operator",
    "action=job.&actor=operator", "action=policy.&target=job/", "action=job.&target=policy/",
    "actor=operator&target=job/", "action=policy.&actor=system&target=policy/19",
)  # fmt: skip


def fill(world: World, n: int) -> None:
    r = random.Random(7)
    AuditEntry.objects.all().delete()
    actors = [world.users["tenant"], world.users["operator"], None]
    AuditEntry.objects.bulk_create(
        AuditEntry(at=timezone.now(), actor=r.choice(actors), action=r.choice(ACTIONS), target=r.choice(TARGETS))
        for _ in range(n)
    )


def expected(action: str, target: str, actor: str) -> list[int]:
    rows = AuditEntry.objects.order_by("-id").values_list("id", "action", "target", "actor__username")
    return [
        pk
        for pk, did, at, who in rows
        if did.startswith(action) and at.startswith(target) and actor in ("", who or "system")
    ]


@pytest.mark.parametrize("depth", [3, 20, audit.DEPTH])
def test_filters_together_find_what_each_of_them_does(
    world: World, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    monkeypatch.setattr(audit, "DEPTH", depth)
    fill(world, 120)
    for action, target, actor in itertools.product(ASKED, ABOUT, ("", "tenant", "system", "nobody")):
        asked = {"action": action, "target": target, "actor": actor}
        whole = expected(**asked)
        found, at = [], Cursor()
        while True:
            page = audit.list_page(at, 9, **asked)
            found += [row["id"] for row in page.results]
            if page.next is None:
                break
            at = page.next
        assert found == whole, asked
        if len(whole) > 12:
            back = audit.list_page(Cursor((whole[12],), back=True), 9, **asked)
            assert [row["id"] for row in back.results] == whole[3:12], asked


def test_a_page_reads_few_entries_of_a_long_log(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "DEPTH", 400)
    with connection.cursor() as cursor:
        cursor.execute(LONG, {"often": world.users["tenant"].pk, "seldom": world.users["operator"].pk})
        cursor.execute("ANALYZE statestore_auditentry")
    world["operator"].get("audit")  # once for what the process remembers
    cost = {query: costs(world, query) for query in QUERIES}
    assert {query: of for query, of in cost.items() if of[0] > 3_500 or of[1] > 7} == {}


def costs(world: World, query: str) -> tuple[int, int]:
    """(entries read, statements) of one page, the token's among them."""
    with CaptureQueriesContext(connection) as asked:
        assert world["operator"].get(f"audit?{query}").status_code == 200
    return sum(rows_read(q["sql"], ENTRIES) for q in asked if ENTRIES in q["sql"]), len(asked)
