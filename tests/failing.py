"""Whether a test has failed so far, for fixtures that have to know."""

import pytest

FAILED = pytest.StashKey[bool]()
