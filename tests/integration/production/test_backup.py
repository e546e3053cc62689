"""The guide's backup holds for what is in the database: partitions, functions and all are restored whole."""

import subprocess
import uuid
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from controlplane.embedded import binaries
from controlplane.statestore import membership, partitions
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM

HOLDS = """
SELECT (SELECT array_agg(relname::text ORDER BY relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace),
       (SELECT array_agg(proname::text ORDER BY proname) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
       (SELECT array_agg(name::text) FROM statestore_subcluster)
"""


def run(program: str, *words: str) -> None:
    subprocess.run([binaries.postgres(program), *words], check=True, capture_output=True, text=True)


@pytest.mark.django_db(transaction=True)
def test_a_dump_is_restored_whole_in_one_transaction(tmp_path: Path) -> None:
    subclusters.create(SYSTEM, "east")
    partitions.ensure()
    here, name, dump = membership.conninfo("backup"), f"restored_{uuid.uuid4().hex[:8]}", str(tmp_path / "hydra.dump")
    there = make_conninfo(here, dbname=name)
    run("pg_dump", "-d", here, "-Fc", "-f", dump)
    with psycopg.connect(here, autocommit=True) as session:
        session.execute(f"CREATE DATABASE {name}")
        try:
            run("pg_restore", "-d", there, "--single-transaction", dump)
            with psycopg.connect(there) as restored:
                assert restored.execute(HOLDS).fetchone() == session.execute(HOLDS).fetchone()
        finally:
            session.execute(f"DROP DATABASE {name} WITH (FORCE)")
