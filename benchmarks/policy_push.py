"""A durable policy version pushed to RMs, routers, the GPG and thousands of hollow nodes: until all acknowledge it."""

import argparse
import time
from typing import Any

from benchmarks.hollow_fleet import hollow_fleet
from benchmarks.hollow_rm import wait_for_kernels
from benchmarks.stack import cpu_s, stack
from client import Client
from contract.rollouts import Convergence

READY_S = 1800.0  # until the nodes are registered and up
CONVERGED_S = 60.0
QUIET_S = 3.0  # between two pushes
COMPONENTS = ("rm", "router", "gpg")


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench policy-push")
    parser.add_argument("--sub-clusters", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=2500, help="hollow nodes of each sub-cluster")
    parser.add_argument("--players", type=int, default=4, help="processes that play the nodes")
    parser.add_argument("--pushes", type=int, default=5)
    options = parser.parse_args(argv)
    total = options.sub_clusters * options.nodes
    with stack("--sub-clusters", str(options.sub_clusters), "--nodes", "0") as running:
        wait_for_kernels()
        fleet = hollow_fleet(running, options.nodes, options.players, [])
        with fleet as players, running.client("operator") as client:
            wait(client, total)
            groups = running.processes() | {"hollow nodes": players}
            before, began = {name: cpu_s(found) for name, found in groups.items()}, time.monotonic()
            pushes = [push(client, total, number) for number in range(options.pushes)]
            seconds = time.monotonic() - began
            cpu = {name: round((cpu_s(found) - before[name]) / seconds, 3) for name, found in groups.items()}
    worst = {name: max(p[name] for p in pushes) for name in ("nodes_p99_ms", "nodes_max_ms", "components_max_ms")}
    return {"nodes": total, "sub_clusters": options.sub_clusters} | worst | {"pushes": pushes, "cores_used": cpu}


def wait(client: Client, nodes: int) -> None:
    """Until every node is up and says that it runs the version in force."""
    until = time.monotonic() + READY_S
    while time.monotonic() < until:
        found = client.policy_convergence()
        if found.converged and by_kind(found)["node"].on_version == nodes:
            time.sleep(QUIET_S)
            return
        time.sleep(1.0)
    raise SystemExit(f"bench policy-push: {nodes} nodes were not up within {READY_S:.0f} s: {found}")


def push(client: Client, nodes: int, number: int) -> dict[str, Any]:
    """Put a version in force that changes one parameter; the times until all acknowledged it.

    They are measured where each acknowledgement is taken in, from the moment
    the version was put in force on, by the database's clock.
    """
    document = client.policy().document or {}
    document["components"]["locality"]["parameters"]["node_wait_s"] = 3.0 + number % 2 + 1
    began = time.monotonic()
    version = client.apply_policy(document, f"push {number}").version
    answered_s = time.monotonic() - began
    while True:
        found = client.policy_convergence(version)
        if found.converged and by_kind(found)["node"].on_version >= nodes:
            break
        if time.monotonic() - began > CONVERGED_S:
            raise SystemExit(f"bench policy-push: not converged within {CONVERGED_S:.0f} s: {found}")
        time.sleep(0.1)
    seen_s = time.monotonic() - began
    kinds = by_kind(found)
    time.sleep(QUIET_S)
    return {
        "nodes_p50_ms": ms(kinds["node"].p50_s),
        "nodes_p99_ms": ms(kinds["node"].p99_s),
        "nodes_max_ms": ms(kinds["node"].max_s),
        "components_max_ms": max(ms(kinds[kind].max_s) for kind in COMPONENTS if kinds[kind].total),
        **{f"{kind}_max_ms": ms(kinds[kind].max_s) for kind in COMPONENTS},
        "answered_ms": round(answered_s * 1000),
        "seen_converged_ms": round(seen_s * 1000),
    }


def by_kind(found: Convergence) -> dict[str, Any]:
    return {kind.kind: kind for kind in found.kinds}


def ms(seconds: float | None) -> float:
    return -1.0 if seconds is None else round(seconds * 1000, 1)
