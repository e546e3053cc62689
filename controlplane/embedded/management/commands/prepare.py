"""``manage.py prepare``: bring the StateStore to this version and fill in what a new cluster starts with."""

import os
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from psycopg import sql

from controlplane.embedded import bootstrap, stores
from controlplane.embedded.home import Home
from controlplane.statestore import membership, partitions
from controlplane.statestore.actions import joining
from controlplane.statestore.errors import Invalid


class Command(BaseCommand):
    help = "Migrate when needed, make partitions, and create the default queues, sub-clusters and accounts."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--sub-clusters", default="east,west", help="names, separated by commas")

    def handle(self, *args: Any, **options: Any) -> None:
        home = Home.from_environment()
        names = sub_clusters(options["sub_clusters"])
        own = bool(home.secrets()) and home.uses_own_postgres(os.environ)
        if own:
            create_database()
        migrate()
        partitions.ensure()
        try:
            for line in bootstrap.run(names, home.secrets()):
                self.stdout.write(f"made {line}")
        except Invalid as error:
            where = "a password of secrets.json" if home.secrets() else "HYDRA_OPERATOR_PASSWORD"
            said = "\n".join(f"{where}: {e.message}; {e.remedy}" for e in error.errors)
            raise CommandError(said or error.detail) from None
        if own:
            stores.prepared_path(home).write_text(stores.preparation(names))


def sub_clusters(text: str) -> list[str]:
    """Names as people write them in a list."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    try:
        for name in names:
            joining.check_name(name)
    except Invalid as error:
        raise CommandError("\n".join(f"--sub-clusters: {e.message}; {e.remedy}" for e in error.errors)) from None
    return names


def create_database() -> None:
    """A new embedded Postgres holds no database of ours yet."""
    wanted = settings.DATABASES["default"]["NAME"]
    try:
        psycopg.connect(membership.conninfo("prepare")).close()
    except psycopg.OperationalError as error:
        if "does not exist" not in str(error):
            raise
        with psycopg.connect(membership.conninfo("prepare"), dbname="postgres", autocommit=True) as server:
            server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(wanted)))


def migrate() -> None:
    """Ask first: finding nothing to do is much faster than running the command."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", interactive=False, verbosity=1)
