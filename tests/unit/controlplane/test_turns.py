"""Whose turn it is: one can use all of an idle process, and keeps nobody waiting."""

import asyncio

import pytest

from controlplane.accounts.turns import AT_ONCE, BURST_S, DEBT_S, NEAR_S, OTHERS_S, WAITING_MAX, Crowded, Turns
from tests.patience import until

SHARE = 0.2
QUICK = 50.0  # a share that fills within milliseconds


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def turns(clock: Clock) -> Turns:
    return Turns(SHARE, clock)


def test_who_is_alone_never_waits(turns: Turns, clock: Clock) -> None:
    for _ in range(100):
        turns.asks("greedy")
        turns.spent("greedy", 1.0)
        assert turns.wait_s("greedy") == 0
        clock.now += 1


def test_beside_others_who_has_used_more_than_his_share_waits_for_it_and_they_do_not(
    turns: Turns, clock: Clock
) -> None:
    turns.spent("greedy", BURST_S + 0.1)
    turns.spent("modest", BURST_S)
    turns.asks("modest")
    assert turns.wait_s("greedy") == pytest.approx(0.1 / SHARE)
    assert turns.wait_s("modest") == 0
    clock.now += 0.25
    assert turns.wait_s("greedy") == pytest.approx(0.1 / SHARE - 0.25)
    clock.now += 0.3
    assert turns.wait_s("greedy") == 0


def test_others_count_for_as_long_as_they_are_served(turns: Turns, clock: Clock) -> None:
    turns.asks("modest")
    turns.spent("greedy", BURST_S + 100)
    assert turns.wait_s("greedy") == pytest.approx(DEBT_S / SHARE), "no more is owed, whatever was used"
    clock.now += OTHERS_S + 0.01
    assert turns.wait_s("greedy") == 0


def test_who_has_worked_alone_is_soon_served_beside_others(turns: Turns, clock: Clock) -> None:
    turns.spent("busy", BURST_S + 100)
    turns.asks("newcomer")
    assert turns.wait_s("busy") == pytest.approx(OTHERS_S), "so that a newcomer's first requests meet none of his"
    turns.spent("busy", 0.4)
    assert turns.wait_s("busy") == pytest.approx(OTHERS_S + 0.4 / SHARE), "what he uses beside others counts whole"


def test_two_who_use_more_than_their_share_do_not_hold_each_other_up(turns: Turns) -> None:
    for who in ("greedy", "greedier"):
        turns.spent(who, BURST_S + 1)
        turns.asks(who)
    assert turns.wait_s("greedy") == turns.wait_s("greedier") == 0
    turns.asks("modest")
    turns.asks("greedy")
    assert turns.wait_s("greedy") > 0
    assert turns.wait_s("greedier") > 0


def test_so_many_of_one_party_at_once_and_no_more_wait() -> None:
    async def play() -> None:
        turns, begun, end = Turns(SHARE), list[str](), asyncio.Event()

        async def request(who: str) -> None:
            async with turns.turn(who):
                begun.append(who)
                await end.wait()

        greedy = [asyncio.create_task(request("greedy")) for _ in range(AT_ONCE + WAITING_MAX)]
        await asyncio.sleep(0)
        with pytest.raises(Crowded):
            await request("greedy")
        modest = asyncio.create_task(request("modest"))
        await asyncio.sleep(0)
        assert begun == ["greedy"] * AT_ONCE + ["modest"]
        for gone in greedy[:2] + greedy[-2:]:
            gone.cancel()
        await asyncio.wait(greedy[:2])
        await asyncio.sleep(0)
        assert begun == ["greedy"] * AT_ONCE + ["modest"] + ["greedy"] * 2, "who has gone leaves his place to another"
        end.set()
        await asyncio.gather(*greedy[2:-2], modest)
        assert len(begun) == AT_ONCE + WAITING_MAX + 1 - 2

    asyncio.run(play())


def test_who_comes_near_the_end_of_his_share_has_one_request_at_a_time_while_others_ask(clock: Clock) -> None:
    async def play() -> None:
        turns, begun, end = Turns(SHARE, clock), list[str](), asyncio.Event()

        async def request(who: str) -> None:
            async with turns.turn(who):
                begun.append(who)
                await end.wait()

        turns.spent("greedy", BURST_S - NEAR_S + 0.1)
        assert not turns.crowds("greedy"), "nobody else asks"
        turns.asks("modest")
        assert turns.crowds("greedy") and not turns.crowds("modest")
        greedy = [asyncio.create_task(request("greedy")) for _ in range(5)]
        modest = [asyncio.create_task(request("modest")) for _ in range(AT_ONCE)]
        await asyncio.sleep(0)
        assert begun == ["greedy"] + ["modest"] * AT_ONCE
        greedy[0].cancel()
        greedy[1].cancel()
        await asyncio.wait(greedy[:2])
        await asyncio.sleep(0)
        assert begun == ["greedy"] + ["modest"] * AT_ONCE + ["greedy"], "the next one, and not who has gone"
        end.set()
        await asyncio.gather(*greedy[2:], *modest)
        assert begun.count("greedy") == 4

    asyncio.run(play())


def test_who_is_held_goes_on_in_order_and_pays_before_the_next_does() -> None:
    async def play() -> None:
        turns, begun = Turns(QUICK), list[int]()
        turns.spent("greedy", BURST_S + 1)

        async def request(number: int) -> None:
            async with turns.turn("greedy") as turn:
                begun.append(number)
                turn.pay(0.5)

        async def others() -> None:
            def asks() -> bool:
                turns.asks("modest")
                assert turns.wait_s("modest") == 0
                return len(begun) == 5

            await until(asks, 20, "all have had their turn", 0.001)

        turns.asks("modest")
        await asyncio.gather(*(request(n) for n in range(5)), others())
        assert begun == [0, 1, 2, 3, 4]

    asyncio.run(play())


def test_who_does_not_wait_any_longer_holds_nobody_up(turns: Turns, clock: Clock) -> None:
    async def play() -> None:
        turns.spent("greedy", BURST_S + 1)
        turns.asks("modest")
        impatient = asyncio.create_task(turns.within_share("greedy", 0.0))
        gone = asyncio.create_task(turns.within_share("greedy"))
        patient = asyncio.create_task(turns.within_share("greedy"))
        await asyncio.sleep(0)
        gone.cancel()
        await impatient
        assert not patient.done()
        clock.now += 1 / SHARE
        await patient
        assert not turns._parties["greedy"].held

    asyncio.run(play())
