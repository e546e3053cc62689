"""Commands that people run in this node's containers: the agent asks web for whom, and starts a relay for each."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from nodemanager.http import Http, HttpError
from nodemanager.log import note
from wire import nodeapi

SOURCE = Path(__file__).resolve().parent.parent
MOST = 16  # relays at once
REAP_S = 10.0  # how often those that have ended are looked for
RELAY = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from nodemanager.execrelay import main; main()"


class Execs:
    """``look`` may be called from the loop; it never blocks. ``authorization``: this node's header, as it is now.

    Whoever waits for this node is told again and again that it has been called, so a look that fails is no loss.
    """

    def __init__(self, http: Http, ca_file: str, entrance: str, authorization: Callable[[], str]) -> None:
        self.http, self.ca_file, self.entrance, self.authorization = http, ca_file, entrance, authorization
        self.relays: dict[int, subprocess.Popen[bytes]] = {}
        self.condition = threading.Condition()
        self.called = self.stopping = False
        self.thread = threading.Thread(target=self._run, name="execs", daemon=True)

    def look(self) -> None:
        """Somebody may wait for this node."""
        with self.condition:
            self.called = True
            if not self.thread.is_alive() and not self.stopping:
                self.thread.start()  # most nodes never need it
            self.condition.notify()

    def close(self) -> None:
        """Begin nothing more; relays end when the pipes to them do, and say why."""
        with self.condition:
            self.stopping = True
            self.condition.notify()

    # --- the thread

    def _run(self) -> None:
        while True:
            with self.condition:
                self.condition.wait_for(lambda: self.stopping or self.called, REAP_S if self.relays else None)
                called, self.called = self.called, False
                if self.stopping:
                    return
            self._reap()
            try:
                self._begin(self._waiting() if called else [])
            except (HttpError, OSError) as error:
                note("warning", "no command could be begun in a container", why=str(error))

    def _waiting(self) -> list[int]:
        answer = self.http.request("GET", f"{nodeapi.PREFIX}/execs")
        found = answer.get("execs") if isinstance(answer, dict) else None
        return [number for number in found or [] if type(number) is int]

    def _begin(self, numbers: list[int]) -> None:
        for number in numbers:
            if number not in self.relays and len(self.relays) < MOST:
                self.relays[number] = self._relay(number)

    def _relay(self, number: int) -> "subprocess.Popen[bytes]":
        """A session of its own, so that no signal to the agent's group reaches it. Raises OSError."""
        scheme, port = ("wss", 443) if self.http.tls else ("ws", 80)
        host = f"[{self.http.host}]" if ":" in self.http.host else self.http.host
        where = {
            "url": f"{scheme}://{host}:{self.http.port or port}{self.http.prefix}{nodeapi.PREFIX}/execs/{number}",
            "authorization": self.authorization(),
            "ca_file": self.ca_file,
            "entrance": self.entrance,
        }
        relay = subprocess.Popen(
            [sys.executable, "-I", "-c", RELAY],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        assert relay.stdin is not None
        relay.stdin.write(json.dumps(where).encode() + b"\n")
        relay.stdin.flush()
        return relay

    def _reap(self) -> None:
        for number, relay in list(self.relays.items()):
            if relay.poll() is not None:
                assert relay.stdin is not None
                relay.stdin.close()
                del self.relays[number]
