"""Public test tables of other schedulers, as facts: read from the folder (or file) that HYDRA_CASES names."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Case = dict[str, Any]


def cases(kind: str, differs: Callable[[Case], str] = lambda case: "") -> list[Any]:
    """The cases of a kind as parameters; ``differs`` tells why our rule gives another answer to some, if it does."""
    folder = os.environ.get("HYDRA_CASES")
    if not folder:
        return [pytest.param({}, marks=pytest.mark.skip("HYDRA_CASES names no folder with peer_cases.json"))]
    path = Path(folder)
    found = json.loads((path / "peer_cases.json" if path.is_dir() else path).read_text())["cases"]
    return [
        pytest.param(case, id=case["id"], marks=pytest.mark.xfail(strict=True, reason=why) if why else ())
        for case in found
        if case["kind"] == kind
        for why in [differs(case)]
    ]
