"""One world for many tests: it is built in a transaction of its own, and each test undoes what it did to it.

To build it takes a hundred queries, which is more than most tests ask themselves.
"""

import copy

import pytest
from django.db import connection, transaction

from tests.integration.api.world import Api, NodeApi, World, build_world


class Kept:
    """The world of the tests of one module, in a transaction that is never committed."""

    def __init__(self) -> None:
        self._world: World | None = None
        self._atomic: transaction.Atomic | None = None

    def meet(self, test: pytest.Item) -> None:
        """Before a test has the database: what it finds there is the world that it wants, or nothing."""
        wanted = "world" in test.fixturenames and not _commits(test)
        if not wanted:
            self.end()
        elif self._world is None:
            self._atomic = transaction.atomic()
            self._atomic.__enter__()
            self._world = build_world()

    def world(self) -> World | None:
        """For one test: whatever it does to the objects, the next has them as they were."""
        if self._world is None:
            return None
        known = self._world
        users, west, east = copy.deepcopy((known.users, known.west, known.east))
        apis = {name: Api(api.token) for name, api in known.apis.items()}
        return World(west, east, users, apis, [NodeApi(node.session) for node in known.nodes])

    def end(self) -> None:
        if self._atomic is not None:
            if not connection.closed_in_transaction:
                connection.set_rollback(True)
            self._atomic.__exit__(None, None, None)
        self._world, self._atomic = None, None


def _commits(test: pytest.Item) -> bool:
    """As pytest-django decides it."""
    marker = test.get_closest_marker("django_db")
    return bool(marker and marker.kwargs.get("transaction")) or "transactional_db" in test.fixturenames
