"""Whose turn it is: who has used more of this web process than its share waits while it serves others.

Each party (an account, or the address of somebody unknown) has a balance of processor time, a token bucket that fills
with its share. Whoever is below nothing works on alone as fast as before; as soon as others ask for something, he waits
until his balance is above nothing again. So one can use all of an idle process, and keeps nobody waiting. Who comes
near it while others ask has one request at a time: two at once take from a third two thirds of what there is.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field

from django.conf import settings

BURST_S = 1.0  # of the processor, that may be used beyond the share at once
NEAR_S = 0.5  # who may use no more than this beyond his share comes near its end
DEBT_S = 2.0  # no more is owed, however much was used
OTHERS_S = 1.0  # others are served as long after they asked for something
AT_ONCE = 4  # requests of one party: the others find a thread
WAITING_MAX = 100  # requests of one party
CHECK_S = 0.25
MOST = 10_000  # parties that are remembered; a forgotten one begins with a full balance
_NEW = 0.2  # weight of the last cost in the expected one


class Crowded(Exception):
    """As many requests of this party wait already as may."""


@dataclass(slots=True, eq=False)
class _Party:
    """balance: seconds of the processor, as of ``at``. expected: what its next request will cost, by those before.

    held: who waits until it may use more, the first first; ``look`` is when that is looked at next.
    """

    balance: float
    at: float
    expected: float = 0.0
    waiting: int = 0
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    one: asyncio.Lock = field(default_factory=asyncio.Lock)
    held: deque["asyncio.Future[None]"] = field(default_factory=deque)
    look: asyncio.TimerHandle | None = None


class Turn:
    """One request's. ``cost``: what it has used of the processor; ``who``: the party that pays for it."""

    __slots__ = ("cost", "who")

    def __init__(self, who: Hashable) -> None:
        self.who, self.cost = who, 0.0

    def pay(self, seconds: float) -> None:
        """It has used so much more of the processor."""
        self.cost += seconds


class Turns:
    """All parties of a process; for its event loop alone. share: of one processor, that each has beside others."""

    def __init__(self, share: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._share, self._clock = share, clock
        self._parties: OrderedDict[Hashable, _Party] = OrderedDict()
        self._asked: OrderedDict[Hashable, float] = OrderedDict()  # parties within their share, the last one last

    def spent(self, who: Hashable, seconds: float) -> None:
        """Something was done for this party. What it used while nobody else asked holds it up no longer than others
        are served after they asked for something."""
        party = self._of(who)
        least = -DEBT_S if self._others(who) else min(party.balance, -OTHERS_S * self._share)
        party.balance = max(least, party.balance - seconds)

    def asks(self, who: Hashable) -> None:
        """This party wants something now: others who have used more than their share wait for it."""
        if self._of(who).balance >= 0:
            self._asked[who] = self._clock()
            self._asked.move_to_end(who)
            while len(self._asked) > 2:  # the last two tell for each whether there are others
                self._asked.popitem(last=False)

    def wait_s(self, who: Hashable) -> float:
        """How long this party has to wait as it stands; 0 within its share, and while nobody else asks."""
        balance = self._of(who).balance
        return -balance / self._share if balance < 0 and self._others(who) else 0.0

    def crowds(self, who: Hashable) -> bool:
        """Whether this party comes near the end of its share, or is beyond it, while others ask."""
        return self._of(who).balance < NEAR_S and self._others(who)

    async def within_share(self, who: Hashable, longest_s: float | None = None) -> None:
        """Return when this party may use more and those who came before have gone on; at last after ``longest_s``."""
        party = self._of(who)
        if not party.held and not self.wait_s(who):
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        party.held.append(mine)
        if party.look is None:
            self._look(who, party)
        with suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await mine

    @asynccontextmanager
    async def turn(self, who: Hashable) -> AsyncIterator[Turn]:
        """A request's turn, when the party's earlier ones have had theirs. ``Crowded`` when too many wait."""
        self.asks(who)
        party, turn = self._of(who), Turn(who)
        if party.waiting >= WAITING_MAX:
            raise Crowded
        async with AsyncExitStack() as places:
            party.waiting += 1
            try:
                await self.within_share(who)
                if self.crowds(who):
                    await places.enter_async_context(party.one)
                await places.enter_async_context(party.places)
            finally:
                party.waiting -= 1
            expected = party.expected
            party.balance -= expected
            try:
                yield turn
            finally:
                party.balance += expected
                self.spent(turn.who, turn.cost)
                paying = self._of(turn.who)
                paying.expected += _NEW * (turn.cost - paying.expected)

    def _look(self, who: Hashable, party: _Party) -> None:
        """Let the first of those go on who are held, if the party may use more, and look again after it."""
        loop, party.look = asyncio.get_running_loop(), None
        while party.held and party.held[0].done():
            party.held.popleft()  # did not wait any longer
        if not party.held:
            return
        wait_s = self.wait_s(who)
        if not wait_s:
            party.held.popleft().set_result(None)
        party.look = loop.call_later(min(wait_s, CHECK_S), self._look, who, party)

    def _others(self, who: Hashable) -> bool:
        since = self._clock() - OTHERS_S
        return any(at >= since for other, at in self._asked.items() if other != who)

    def _of(self, who: Hashable) -> _Party:
        now = self._clock()
        party = self._parties.get(who)
        if party is None:
            party = self._parties[who] = _Party(BURST_S, now)
            while len(self._parties) > MOST:
                self._parties.popitem(last=False)
        party.balance = min(BURST_S, party.balance + (now - party.at) * self._share)
        party.at = now
        self._parties.move_to_end(who)
        return party


turns = Turns(settings.HYDRA["account_share"])
