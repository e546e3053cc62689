"""Deterministic fault simulation: lives a minute of one core, and how many of the planted bugs they find.

A life is a federation of one to three sub-clusters under random faults, checked after every step.
"""

import argparse
import os
import time
from typing import Any

from simulator.faults.bugs import BUGS
from simulator.faults.hunt import found_after, lives


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench fault-seeds")
    parser.add_argument("--seeds", type=int, default=1200)
    parser.add_argument("--from", type=int, default=0, dest="first")
    options = parser.parse_args(argv)
    for _ in lives(range(5)):  # what is imported or compiled at first use
        pass
    began, began_cpu = time.perf_counter(), time.process_time()
    found = list(lives(range(options.first, options.first + options.seeds)))
    took, took_cpu = time.perf_counter() - began, time.process_time() - began_cpu
    needed = {name: found_after(bug, range(bug.seeds)) for name, bug in BUGS.items()}
    seeds = [outcome.seed + 1 for outcome in needed.values() if outcome is not None]
    return {
        "seeds_per_minute": round(60 * options.seeds / took),
        "seeds_per_cpu_minute": round(60 * options.seeds / took_cpu),
        "seeds": options.seeds,
        "broken": [outcome.seed for outcome in found if outcome.violation],
        "containers_per_seed": round(sum(outcome.containers for outcome in found) / options.seeds, 1),
        "planted_bugs": len(BUGS),
        "planted_bugs_found": len(seeds),
        "seeds_to_find_most": max(seeds),
        "seeds_to_find": {name: None if o is None else o.seed + 1 for name, o in needed.items()},
        "load_average": round(os.getloadavg()[0], 1),
    }
