"""Hints from the channel layer, handed to what the sockets of this process follow.

One listener per process, not one per socket, and outside the consumers: when
Redis restarts, a channel overflows or the layer raises, the listener starts
over and the sockets notice nothing but a slower refresh.
"""

import asyncio
from contextlib import suppress
from typing import Any, Protocol

import structlog
from channels.layers import get_channel_layer

from controlplane.events import GROUP

from .members import Members

log = structlog.get_logger(__name__)

RENEW_S = 30.0  # without any hint for this long the subscription is made anew: it may have been lost silently
RETRY_S = 1.0
LAYER_S = 5.0  # for whatever it answers at once


class Listening(Protocol):
    def hinted(self, topics: frozenset[str]) -> None: ...


class Hints(Members[Listening]):
    """Listens for watches. ``first`` hears of a hint before them."""

    def __init__(self, first: Listening) -> None:
        super().__init__()
        self._first = first

    async def _serve(self) -> None:
        while True:
            try:
                await self._subscription()
            except TimeoutError:
                continue  # nothing for a while: subscribe anew
            except Exception as error:  # a layer may raise anything; hints are a luxury
                log.debug("hints are interrupted", problem=str(error))
                await _forget()
                await asyncio.sleep(RETRY_S)

    async def _subscription(self) -> None:
        layer: Any = get_channel_layer()
        if layer is None:
            raise RuntimeError("no channel layer is configured")
        async with asyncio.timeout(LAYER_S):
            channel = await layer.new_channel()
        try:
            async with asyncio.timeout(LAYER_S):
                await layer.group_add(GROUP, channel)
            while True:
                async with asyncio.timeout(RENEW_S):
                    message = await layer.receive(channel)
                self._hand_on(message)
        finally:
            async with asyncio.timeout(LAYER_S):
                await layer.group_discard(GROUP, channel)

    def _hand_on(self, message: Any) -> None:
        topics = message.get("topics") if isinstance(message, dict) else None
        if not isinstance(topics, list):
            return
        names = frozenset(t for t in topics if isinstance(t, str))
        for who in (self._first, *self._members):
            who.hinted(names)


async def _forget() -> None:
    """Have the layer begin anew: what it could not unsubscribe from it would take for subscribed for ever."""
    with suppress(Exception):
        async with asyncio.timeout(LAYER_S):
            await get_channel_layer().flush()
