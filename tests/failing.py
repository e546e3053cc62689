"""A pytest plugin: what a failed test was given is given to no other."""

from collections.abc import Generator
from typing import Any

import pytest

FAILED = pytest.StashKey[bool]()  # whether a test has failed so far, for fixtures that have to know


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Keep in the stash whether the test, its fixtures or its aftermath has failed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """End all fixtures but the session's after a failure: a stack that may be broken is made anew for the next."""
    whole = False
    try:
        yield
        whole = not item.stash.get(FAILED, False)
    finally:
        if not whole:
            item.session._setupstate.teardown_exact(item.session)
