"""Counts tokens, definitions and imports in this task's share of the Python standard library.

Leaves ``part.json``: {"python": version, "modules": {module: {"tokens", "definitions", "imports": {module: times}}},
"skipped": {path: why}}. Run by hand it is the only task and takes the whole library.
"""

from __future__ import annotations

import ast
import heapq
import io
import json
import os
import platform
import sysconfig
import tokenize
from collections import Counter
from pathlib import Path

# Not the library itself: its tests (half of its bytes) and whatever was installed beside it.
LEFT_OUT = {"test", "tests", "idle_test", "site-packages", "dist-packages", "__pycache__"}


def sources(stdlib: Path) -> list[tuple[int, str]]:
    """(size in bytes, path below ``stdlib``) of every module, largest first, in an order all tasks agree on."""
    found = []
    for folder, folders, names in os.walk(stdlib):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        for name in names:
            path = Path(folder, name)
            if name.endswith(".py") and path.is_file():
                found.append((path.stat().st_size, path.relative_to(stdlib).as_posix()))
    return sorted(found, key=lambda each: (-each[0], each[1]))


def share(files: list[tuple[int, str]], index: int, count: int) -> list[str]:
    """The files of task ``index``: each file, largest first, goes to the task that has least so far."""
    loads = [(0, task) for task in range(count)]
    mine = []
    for size, path in files:
        load, task = heapq.heappop(loads)
        heapq.heappush(loads, (load + size, task))
        if task == index:
            mine.append(path)
    return mine


def imported(tree: ast.AST, package: str) -> Counter[str]:
    """How often each module is imported; relative imports are spelt out from ``package``."""
    names: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            target = ".".join([*above, *([node.module] if node.module else [])])
            if target:
                names[target] += 1
    return names


def count(path: Path, module: str, is_package: bool) -> dict[str, object]:
    """One module's figures. Raises SyntaxError, UnicodeDecodeError or tokenize.TokenError for what is not Python."""
    source = path.read_bytes()
    tokens = sum(1 for _ in tokenize.tokenize(io.BytesIO(source).readline))
    tree = ast.parse(source, filename=str(path))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {
        "tokens": tokens,
        "definitions": sum(isinstance(node, kinds) for node in ast.walk(tree)),
        "imports": dict(imported(tree, module if is_package else module.rpartition(".")[0])),
    }


def main() -> None:
    stdlib = Path(sysconfig.get_path("stdlib"))
    index = int(os.environ.get("HYDRA_TASK_INDEX", "0"))
    tasks = int(os.environ.get("HYDRA_TASK_COUNT", "1"))
    modules: dict[str, object] = {}
    skipped: dict[str, str] = {}
    for relative in share(sources(stdlib), index, tasks):
        parts = relative.removesuffix(".py").split("/")
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        try:
            modules[module] = count(stdlib / relative, module, is_package)
        except (OSError, SyntaxError, ValueError, RecursionError, tokenize.TokenError) as error:
            skipped[relative] = f"{type(error).__name__}: {error}"
    part = {"python": platform.python_version(), "modules": modules, "skipped": skipped}
    Path("part.json").write_text(json.dumps(part), encoding="utf-8")
    print(f"task {index} of {tasks}: {len(modules)} modules counted, {len(skipped)} skipped, from {stdlib}")


if __name__ == "__main__":
    main()
