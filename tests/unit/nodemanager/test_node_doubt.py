"""When a node asks anew what it was told: where Redis is, and which keys sign its documents."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from nodemanager.clock import Clock
from nodemanager.documents import DocumentReader
from nodemanager.membership import DOUBT_S, RENEW_S, Doubt
from nodemanager.session import keys
from tests.unit.nodemanager.test_node_statusupdater import SESSION, updater
from wire import desired


def asked(doubt: Doubt, times: list[float], until_s: int, begin: float = 0.0) -> list[float]:
    """When the session was asked for, of the seconds in which something did not work."""
    del times[:]
    for second in range(until_s):
        before = len(times)
        doubt.rise(begin + second)
        times[before:] = [begin + second] * (len(times) - before)
    return times


def test_what_goes_on_not_working_is_asked_for_less_and_less_often() -> None:
    times: list[float] = []
    doubt = Doubt(lambda: times.append(0.0), 20.0)
    found = asked(doubt, times, 600)
    gaps = [after - before for before, after in pairwise(found)]
    assert 20 <= found[0] <= 31 and RENEW_S <= gaps[0] <= 1.5 * RENEW_S + 1
    assert all(gap <= 1.5 * DOUBT_S + 1 for gap in gaps) and all(gap >= DOUBT_S for gap in gaps[4:])
    doubt.end()
    assert asked(doubt, times, 20, 1000.0) == [], "what works again was never in doubt"
    assert 1021 <= asked(doubt, times, 13, 1020.0)[0] <= 1031


@pytest.mark.parametrize(
    ("key_id", "key", "doubted"), [(1, b"k" * 32, False), (1, b"x" * 32, True), (2, b"k" * 32, True)]
)
def test_a_document_signed_with_another_key_makes_a_node_ask_for_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key_id: int, key: bytes, doubted: bool
) -> None:
    made = updater(tmp_path)
    asks: list[int] = []
    made.membership.lease_keys = keys(replace(SESSION, lease_keys={"1": (b"k" * 32).hex()}))
    monkeypatch.setattr(made.membership, "renew", lambda: asks.append(1))
    documents = DocumentReader(made.redis, made.membership, Clock(), made.dispatch, lambda: True)
    document = desired.encode(desired.Desired(b"w", 1, 7, 1, 1, 0, {}, {}), key_id, key)
    documents._on_document(document)
    documents._on_document(document)
    assert len(asks) == doubted, "once, although it is read again"
    assert (documents.last_document == document) is not doubted
