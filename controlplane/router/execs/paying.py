"""Who pays for frames that web passes on: the account of the person, as for requests."""

from controlplane.accounts.turns import turns

FRAME_S, BYTE_S = 2e-4, 2e-9  # of the processor, that a frame and each of its bytes take of a web process
HELD_S = 10.0  # the longest that a frame waits for its account's share


async def pay(user_id: int, frame: bytes) -> None:
    """Return when the account may use more of the process, while others ask."""
    turns.spent(user_id, FRAME_S + len(frame) * BYTE_S)
    await turns.within_share(user_id, HELD_S)
