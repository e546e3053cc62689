"""Every limit that tests judge has its row in docs/reliability.md, and every row its test."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.gate.promises import ROW

ROOT = Path(__file__).resolve().parents[2]
NAMED_AT = {"limit": 0, "judge": 0, "converges": 0, "within": 2}  # which argument is the promise's name
OF_THE_GATE = ROOT / "tests" / "unit" / "gate"  # plays with limits of nothing


def rows() -> set[str]:
    text = (ROOT / "docs" / "reliability.md").read_text()
    return {found["name"] for line in text.splitlines() if (found := ROW.match(line))}


def names() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Where a limit is judged, and its name; what is put into that may be anything."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text()
        if "tests.limits" not in text or path.is_relative_to(OF_THE_GATE):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAMED_AT:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", pattern(node.args[NAMED_AT[node.func.id]])


def pattern(name: ast.expr) -> re.Pattern[str]:
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    return re.compile("".join(re.escape(str(p.value)) if isinstance(p, ast.Constant) else ".+" for p in parts))


def test_every_limit_has_its_row_and_every_row_its_test() -> None:
    found, known = dict(names()), rows()
    assert not {at: name.pattern for at, name in found.items() if not any(name.fullmatch(row) for row in known)}
    exact = [name for name in found.values() if name.pattern != ".+"]
    assert not {row for row in known if not any(name.fullmatch(row) for name in exact)}
