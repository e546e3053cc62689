"""How a job's stored specification is read, whatever release has stored it."""

from dataclasses import asdict, fields
from typing import Any

import pytest

from contract import stored
from contract.jobspec import FileSpec, GroupSpec, HealthCheckSpec, InputSpec, JobSpec, MasterSpec, OutputSpec, PortSpec
from contract.masters import AskSpec, LaunchSpec, Runs
from contract.stored import StoredGroup
from wire.resources import NOTHING
from wire.template import File, HealthCheck, Input, Output, Port

LEAST: dict[str, Any] = {"name": "map", "command": ["true"]}
DIGEST = "ab" * 32
ELSEWHERE = {"resources", "locality", "execution_type"}  # taken apart, and what no RM reads
FULL = GroupSpec(
    name="map", command=["echo", "hello"], count=3, env={"A": "b"}, after=["first"], retries=2, timeout_s=60,
    grace_s=1.5, node_labels="gpu", partition="", placement="pack", gang=True, parallelism=2,
    estimated_duration_s=45.0, files=[FileSpec(path="a.py", digest=DIGEST, size=7)],
    inputs=[InputSpec(group="first", name="out", path="in-{index}")], outputs=[OutputSpec(name="out", path="out.txt")],
    ports=[PortSpec(name="web")], health_check=HealthCheckSpec(port="web", http="/up"),
    locality={"nodes": ["n1"], "racks": ["r1", "r2"], "relax": False},  # type: ignore[arg-type]
    array={"rate": [0.1, 0.2]},
    resources={"memory_mib": 1024, "vcores_milli": 500, "gpus": 1},  # type: ignore[arg-type]
)  # fmt: skip


def test_every_field_of_a_group_is_read() -> None:
    group = stored.group(FULL.model_dump(mode="json"))
    plain = {field.name for field in fields(StoredGroup)} & set(GroupSpec.model_fields) - ELSEWHERE
    assert plain | ELSEWHERE == set(GroupSpec.model_fields)
    parts = {"files", "inputs", "outputs", "ports", "health_check"}
    assert {n: getattr(group, n) for n in plain - parts} == {n: getattr(FULL, n) for n in plain - parts}
    assert (group.resources, group.nodes, group.racks, group.relax) == (
        (1024, 500, 1, *NOTHING[3:]),
        ("n1",),
        ("r1", "r2"),
        False,
    )
    assert (group.files, group.ports) == ([File("a.py", DIGEST, 7, 0o644)], [Port("web")])
    assert group.inputs == [Input("first", "out", "in-{index}")]
    assert group.outputs == [Output("out", "out.txt", optional=False)]
    assert group.health_check == HealthCheck("web", "/up", 10.0, 3.0, 30.0, 3)


def test_what_is_left_out_has_the_contracts_default() -> None:
    least, said = stored.group(LEAST), GroupSpec(**LEAST).model_dump(mode="json")
    assert least == stored.group(said)
    assert least == stored.group(LEAST | {"resources": {}, "locality": {}})
    parts = {"files": [{"path": "a", "digest": DIGEST}], "outputs": [{"name": "o", "path": "o"}]}
    parts |= {"health_check": {"port": "web"}}  # type: ignore[dict-item]
    assert stored.group(LEAST | parts) == stored.group(GroupSpec(**LEAST, **parts).model_dump(mode="json"))


def test_what_a_later_release_has_added_is_passed_over() -> None:
    added = {"of_a_later_release": 5, "resources": {"of_a_later_release": 7}}
    assert stored.group(LEAST | added) == stored.group(LEAST)


@pytest.mark.parametrize("wrong", [{"resources": 7}, {"locality": ["n1"]}, {"files": [7]}])
def test_what_cannot_be_read_says_so(wrong: dict[str, Any]) -> None:
    with pytest.raises((AttributeError, LookupError, TypeError)):
        stored.group(LEAST | wrong)


def test_one_text_is_one_word() -> None:
    assert stored.group({"name": "map", "command": "true"}).command == ["true"]


def test_a_job_is_its_groups_and_what_its_master_declares() -> None:
    batch = stored.job(JobSpec(name="it", groups=[FULL]).model_dump(mode="json"))
    assert (batch.queue, batch.declared) == ("root.default", None)
    assert batch.groups == [stored.group(FULL.model_dump(mode="json"))]
    master: dict[str, Any] = {"command": ["true"], "parallelism": 4, "container": {"resources": {"gpus": 1}}}
    spec = JobSpec(name="it", kind="application", master=MasterSpec.model_validate(master)).model_dump(mode="json")
    assert stored.job(spec).declared == (4, (256, 1000, 1, *NOTHING[3:]), None)
    for lacking in ({"parallelism": 0}, {"container": None}):
        assert stored.job(spec | {"master": master | lacking}).declared is None


def test_files_of_the_job_are_those_of_each_group() -> None:
    job_files, own = [{"path": "a", "digest": DIGEST}], [{"path": "b", "digest": DIGEST}]
    groups = [LEAST, LEAST | {"files": own}, LEAST]
    found = stored.job({"groups": groups, "files": job_files}).groups
    assert [[f.path for f in g.files] for g in found] == [["a"], ["a", "b"], ["a"]]
    assert found[0].files is found[2].files, "read once"
    merged = stored.job({"groups": [LEAST | {"files": job_files + own}], "files": []}).groups  # an older release's
    assert merged[0].files == found[1].files


def test_what_a_master_asks_for_is_a_group_that_may_be_held() -> None:
    ask = AskSpec(id="work", target=5, node_labels="gpu").stored()
    held = stored.group(ask | {"count": 7, "target": 5})
    assert (held.name, held.count, held.target, held.held, held.command) == ("work", 7, 5, True, [])
    assert not stored.group(LEAST).held and stored.group(LEAST | {"count": 7}).target == 7


def test_a_launch_says_what_its_container_runs_and_nothing_else() -> None:
    held = stored.group(AskSpec(id="work", target=5, node_labels="gpu", grace_s=9.0).stored() | {"count": 5})
    runs = {"shell": True, "env": {"A": "b"}, "timeout_s": 7, "grace_s": 2.0, "outputs": [{"name": "o", "path": "o"}]}
    runs |= {"files": [{"path": "a", "digest": DIGEST}], "secrets": [{"name": "db", "env": "PASSWORD"}]}
    launch = LaunchSpec(container="c-1-1-1", command=["echo hi"], **runs)  # type: ignore[arg-type]
    before, after = asdict(held), asdict(stored.launched(held, launch.stored()))
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"command", *Runs.model_fields}
    assert (after["command"], after["env"], after["timeout_s"]) == (["echo hi"], {"A": "b"}, 7)
