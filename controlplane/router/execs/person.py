"""The person's end of an exec: their socket on one side, the line to the node's on the other."""

import asyncio
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from controlplane.accounts.models import User
from controlplane.accounts.turns import turns
from controlplane.router.execs.line import PULSE_S, Line, LineDown
from controlplane.router.execs.paying import pay
from controlplane.router.execs.socket import FrameSocket, Left, first_of
from controlplane.router.threads import Threads
from controlplane.statestore.actions import execs as actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.models import Exec
from controlplane.statestore.queries.jobs import execs as queries
from wire import execs, keys
from wire.execs import End, Kind

log = structlog.get_logger(__name__)

CALL_S = 1.0  # how often the node is told, until it has come
NODE_S = 20.0  # how long it may take to begin the command
LOOK_S = 10.0  # how often rights are looked at again, and the row is renewed
NOTED_AGAIN_S = (1.0, 4.0, 15.0)  # after the StateStore did not take its end
LEFT = "the person has left"
Who = Callable[[], User | None]  # the account whose socket it is, as long as its token or session holds


def attach(who: Who, number: int) -> Exec | None:
    """The exec that waits for them, if it still may be; None when there is none."""
    user = who()
    found = actions.attach(user.pk, number) if user else None
    return found if found and not queries.why_not(found) else None


class Person:
    """One exec from the person's coming to its end. threads: for looks into the StateStore."""

    def __init__(self, socket: FrameSocket, begun: Exec, who: Who, address: str, threads: Threads) -> None:
        self.socket, self.begun, self.who, self.threads = socket, begun, who, threads
        self.actor = Actor(begun.user_id, address or None)
        self.windows = execs.Windows()
        self.runs = asyncio.Event()  # the node says that the command has begun
        self.over = False  # and that it has ended
        self.active_at = time.monotonic()

    async def serve(self) -> None:
        """Until the command has ended, or something ends it; whoever is still there hears why."""
        turns.asks(self.begun.user_id)
        how = ""
        try:
            async with Line(keys.exec_to_person(self.begun.pk), keys.exec_to_node(self.begun.pk)) as line:
                try:
                    how = await self._until_the_end(line)
                finally:
                    await self._note_end(how or "cut off")  # what follows waits for others
                    await self._leave(line)
        except LineDown as error:
            await self._note_end(await self._say_why(str(error)))
        finally:
            await self.socket.close()

    async def _note_end(self, how: str) -> None:
        for after_s in NOTED_AGAIN_S:
            try:
                await self.threads.start(actions.end, self.actor, self.begun, how, not self.over)
                return
            except (DatabaseError, InterfaceError) as error:
                log.warning("the end of an exec is not noted yet", exec=self.begun.pk, error=str(error))
                await asyncio.sleep(after_s)
        # nobody renews its row, so that it is over soon

    async def _until_the_end(self, line: Line) -> str:
        try:
            ends = self._outwards(line), self._inwards(line), self._calls(), self._looks(), _pulse(line, self.runs)
            return await first_of(*ends)
        except Left:
            return LEFT
        except (execs.ExecError, LineDown) as error:
            return await self._say_why(str(error))

    async def _leave(self, line: Line) -> None:
        try:
            await line.say(execs.failed(LEFT))
        except LineDown:
            pass  # nobody is there who would have to know

    async def _say_why(self, why: str) -> str:
        try:
            await self.socket.say(execs.failed(why))
        except Left:
            pass
        return why

    async def _inwards(self, line: Line) -> str:
        while True:
            data = await self.socket.frame()
            kind = self.windows.from_person(data)
            await self.runs.wait()
            self._moved(kind)
            await pay(self.begun.user_id, data)
            await line.say(data)

    async def _outwards(self, line: Line) -> str:
        while True:
            data = await line.hear(self._silence_s())
            kind = self.windows.from_node(data)
            self._moved(kind)
            if kind is Kind.BEGUN:
                self.runs.set()
            self.over = kind is Kind.END
            await pay(self.begun.user_id, data)
            await self.socket.say(data)
            if kind is Kind.END:
                return _words(execs.end_of(data[1:]))

    def _silence_s(self) -> float:
        return NODE_S + 2 * CALL_S if not self.runs.is_set() else 3 * PULSE_S

    def _moved(self, kind: Kind) -> None:
        if kind is not Kind.CREDIT:
            self.active_at = time.monotonic()

    async def _calls(self) -> str:
        """Tell the node until it has come; then nothing more."""
        until = time.monotonic() + NODE_S
        while not self.runs.is_set():
            if time.monotonic() > until:
                why = "its node did not begin the command in time; it may be cut off, or of an older version"
                return await self._say_why(why)
            await self.threads.start(actions.call, self.begun)
            try:
                async with asyncio.timeout(CALL_S):
                    await self.runs.wait()
            except TimeoutError:
                continue
        return await asyncio.Future()  # the others decide

    async def _looks(self) -> str:
        """Until it may not go on: its right, its container or its time has ended. A store that is away ends nothing."""
        idle_s = settings.HYDRA["exec_idle_s"]
        while True:
            await asyncio.sleep(min(LOOK_S, idle_s))
            why = ""
            if time.monotonic() - self.active_at > idle_s:
                why = f"nothing was said for {idle_s:g} s"
            else:
                try:
                    why = await self.threads.start(self._why_not)
                except (DatabaseError, InterfaceError):
                    log.debug("no look at an exec", exec=self.begun.pk)
            if why:
                return await self._say_why(why)

    def _why_not(self) -> str:
        user = self.who()
        if user is None or user.pk != self.begun.user_id:
            return "you are signed out"
        why = queries.why_not(self.begun)
        if not why:
            actions.seen(self.begun.pk)
        return why


async def _pulse(line: Line, begins: asyncio.Event) -> str:
    await begins.wait()
    while True:
        await line.say()
        await asyncio.sleep(PULSE_S)


def _words(how: End) -> str:
    """For the audit log."""
    if how.error:
        return how.error
    return f"signal {how.signal}" if how.signal else f"status {how.code}"
