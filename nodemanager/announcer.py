"""Tells the control plane where containers serve and how they are: on a thread, until it has been heard."""

import threading
from dataclasses import asdict

from nodemanager.http import Http, HttpError
from nodemanager.log import note
from wire import nodeapi
from wire.nodeapi import Serving

BACKOFF_S = (0.2, 0.5, 1.0, 2.0, 5.0, 15.0)


class Announcer:
    """Level-triggered: what is ``desired`` of a container is said until acknowledged, and again when it changes.

    ``announce`` and ``withdraw`` may be called from the loop; they never block. An
    idle announcer costs nothing.
    """

    def __init__(self, http: Http) -> None:
        self.http = http
        self.condition = threading.Condition()
        self.desired: dict[str, Serving] = {}
        self.acknowledged: dict[str, Serving] = {}
        self.stopping = False
        self.thread = threading.Thread(target=self._run, name="endpoints", daemon=True)

    def announce(self, container: str, serving: Serving) -> None:
        """From now on the control plane is to know this of the container; it replaces what was said before."""
        with self.condition:
            self.desired[container] = serving
            if not self.thread.is_alive() and not self.stopping:
                self.thread.start()  # most nodes never need it
            self.condition.notify()

    def withdraw(self, container: str) -> None:
        """The container has ended; the control plane knows by its status."""
        with self.condition:
            self.desired.pop(container, None)
            self.acknowledged.pop(container, None)

    def close(self) -> None:
        """Say nothing more: the next agent announces again what still runs."""
        with self.condition:
            self.stopping = True
            self.condition.notify()

    # --- the thread

    def _pending(self) -> list[tuple[str, Serving]]:
        return [(name, serving) for name, serving in self.desired.items() if self.acknowledged.get(name) != serving]

    def _run(self) -> None:
        failures = 0
        while True:
            with self.condition:
                self.condition.wait_for(lambda: self.stopping or self._pending())
                if failures:
                    self.condition.wait_for(lambda: self.stopping, BACKOFF_S[min(failures, len(BACKOFF_S)) - 1])
                if self.stopping:
                    return
                news = self._pending()
            done = sum(self._post(name, serving) for name, serving in news)
            failures = 0 if done == len(news) else failures + 1

    def _post(self, container: str, serving: Serving) -> bool:
        """Whether it is done with: taken, or refused for good."""
        try:
            self.http.request("POST", f"{nodeapi.PREFIX}/containers/{container}/endpoints", asdict(serving))
        except HttpError as error:
            if error.retry or error.status in (401, 403):
                return False
            note("warning", "endpoints were refused", container=container, why=str(error))
        with self.condition:
            if container in self.desired:
                self.acknowledged[container] = serving
        return True
