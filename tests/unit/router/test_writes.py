"""What one account has written down an hour is bounded, and an hour gives it back."""

import pytest

from controlplane.accounts.writes import PIECE_BYTES, Writes
from controlplane.statestore.errors import TooMany


class Hours:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_account_may_have_so_much_written_and_waits_as_long_as_it_is_told() -> None:
    clock = Hours()
    writes = Writes(3600, clock)
    writes.claim(1, 3000)
    with pytest.raises(TooMany) as refused:
        writes.claim(1, 1000)
    assert 400 <= refused.value.retry_after_s <= 401 and "HYDRA_WRITES_PER_HOUR" in refused.value.detail
    writes.claim(1, 600)
    writes.claim(2, 3600)
    clock.now += 1000
    writes.claim(1, 1000)
    clock.now += 10**6
    writes.claim(1, 3600)
    with pytest.raises(TooMany):
        writes.claim(1, 1)


def test_what_a_job_says_counts_as_things() -> None:
    writes = Writes(100, Hours())
    writes.claim(1, 1, 90 * PIECE_BYTES)
    with pytest.raises(TooMany):
        writes.claim(1, 0, 10 * PIECE_BYTES)
    writes.claim(1, 9)


def test_more_than_an_hour_gives_is_owed() -> None:
    clock = Hours()
    writes = Writes(100, clock)
    writes.claim(1, 250)
    clock.now += 3600
    with pytest.raises(TooMany):
        writes.claim(1, 1)
    clock.now += 3600
    writes.claim(1, 50)


def test_who_has_had_nothing_written_may_ask_for_anything_with_a_request_that_counts_itself() -> None:
    writes = Writes(100, Hours())
    writes.claim(1, 1)
    writes.claim(1, 999)


def test_no_bound_is_none() -> None:
    Writes(0).claim(1, 10**9)
