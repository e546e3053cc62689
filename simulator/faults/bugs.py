"""Planted bugs: mistakes that somebody could make, each put into one real function. Lives must find them all.

They lie beside the lives, not with the tests, because the benchmark counts how many are found, too.
"""

from simulator.faults import bugsofjobs, bugsofleaders, bugsofoperators
from simulator.faults.planting import BUGS, Bug

__all__ = ["BUGS", "Bug", "bugsofjobs", "bugsofleaders", "bugsofoperators"]
