"""What-if simulations: questions and answers; a part of ``Client``. For operators."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from client import answers
from client.errors import client_error
from client.transport import Transport
from contract.simulations import Simulation, SimulationDetail, SimulationTrace

_PATH = "/api/v1/simulations"
_TRACES = f"{_PATH}/traces"
_POLL_S = 0.5
_READ_S = 600.0  # nothing comes before all of a history has been read


class SimulationCalls:
    _transport: Transport

    def request_simulation(
        self,
        *,
        document: dict[str, Any] | None = None,
        version: int | None = None,
        window: str | None = None,
        begin: datetime | None = None,
        end: datetime | None = None,
        trace: int | None = None,
        nodes: str | None = None,
        queues: Mapping[str, str] | None = None,
        seeds: int = 3,
    ) -> SimulationDetail:
        """What would this policy have done to the last ``window`` (hour, day, week), or from ``begin`` to ``end``?

        Or to a ``trace`` that was handed in, on ``nodes`` of the ``fleet`` or of the ``trace``.

        ``queues``: where jobs go of a queue that a policy does not have, old -> leaf of this policy.

        Times with their zone. The answer is there when ``wait_simulation`` returns.
        """
        times = {name: None if at is None else at.isoformat() for name, at in (("from", begin), ("to", end))}
        body = {"window": window, "document": document, "version": version, "seeds": seeds} | times
        if trace is not None:  # older servers know of none
            body |= {"trace": trace, "nodes": nodes}
        if queues:
            body |= {"queues": dict(queues)}
        return answers.read(SimulationDetail, self._transport.request("POST", _PATH, json=body).json())

    def request_drain_simulation(
        self,
        sub_cluster: str,
        *,
        horizon_s: int | None = None,
        forecast: bool = True,
        deadline_s: int | None = None,
        seeds: int = 3,
    ) -> SimulationDetail:
        """What would wait if this sub-cluster were drained now? ``horizon_s`` ahead: a week at most.

        It is an hour by default, after the deadline if there is one.

        ``forecast``: jobs are taken to come as in the last hour. ``deadline_s``: after it what still runs there is
        stopped; never, if left out. The answer is there when ``wait_simulation`` returns.
        """
        body = {"drain": sub_cluster, "horizon_s": horizon_s, "forecast": forecast, "seeds": seeds}
        if deadline_s is not None:
            body |= {"deadline_s": deadline_s}
        return answers.read(SimulationDetail, self._transport.request("POST", _PATH, json=body).json())

    def simulation_traces(self) -> list[SimulationTrace]:
        """What was handed in and is kept, newest first."""
        rows = self._transport.request("GET", _TRACES).json()["results"]
        return [answers.read(SimulationTrace, row) for row in rows]

    def add_simulation_trace(
        self, source: str | Path, kind: str = "history", options: Mapping[str, Any] | None = None
    ) -> SimulationTrace:
        """Hand in a file of jobs: a history, or a log or trace of that kind. ``options``: of what reads it."""
        params = {"kind": kind, "name": Path(source).name, "options": json.dumps(options or {})}
        return self._handed_in("POST", _TRACES, source, params)

    def put_simulation_trace_nodes(
        self, number: int, source: str | Path, options: Mapping[str, Any] | None = None
    ) -> SimulationTrace:
        """Hand in the file of the nodes that a trace ran on."""
        return self._handed_in("PUT", f"{_TRACES}/{number}/nodes", source, {"options": json.dumps(options or {})})

    def _handed_in(self, method: str, path: str, source: str | Path, params: Mapping[str, Any]) -> SimulationTrace:
        try:
            data = Path(source).read_bytes()
        except OSError as error:
            why = f"{source} cannot be read: {error.strerror}"
            raise client_error(why, field_name="trace", remedy="Name a file.") from None
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(len(data))}
        answer = self._transport.request(
            method, path, params=params, body=lambda: [data], headers=headers, timeout_s=_READ_S
        )
        return answers.read(SimulationTrace, answer.json())

    def simulation(self, number: int) -> SimulationDetail:
        return answers.read(SimulationDetail, self._transport.request("GET", f"{_PATH}/{number}").json())

    def simulations(self, *, version: int | None = None) -> Iterator[Simulation]:
        """Newest first, without results. ``version``: only of that one, or of a document that says the same."""
        params: dict[str, Any] = {"version": version}
        while True:
            page = self._transport.request("GET", _PATH, params=params).json()
            yield from (answers.read(Simulation, row) for row in page["results"])
            if not page.get("next"):
                return
            params = {key: values[-1] for key, values in parse_qs(urlsplit(page["next"]).query).items()}

    def recorded_history(self, begin: datetime, end: datetime | None, target: str | Path) -> Path:
        """The jobs of a window of the recorded history, as a file that ``hydractl replay`` and simulations read.

        It is gzipped, and appears once it is whole. Times with their zone; ``end`` is now, if left out.
        """
        target = Path(target)
        if not target.parent.is_dir():
            raise client_error(
                f"there is no folder {target.parent}", field_name="FILE", remedy="Make it, or name another."
            )
        part = target.with_name(f".{uuid.uuid4().hex}.part")

        def take(answer: httpx.Response) -> None:
            with part.open("wb") as file:  # from the start, also when this is a second try
                for block in answer.iter_bytes():
                    file.write(block)

        window = {"from": begin.isoformat()} | ({"to": end.isoformat()} if end else {})
        try:
            self._transport.stream(f"{_PATH}/history?{urlencode(window)}", take, timeout_s=_READ_S)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target

    def wait_simulation(self, number: int, told: Callable[[Simulation], None] | None = None) -> SimulationDetail:
        """Until it has ended. ``told`` hears of every look at it."""
        while True:
            found = self.simulation(number)
            if told is not None:
                told(found)
            if found.ended:
                return found
            time.sleep(_POLL_S)

    def cancel_simulation(self, number: int) -> SimulationDetail:
        return answers.read(
            SimulationDetail,
            self._transport.request("POST", f"{_PATH}/{number}/cancel", json={}, repeatable=True).json(),
        )

    def simulation_report(self, number: int) -> str:
        """The answer as a page of HTML."""
        return self._transport.request("GET", f"{_PATH}/{number}/report").text
