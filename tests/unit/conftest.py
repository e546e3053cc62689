"""Properties are tested here: the profile is in force before any of these files is read."""

import tests.examples  # noqa: F401
from tests.clockless import own_clock  # noqa: F401
