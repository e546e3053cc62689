"""What several languages have to say alike, each in its own words, is the same everywhere."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.urls import resolve

from contract import base, jobspec
from contract.policy import limits
from controlplane.dashboard import urls, views
from controlplane.rm.rows import CapacityRow, NodeRow, PlaceRow
from controlplane.statestore.models import Container
from controlplane.statestore.models.amounts import AmountFields, UsedFields
from controlplane.statestore.resourcecolumns import SECONDS
from nodemanager.config import Config
from simulator.workload import Machine, SubmittedGroup
from wire import desired, execs
from wire.desired import Lease
from wire.nodeapi import Register
from wire.resources import AXES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("client", "contract", "controlplane", "hydra", "scheduler", "simulator", "frontend/src")
LISTED = re.compile(r"""[\[(]\s*(["']memory_mib["']\s*,\s*["']vcores_milli["'](?:\s*,\s*["']\w+["'])+)\s*,?\s*[\])]""")
DOCUMENT = "frontend/src/pages/submit/document.ts"


def files() -> Iterator[Path]:
    for folder in SOURCES:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".ts", ".tsx"} and path.parent.name != "migrations":
                yield path


def test_addresses_of_pages() -> None:
    """Each of the front end's pages answers 200 by itself, and nothing else does."""
    text = (ROOT / "frontend/src/app/pages.tsx").read_text()
    known = set(re.findall(r'to: "/(\w*)"', text))
    assert known == {"", *urls.PAGES}
    served = [*(f"/{name}" for name in known), "/login", "/jobs/1/terminal", "/admin/joining"]
    assert {resolve(address).func for address in served} == {views.page}
    assert {resolve(address).func for address in ("/job", "/jobsx", "/wp-admin/jobs")} == {views.unknown}


def test_lists_of_resources() -> None:
    """The page has one of its own; everywhere else they are those of ``wire.resources``."""
    found = [(path, tuple(re.findall(r"\w+", names))) for path in files() for names in LISTED.findall(path.read_text())]
    listed = [(str(path.relative_to(ROOT)), names) for path, names in found]
    assert listed == [("frontend/src/format/resources.ts", AXES)]


def test_what_is_said_by_resource() -> None:
    """A resource that is missing in one of these would be left out of an answer, or have no unit or word."""
    said = {
        "contract/base.py: Amounts": set(base.Amounts.model_fields),
        "contract/jobspec.py: Resources": set(jobspec.Resources.model_fields),
        "contract/policy/limits.py: LimitByResource": set(limits.LimitByResource.model_fields),
        "controlplane/statestore/models/amounts.py: AmountFields": {f.name for f in AmountFields._meta.get_fields()},
        "controlplane/statestore/models/containers.py": {f.name for f in Container._meta.get_fields()} & set(AXES),
        "controlplane/rm/rows.py: NodeRow": set(NodeRow._fields) & set(AXES),
        "controlplane/rm/rows.py: CapacityRow": set(CapacityRow._fields) & set(AXES),
        "controlplane/rm/rows.py: PlaceRow": set(PlaceRow._fields) & set(AXES),
        "wire/nodeapi.py: Register": {f.name for f in fields(Register)} & set(AXES),
        "wire/desired.py: Lease": {f.name for f in fields(Lease)} & set(AXES),
        "nodemanager/config.py: Config": {f.name for f in fields(Config)} & set(AXES),
        "simulator/workload.py: SubmittedGroup": {f.name for f in fields(SubmittedGroup)} & set(AXES),
        "simulator/workload.py: Machine": {f.name for f in fields(Machine)} & set(AXES),
    }
    said["controlplane/statestore/models/amounts.py: UsedFields"] = {
        axis
        for axis, column in zip(AXES, SECONDS, strict=True)
        if column in {f.name for f in UsedFields._meta.get_fields()}
    }
    wrong = [where for where, names in said.items() if names != set(AXES)]
    assert not wrong, f"not the resources of wire/resources.py: {', '.join(wrong)}"


def test_layouts_that_follow_from_the_resources() -> None:
    """Of another layout than this version's, a node would read something else into a lease."""
    told = {1: "<qIqHHIIQIIQIII32s"}
    assert desired.LEASE.format == told.get(desired.VERSION), "a layout of its own has a VERSION of its own: add both"


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


def test_the_pages_terminal_speaks_the_frames_of_execs() -> None:
    """Numbers of kinds and of what may be on its way: in another step, a terminal would stand still or be cut off."""
    text = (ROOT / "frontend/src/pages/job/terminal/frames.ts").read_text()
    kinds = dict(re.findall(r"(\w+): (\d+)", text[: text.index("as const")]))
    assert kinds == {kind.name: str(kind.value) for kind in execs.Kind}
    sizes = dict(re.findall(r"export const (\w+) = ([\d_]+);", text))
    assert {name: int(size) for name, size in sizes.items()} == {
        name: getattr(execs, name) for name in ("DATA_MAX", "WINDOW", "OVERHEAD")
    }
