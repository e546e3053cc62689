"""pytest's own limit on a slow machine."""

import pytest

from tests.machine import FACTOR
from tests.patience import stretched


def test_the_usual_patience_runs_out_before_pytest_ends_the_test(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.option.timeout == 300 * FACTOR > 3 * stretched(30)
