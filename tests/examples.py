"""How properties are tried: on how many examples, and on which. Always the same ones, but with ``--soak``."""

from hypothesis import HealthCheck, settings

from tests.seeds import SOAK

LEAST = 25

# How fast a machine is, and what else it does, is no property of the code. The same examples in each run, so that a
# failure is the change's; the long variants look for new ones.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)
settings.register_profile("gate", patient, derandomize=True)
settings.register_profile("soak", patient, print_blob=True)
settings.load_profile("soak" if SOAK else "gate")


def examples(number: int) -> settings:
    """Decorator. So many with ``--soak``; of a change the gate tries a third, which finds what is plainly wrong."""
    return settings(max_examples=number if SOAK else min(number, max(LEAST, number // 3)))
