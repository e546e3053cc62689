"""The garbage collector, which would walk over and over what is loaded and stays. Standard library only."""

import gc

YOUNG = 10_000  # objects that come before the collector looks; a page or a round makes more than Python's 700 at once


def relax() -> None:
    """Call before much is loaded: it takes a third less time."""
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


def settle() -> None:
    """Call when much has been loaded: of what there is now little becomes garbage, and the collector passes it by.

    With Django and the compiled kernels that is some hundred thousand objects,
    whose walk stops every thread for a tenth of a second, time and again.
    """
    gc.collect()
    gc.freeze()
    relax()
