"""How often an application waits for its events at once."""

import asyncio
import io
from typing import Any

import pytest
from django.core.handlers.asgi import ASGIRequest

from controlplane.router import masterauth
from controlplane.router.masterauth import ByMaster, MasterPrincipal
from controlplane.router.masterhub import WAITING_MAX, Hub
from controlplane.router.views import masterevents
from tests.patience import until
from wire.ids import container_id

MASTER = container_id(1, 1, 1)


def asked(query: str) -> ASGIRequest:
    headers = [(b"authorization", f"Bearer {masterauth.token(MASTER)}".encode())]
    known = {"type": "http", "method": "GET", "path": "/api/v1/am/events", "raw_path": b"", "headers": headers}
    return ASGIRequest(known | {"query_string": query.encode(), "client": ("192.0.2.1", 1)}, io.BytesIO())


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    """One that nothing wakes, of masters that are known without a look."""
    made = Hub()
    monkeypatch.setattr(made, "_start", lambda: None)
    monkeypatch.setattr(masterevents, "hub", made)
    monkeypatch.setattr(ByMaster, "allow_request", lambda *_: True)
    found: dict[str, Any] = {"events": [], "cursor": 0, "missed": False}
    monkeypatch.setattr(masterevents, "_look", lambda *_: (MasterPrincipal(7, MASTER, 1, 3), found))
    return made


def test_an_application_waits_so_often_at_once_and_no_more(hub: Hub) -> None:
    async def play() -> None:
        view = masterevents.MasterEvents.as_view()
        waits = [asyncio.create_task(view(asked("wait_s=60"))) for _ in range(WAITING_MAX)]
        await until(lambda: hub.full(7), 10, "all wait")
        for query in ("wait_s=60", "stream=sse"):
            assert (await view(asked(query))).status_code == 429
        assert (await view(asked(""))).status_code == 200, "what does not wait is answered"
        waits[0].cancel()
        await asyncio.wait({waits[0]})
        assert (await view(asked("stream=sse"))).status_code == 200, "there is room again"
        for task in waits:
            task.cancel()
        await asyncio.wait(waits)
        assert not hub.full(7) and not hub._waiters

    asyncio.run(play())
