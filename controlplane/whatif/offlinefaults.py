"""What goes wrong in an offline simulation: nodes that fail, and what is told late."""

from argparse import ArgumentParser
from typing import Any

from controlplane.whatif.cases import Case
from controlplane.whatif.offlinecluster import Wrong
from simulator.failures import Churn

Json = dict[str, Any]
MOST_S = 1e9
FAILURES_MOST = 200_000
_DELAYS = ("network_s", "heartbeat_s", "node_lost_s")


def add_arguments(parser: ArgumentParser) -> None:
    seconds: Json = {"type": float, "metavar": "S"}
    parser.add_argument("--fails-every", **seconds, help="each node fails so often on average; none does by default")
    parser.add_argument("--fails-for", **seconds, default=600.0, help="and is gone for so long on average [600]")
    parser.add_argument("--network-s", **seconds, help="from a leader to a node, and back, each [0]")
    parser.add_argument("--heartbeat-s", **seconds, help="between two heartbeats of a node; by default as the pace is")
    parser.add_argument("--node-lost-s", **seconds, help="a node is lost after so long a silence [8]")


def put(case: Case, options: Json) -> None:
    """Into the case, with a note; ``Wrong`` names the option that does not fit."""
    for name in ("fails_every", "fails_for", *_DELAYS):
        value, least = options[name], 0.0 if name in _DELAYS else 1.0
        if value is not None and not least <= value <= MOST_S:
            raise Wrong(f"--{name.replace('_', '-')}: {value:g} does not fit; give {least:g} to {MOST_S:,.0f} s")
    case.delays = {name: options[name] for name in _DELAYS if options[name] is not None}
    if options["fails_every"] is None:
        return
    churn = Churn(options["fails_every"], options["fails_for"])
    expected = sum(map(len, case.sub_clusters.values())) * case.until_s / (churn.between_s + churn.gone_s)
    if expected > FAILURES_MOST:
        raise Wrong(f"--fails-every: makes some {expected:,.0f} failures, at most {FAILURES_MOST:,} are simulated; "
                    "let nodes fail less often")  # fmt: skip
    case.churn = churn
    count = sum(1 for _ in case.failures())
    case.notes.append(
        f"Nodes fail {count:,} times, each every {churn.between_s:,.0f} s on average and for {churn.gone_s:,.0f} s, "
        "alike for all policies and anew in each seed. What runs there begins anew elsewhere."
    )
