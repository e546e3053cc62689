"""Merges the parts that the map tasks left behind into ``report.txt`` (for people) and ``report.json``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

TOP = 20  # rows in the tables for people; the JSON holds every module


def merge(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """One report of several parts: modules by tokens, imported modules by the number of modules that import them."""
    modules: list[dict[str, Any]] = []
    importers: Counter[str] = Counter()
    skipped: dict[str, str] = {}
    for part in parts:
        skipped.update(part["skipped"])
        for name, figures in part["modules"].items():
            imports = figures["imports"]
            importers.update(imports.keys())
            modules.append({"module": name, "tokens": figures["tokens"], "definitions": figures["definitions"],
                            "imports": sum(imports.values())})  # fmt: skip
    modules.sort(key=lambda each: (-each["tokens"], each["module"]))
    return {
        "python": sorted({part["python"] for part in parts}),
        "totals": {key: sum(each[key] for each in modules) for key in ("tokens", "definitions", "imports")}
        | {"modules": len(modules)},
        "modules": modules,
        "most_imported": [
            {"module": name, "importers": number}
            for name, number in sorted(importers.items(), key=lambda each: (-each[1], each[0]))
        ],
        "skipped": skipped,
    }


def table(titles: list[str], rows: list[list[Any]]) -> list[str]:
    """Lines of a table: a rank, the first column to the left, numbers to the right."""
    cells = [["#", *titles]] + [
        [str(rank), *(f"{value:,}" if isinstance(value, int) else value for value in row)]
        for rank, row in enumerate(rows, 1)
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(titles) + 1)]
    lines = [
        "  ".join(text.ljust(width) if column == 1 else text.rjust(width)
                  for column, (text, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in cells
    ]  # fmt: skip
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def text(report: dict[str, Any]) -> str:
    totals = report["totals"]
    largest = [[m["module"], m["tokens"], m["definitions"], m["imports"]] for m in report["modules"][:TOP]]
    wanted = [[m["module"], m["importers"]] for m in report["most_imported"][:TOP]]
    lines = [
        f"The standard library of Python {', '.join(report['python'])}",
        ", ".join(f"{totals[key]:,} {key}" for key in ("modules", "tokens", "definitions", "imports")),
        "",
        f"The {len(largest)} largest modules",
        "",
        *table(["module", "tokens", "definitions", "imports"], largest),
        "",
        f"The {len(wanted)} most imported modules",
        "",
        *table(["module", "imported by"], wanted),
    ]
    if report["skipped"]:
        lines += ["", f"Left out, being no readable Python: {', '.join(sorted(report['skipped']))}"]
    return "\n".join(lines) + "\n"


def main() -> None:
    paths = sorted(Path("parts").glob("*.json"))
    if not paths:
        sys.exit("reduce: there are no parts to merge in parts/")
    report = merge([json.loads(path.read_text(encoding="utf-8")) for path in paths])
    if not report["modules"]:
        sys.exit("reduce: the map tasks found no modules; is this Python's library here as sources?")
    Path("report.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    Path("report.txt").write_text(text(report), encoding="utf-8")
    print(text(report), end="")


if __name__ == "__main__":
    main()
