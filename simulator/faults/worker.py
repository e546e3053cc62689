"""One life in a process of its own. Nothing is imported here that needs Django before a new process has set it up."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.faults.life import LifeOutcome


def setup_django() -> None:
    """What a process needs before it can import the control plane's models."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    django.setup()


def run_life(seed: int) -> "LifeOutcome":
    """What came of this seed; of a life in which all is well no trace."""
    from simulator.faults import life

    found = life.run(seed)
    if not found.violation:
        found.trace.clear()
    return found
