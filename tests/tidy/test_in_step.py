"""What several languages have to say alike, each in its own words, is the same everywhere."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from contract import base, jobspec
from contract.policy import limits
from controlplane.policy import amounts, diffwords
from controlplane.statestore.models import Node
from wire.resources import AXES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("client", "contract", "controlplane", "hydra", "scheduler", "simulator", "frontend/src")
LISTED = re.compile(r"""[\[(]\s*(["']memory_mib["']\s*,\s*["']vcores_milli["'](?:\s*,\s*["']\w+["'])+)\s*,?\s*[\])]""")
DOCUMENT = "frontend/src/pages/submit/document.ts"


def files() -> Iterator[Path]:
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".sql", ".ts", ".tsx"} and path.parent.name != "migrations":
                yield path


def test_lists_of_resources() -> None:
    found = [(path, tuple(re.findall(r"\w+", names))) for path in files() for names in LISTED.findall(path.read_text())]
    assert len(found) > 2, "the lists are written otherwise: look for them in another way"
    wrong = [f"{path.relative_to(ROOT)} lists {', '.join(names)}" for path, names in found if names != AXES]
    assert not wrong, f"wire/resources.py has {', '.join(AXES)}; {'; '.join(wrong)}"


def test_what_is_said_by_resource() -> None:
    """A resource that is missing in one of these would be left out of an answer, or have no unit or word."""
    said = {
        "contract/base.py: Amounts": set(base.Amounts.model_fields),
        "contract/jobspec.py: Resources": set(jobspec.Resources.model_fields),
        "contract/policy/limits.py: LimitByResource": set(limits.LimitByResource.model_fields),
        "contract/policy/limits.py: EXAMPLES": set(limits.EXAMPLES),
        "controlplane/policy/amounts.py: _ONE": set(amounts._ONE),
        "controlplane/policy/diffwords.py: _AXES": set(diffwords._AXES),
        "controlplane/statestore/models/federation.py: Node": {f.name for f in Node._meta.get_fields()} & set(AXES),
    }
    wrong = [where for where, names in said.items() if names != set(AXES)]
    assert not wrong, f"not the resources of wire/resources.py: {', '.join(wrong)}"


def defaults_in_typescript(name: str) -> dict[str, Any]:
    """The object literal of this name in ``DOCUMENT``."""
    found = re.search(rf"const {name}: [^=]+= (\{{.*?\}});\n", (ROOT / DOCUMENT).read_text(), re.DOTALL)
    assert found, f"no {name} in {DOCUMENT}"
    quoted: dict[str, Any] = json.loads(re.sub(r",\s*\}", "}", re.sub(r"(\w+):", r'"\1":', found[1])))
    return quoted


def test_defaults_that_the_page_leaves_out_of_a_job_file() -> None:
    shown = {"resources", "queue", "groups"}  # also where they are the default ones
    for name, model in (("JOB_DEFAULTS", jobspec.JobSpec), ("GROUP_DEFAULTS", jobspec.GroupSpec)):
        fields = {field: f for field, f in model.model_fields.items() if not f.is_required() and field not in shown}
        given = {field: getattr(f.default, "model_dump", lambda d=f.default: d)() for field, f in fields.items()}
        assert defaults_in_typescript(name) == given, f"{name} in {DOCUMENT} is not contract/jobspec.py's"
