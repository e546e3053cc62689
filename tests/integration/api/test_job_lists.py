"""How the job list finds its jobs."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.statestore.queries.jobs import walk
from controlplane.statestore.queries.paging import Cursor
from tests.integration.api.world import World, job


def test_a_name_is_looked_up_by_the_number_of_each_job_of_a_list(world: World) -> None:
    """The index of names would be read from the name's beginning to its end for every job, where it looks cheap."""
    submitted = world["tenant"].post("jobs", job(name="sync-9"))
    assert submitted.status_code == 201, submitted.content
    term = walk.Condition("j.name LIKE %s", ("sync-9%",))
    owner = walk.one_of("owner_id", [world.users["tenant"].pk])
    with CaptureQueriesContext(connection) as asked:
        statement = walk._along([owner], [term], walk.Walk(Cursor(), False, 50), walk.DEPTH)
        assert statement.numbers() == [submitted.json()["id"]]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE statestore_job")
        # As VACUUM, which no transaction may run, leaves it: entries of an index then cost no look at their rows.
        cursor.execute("UPDATE pg_class SET relallvisible = relpages WHERE oid = 'statestore_job'::regclass")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        cursor.execute(f"EXPLAIN {asked[0]['sql']}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    conditions = [line for line in plan.splitlines() if "Index Cond" in line]
    assert conditions and not any("name" in line for line in conditions), plan
