"""``python -m controlplane.embedded.attach PID``: the foreground of a stack. Standard library only.

Shows what goes wrong, passes Ctrl-C on, and ends with the stack.
"""

import os
import signal
import sys
import threading
import time
from typing import Any

from . import spawn
from .home import Home, HomeError, read_json

LOOK_EVERY_S = 1.0


def main() -> int:
    guard = int(sys.argv[1])
    stopping = threading.Event()

    def stop(*_: object) -> None:
        if not stopping.is_set():
            stopping.set()
            say("stopping")
            spawn.send([guard], signal.SIGTERM)

    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, stop)
    threading.Thread(target=report, args=(stopping,), daemon=True).start()
    _, status = os.waitpid(guard, 0)
    message = state().get("message")
    if message:
        say(str(message))
    return os.waitstatus_to_exitcode(status) and 1


def state() -> dict[str, Any]:
    try:
        return read_json(Home.from_environment().state)
    except HomeError:
        return {}


def report(stopping: threading.Event) -> None:
    """Say once per crash which process ended and how."""
    seen: dict[str, int] = {p["name"]: p["restarts"] for p in state().get("processes", [])}
    while not stopping.wait(LOOK_EVERY_S):
        for process in state().get("processes", []):
            name, restarts = process["name"], process["restarts"]
            if restarts > seen.get(name, 0):
                say(f"{name} ended ({process['last_exit']}), started again; its log: {process['log']}")
            seen[name] = restarts


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
