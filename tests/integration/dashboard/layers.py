"""Channel layers that lose messages on their way to a real Redis, by drawn numbers that repeat."""

from random import Random
from typing import Any

from channels_redis.core import RedisChannelLayer
from channels_redis.pubsub import RedisPubSubChannelLayer

LOST = 0.2


class _Losing:
    """Counts what is sent, and drops a fifth of it."""

    dice: Random
    sent = 0
    lost = 0

    def loses(self) -> bool:
        self.sent += 1
        lost = self.dice.random() < LOST
        self.lost += lost
        return lost


class Lossy(_Losing, RedisPubSubChannelLayer):
    """The layer of the settings."""

    dice = Random(3)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if not self.loses():
            await self._get_layer().group_send(group, message)


class Narrow(_Losing, RedisChannelLayer):
    """A layer that keeps messages in Redis, no more than ``capacity`` for each receiver."""

    dice = Random(4)

    async def group_send(self, group: str, message: dict[str, Any]) -> None:
        if not self.loses():
            await super().group_send(group, message)
