"""Two thousand tasks of ``true`` through the whole path on four node managers."""

import argparse
import time
from typing import Any

from benchmarks.stack import cpu_s, job, stack


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench real-tasks")
    parser.add_argument("--tasks", type=int, default=2000)
    options = parser.parse_args(argv)
    with stack() as running, running.client() as client:
        client.wait(client.submit(job("warm-up", ["true"], 20)).id)
        groups = running.processes()
        before = {name: cpu_s(found) for name, found in groups.items()}
        began = time.monotonic()
        ended = client.wait(client.submit(job("real-tasks", ["true"], options.tasks)).id)
        elapsed_s = time.monotonic() - began
        assert ended.state == "SUCCEEDED", ended.message
        cpu = {name: round(cpu_s(found) - before[name], 2) for name, found in groups.items()}
    return {
        "tasks_per_s": round(options.tasks / elapsed_s, 1),
        "elapsed_s": round(elapsed_s, 2),
        "cpu_s_by_process": cpu,
    }
