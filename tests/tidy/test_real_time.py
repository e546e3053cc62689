"""Real time is waited for and measured by ``tests.patience`` and ``tests.limits``: elsewhere it measures the machine.

What is bounded by a number of its own stretches that by how slow the machine is (``stretched``, ``FACTOR``). Not looked
at: looks at most a second apart, clients of a network, whose answers have patience enough, and names for numbers.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
THEMSELVES = {"tests/patience.py", "tests/machine.py", "tests/limits.py"}
CLOCKS = {f"time.{name}" for name in ("monotonic", "perf_counter", "process_time", "time")}
WAITS = {"wait", "join", "communicate"}  # methods of processes, threads and events
RUNS = {"subprocess.run", "subprocess.check_output", "asyncio.timeout", "asyncio.wait"}
PACE_S = 1.0


def called(node: ast.AST) -> str:
    """Its name as it is written, of a call."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def measures(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and any(called(part) in CLOCKS for part in ast.walk(node))


def sleeps(node: ast.AST) -> bool:
    """Giving way to other coroutines is no sleep."""
    if called(node) == "asyncio.sleep":
        return not (isinstance(node, ast.Call) and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
    return called(node) == "time.sleep" or called(node).endswith(".wait_for_timeout")


def unstretched(node: ast.AST) -> bool:
    name = called(node)
    if not isinstance(node, ast.Call) or (name not in RUNS and name.rpartition(".")[2] not in WAITS):
        return False
    limits = [word.value for word in node.keywords if word.arg == "timeout"]
    if name == "asyncio.timeout" or (name not in RUNS and len(node.args) == 1 and not node.keywords):
        limits += node.args
    return any(isinstance(x, ast.Constant) and isinstance(x.value, int | float) and x.value > PACE_S for x in limits)


def wrong(text: str) -> Iterator[tuple[int, str]]:
    """Line and what is wrong there."""
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 0)
        if measures(node):
            yield line, "compares elapsed time: use tests.limits"
        if sleeps(node):
            yield line, "sleeps: wait_until, or let_pass and passes where time itself has to pass"
        if unstretched(node):
            yield line, "waits for a number of seconds, however slow the machine: stretched"


def test_tests_wait_and_measure_in_one_place() -> None:
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if name not in THEMSELVES and not name.startswith("tests/gate/"):
            found += [f"{name}:{line} {what}" for line, what in wrong(path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("assert time.time() - since < 1.0", 1),
        ("await asyncio.sleep(0.2)", 1),
        ("await asyncio.sleep(0)", 0),
        ("page.wait_for_timeout(800)", 1),
        ("async with asyncio.timeout(30): pass", 1),
        ("async with asyncio.timeout(stretched(30)): pass", 0),
        ("thread.join(10)", 1),
        ("over.wait(0.2); ', '.join(names); client.wait(1, told)", 0),
        ("process.communicate(timeout=20)", 1),
        ("subprocess.run(words, timeout=280)", 1),
        ("subprocess.run(words, timeout=280 * FACTOR)", 0),
    ],
)
def test_what_is_found(text: str, count: int) -> None:
    module = text if "await" not in text and "async with" not in text else f"async def f():\n    {text}"
    assert len(list(wrong(module))) == count
