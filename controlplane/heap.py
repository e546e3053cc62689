"""The garbage collector of processes that live long."""

import gc

YOUNG = 10_000  # objects that come before the collector looks; a page or a round makes more than Python's 700 at once


def settle() -> None:
    """Call when much has been loaded: of what there is now little becomes garbage, and the collector passes it by.

    With Django and the compiled kernels that is some hundred thousand objects,
    whose walk stops every thread for a tenth of a second, time and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
