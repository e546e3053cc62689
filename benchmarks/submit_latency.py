"""From the answer to a submit to the task's process running, one task at a time on an idle stack."""

import argparse
import time
from typing import Any

from benchmarks.stack import job, percentile, stack
from client import Client

WARM_UP = 5
SETTLE_S = 5.0


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench submit-latency")
    parser.add_argument("--submits", type=int, default=200)
    options = parser.parse_args(argv)
    with stack() as running, running.client() as client:
        time.sleep(SETTLE_S)
        found = [latency_ms(client, i) for i in range(WARM_UP + options.submits)][WARM_UP:]
    return {
        "p50_ms": round(percentile(found, 0.5), 1),
        "p99_ms": round(percentile(found, 0.99), 1),
        "max_ms": round(max(found), 1),
        "submits": len(found),
    }


def latency_ms(client: Client, number: int) -> float:
    """The task itself says when it runs; both clocks are this host's."""
    submitted = client.submit(job(f"latency-{number}", ["date", "+%s%N"]))
    answered_ns = time.time_ns()
    ended = client.wait(submitted.id)
    assert ended.state == "SUCCEEDED", ended.message
    container = next(iter(client.containers(ended.id)))
    text = "".join(piece.data for piece in client.logs(container.id, follow=True))
    return (int(text) - answered_ns) / 1e6
