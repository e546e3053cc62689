"""Hints from the channel layer, handed to the sockets of this process.

One listener per process, not one per socket, and outside the consumers: when
Redis restarts, a channel overflows or the layer raises, the listener starts
over and the sockets notice nothing but a slower refresh.
"""

import asyncio
import logging
from typing import Any, Protocol

from channels.layers import get_channel_layer

from controlplane.events import GROUP

log = logging.getLogger(__name__)

RENEW_S = 30.0  # without any hint for this long the subscription is made anew: it may have been lost silently
RETRY_S = 1.0


class Listening(Protocol):
    def hinted(self, topics: frozenset[str]) -> None: ...


class Hints:
    """Listens while at least one socket is open."""

    def __init__(self) -> None:
        self._listeners: set[Listening] = set()
        self._task: asyncio.Task[None] | None = None

    def join(self, who: Listening) -> None:
        self._listeners.add(who)
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._task = loop.create_task(self._listen())

    def leave(self, who: Listening) -> None:
        self._listeners.discard(who)
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    async def _listen(self) -> None:
        while True:
            try:
                await self._subscription()
            except TimeoutError:
                continue  # nothing for a while: subscribe anew
            except Exception as error:  # a layer may raise anything; hints are a luxury
                log.debug("hints are interrupted: %s", error)
                await asyncio.sleep(RETRY_S)

    async def _subscription(self) -> None:
        layer: Any = get_channel_layer()
        if layer is None:
            raise RuntimeError("no channel layer is configured")
        channel = await asyncio.wait_for(layer.new_channel(), 5)
        try:
            await asyncio.wait_for(layer.group_add(GROUP, channel), 5)
            while True:
                self._hand_on(await asyncio.wait_for(layer.receive(channel), RENEW_S))
        finally:
            await asyncio.wait_for(layer.group_discard(GROUP, channel), 5)

    def _hand_on(self, message: Any) -> None:
        topics = message.get("topics") if isinstance(message, dict) else None
        if not isinstance(topics, list):
            return
        names = frozenset(t for t in topics if isinstance(t, str))
        for who in tuple(self._listeners):
            who.hinted(names)
