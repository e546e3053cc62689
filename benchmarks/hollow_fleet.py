"""Players of hollow nodes for many sub-clusters, a few processes for all of them."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import psycopg

from benchmarks.stack import REPO, BenchStack
from wire.states import NodeState

READY_S = 900.0
_NAMES = "SELECT name FROM statestore_subcluster ORDER BY id"
_UP = f"SELECT count(*) FROM statestore_node WHERE state = {NodeState.UP}"


@contextmanager
def hollow_fleet(running: BenchStack, nodes: int, players: int, words: list[str]) -> Iterator[list[psutil.Process]]:
    """``players`` processes that share the sub-clusters among them, each with so many nodes."""
    with psycopg.connect(running.database_url()) as db:
        names = [name for (name,) in db.execute(_NAMES).fetchall()]
    command = [sys.executable, str(REPO / "manage.py"), "hollow", "--nodes", str(nodes), *words]
    found = []
    try:
        for part in (names[i::players] for i in range(min(players, len(names)))):
            started = [*command, "--sub-cluster", ",".join(part)]
            found.append(subprocess.Popen(started, env=running.environ, stdout=subprocess.DEVNULL))
        yield [psutil.Process(each.pid) for each in found]
    finally:
        for each in found:
            each.terminate()
        for each in found:
            each.wait(60)


def wait_until_up(running: BenchStack, nodes: int) -> None:
    """Until so many nodes are up."""
    until, up = time.monotonic() + READY_S, 0
    with psycopg.connect(running.database_url(), autocommit=True) as db:
        while time.monotonic() < until:
            (up,) = db.execute(_UP).fetchone() or (0,)
            if up >= nodes:
                return
            time.sleep(1.0)
    raise SystemExit(f"{up} of {nodes} nodes were up after {READY_S:.0f} s")
