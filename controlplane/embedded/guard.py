"""``python -m controlplane.embedded.guard``: the pair of processes at the root of a stack. Standard library only.

The guard adopts orphans and has one child, the supervisor, which starts
everything else. Whichever of the two is killed, the other ends what is left:
the supervisor is told by its parent-death signal, and what the supervisor
leaves behind becomes the guard's.
"""

import argparse
import fcntl
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import TextIO

from . import plan, spawn, stores
from .home import Home, HomeError, http_host, http_port, read_json, write_json
from .supervisor import Supervisor, say

FREE_MIB_FRESH = 256  # a new database with its write-ahead log
FREE_MIB_AGAIN = 64
POSTGRES_PATIENCE_S = 5.0  # for its fast shutdown, which its parent's death has asked for


def main() -> int:
    options = parse()
    home = Home.from_environment()
    answer = os.fdopen(options.answer, "w") if options.answer >= 0 else None
    try:
        home.create()
        lock = take_lock(home)
        check_space(home)
        for held in home.held.iterdir():
            held.unlink()
        shape = plan.StackShape(tuple(options.sub_clusters.split(",")), options.nodes, options.only_stores)
        plan.check_ports(home, shape, dict(os.environ), http_host(), http_port())
        programs = plan.programs(home, shape, dict(os.environ))
        if home.uses_own_postgres(os.environ):
            stores.initialise_postgres(home, home.secrets()["postgres"])
    except (HomeError, OSError) as problem:
        tell(answer, problem)
        return 1
    facts: dict[str, object] = {
        "started_at": time.time(),
        "http_host": http_host(),
        "http_port": http_port(),
        "url": os.environ.get("HYDRA_PUBLIC_URL", ""),
        "sub_clusters": list(shape.sub_clusters),
    }
    return guard(home, lambda: Supervisor(home, programs, facts).run(), lock)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sub-clusters", default="east,west")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--only-stores", action="store_true")
    parser.add_argument(
        "--answer", type=int, default=-1, help="file descriptor that takes the reason of a failed start"
    )
    return parser.parse_args()


def tell(answer: TextIO | None, problem: Exception) -> None:
    say(str(problem))
    if answer:
        answer.write(str(problem))
        answer.flush()


def take_lock(home: Home) -> TextIO:
    """Held by guard and supervisor for as long as either lives."""
    lock = open(home.lock, "a+")  # noqa: SIM115 - held until exit
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise HomeError(f"a stack is already running in {home.root} (process {home.running()})") from None
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def check_space(home: Home) -> None:
    free_mib = shutil.disk_usage(home.root).free // 2**20
    need_mib = FREE_MIB_AGAIN if (home.root / "pg" / "PG_VERSION").exists() else FREE_MIB_FRESH
    if free_mib < need_mib:
        raise HomeError(
            f"the disk of {home.root} has {free_mib} MiB free and {need_mib} are needed: make room, or set HYDRA_HOME"
        )


def guard(home: Home, supervise: Callable[[], int], lock: TextIO) -> int:
    spawn.adopt_orphans()
    me = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    child = os.fork()
    if child == 0:
        spawn.die_with_parent(me, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
        os._exit(supervised(supervise))
    for sig in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sig, lambda *_: spawn.send([child], signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    code = wait_for(child)
    spawn.kill_tree(me, stores.postmaster(home), POSTGRES_PATIENCE_S)
    if code < 0:
        note_death(home, code)
    lock.close()
    return 1 if code else 0


def supervised(supervise: Callable[[], int]) -> int:
    try:
        return supervise()
    except Exception as problem:
        traceback.print_exc()
        say(f"the supervisor failed: {problem}")
        return 1


def wait_for(child: int) -> int:
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def note_death(home: Home, code: int) -> None:
    text = f"the supervisor was killed by {signal.Signals(-code).name}; everything it ran has been ended"
    say(text)
    try:
        write_json(home.state, read_json(home.state) | {"phase": "failed", "message": text, "processes": []})
    except HomeError as problem:
        say(str(problem))


if __name__ == "__main__":
    sys.exit(main())
