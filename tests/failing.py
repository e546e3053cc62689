"""A pytest plugin: what a failed test was given is given to no other."""

from collections.abc import Generator
from typing import Any

import pytest

FAILED = pytest.StashKey[bool]()  # whether a test has failed so far, for fixtures that have to know
_UNREADY = pytest.StashKey[int]()  # of the session: so many tests on end whose fixtures could not be made
_TRIES = 2  # what cannot be made anew either is broken for all


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Keep in the stash whether the test, its fixtures or its aftermath has failed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    if report.when == "setup":
        unready = item.session.stash.get(_UNREADY, 0)
        item.session.stash[_UNREADY] = unready + 1 if report.failed else 0
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """End all fixtures but the session's after a failure: a stack that may be broken is made anew for the next.

    Not again and again where none can be made: pytest says to all that want it what it was that failed.
    """
    whole = False
    try:
        yield
        whole = not item.stash.get(FAILED, False)
    finally:
        if not whole and item.session.stash.get(_UNREADY, 0) < _TRIES:
            item.session._setupstate.teardown_exact(item.session)
