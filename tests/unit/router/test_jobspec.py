"""What a job may say, and how it is told what is wrong."""

from difflib import get_close_matches
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract import findings, yamltext
from contract.jobspec import parse
from tests.amounts import by_axis
from tests.unit.router.specs import file, group, job


def test_defaults_are_filled_in() -> None:
    spec, errors = parse(job())
    assert not errors and spec is not None
    assert spec.model_dump() == {
        "name": "a-job",
        "kind": "batch",
        "queue": "root.default",
        "priority": None,
        "tags": [],
        "notify": [],
        "files": [],
        "groups": [
            {
                "name": "map",
                "count": 1,
                "command": ["true"],
                "shell": False,
                "resources": by_axis(memory_mib=256, vcores_milli=1000),
                "env": {},
                "files": [],
                "inputs": [],
                "outputs": [],
                "after": [],
                "retries": 0,
                "timeout_s": 0,
                "grace_s": 5.0,
                "execution_type": "guaranteed",
                "locality": {"nodes": [], "racks": [], "relax": True},
                "node_labels": "",
                "partition": None,
                "placement": None,
                "gang": False,
                "parallelism": 0,
                "estimated_duration_s": 0.0,
                "ports": [],
                "health_check": None,
                "array": {},
                "secrets": [],
            }
        ],
        "master": None,
    }


def test_what_is_stored_can_be_submitted_again() -> None:
    spec, _ = parse(job(group(files=[file("b")]), group(name="red"), files=[file("a")]))
    assert spec is not None
    again, errors = parse(spec.model_dump())
    assert again == spec and not errors


def test_two_files_of_one_path_are_named_once() -> None:
    groups = group(files=[file("a")]), group(name="red")
    _, errors = parse(job(*groups, files=[file("b"), file("b")]))
    assert [e.field for e in errors] == ["files"] and "'b'" in errors[0].message
    _, errors = parse(job(*groups, files=[file("a")]))
    assert [e.field for e in errors] == ["groups.0.files"] and "'a'" in errors[0].message


MAP = group(count=2, outputs=[{"name": "part", "path": "p"}])


def reading(path: str = "in/{index}", **fields: Any) -> dict[str, Any]:
    item = {"group": "map", "name": "part", "path": path} | fields
    return group(name="red", after=["map"], inputs=[item])


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({}, "name"),
        ([], "job"),
        (None, "job"),
        (job(name="A"), "name"),
        (job(name="a\n"), "name"),
        (job(name="a" * 129), "name"),
        (job(queue="root..x"), "queue"),
        (job(priority=500), "priority"),
        (job(priority="1"), "priority"),
        (job(priority=True), "priority"),
        (job(group(gang=1)), "groups.0.gang"),
        (job(group(partition="GPU")), "groups.0.partition"),
        (job(group(placement="align")), "groups.0.placement"),
        (job(group(execution_type="opportunistic")), "groups.0.execution_type"),
        (job(group(locality={"relax": False})), "groups.0.locality.relax"),
        (job(tags=["a b"]), "tags.0"),
        (job(more=1), "more"),
        (job(group(count=0)), "groups.0.count"),
        (job(group(count=1_000_001)), "groups.0.count"),
        (job(group(command=[])), "groups.0.command"),
        (job(group(command=[""])), "groups.0.command.0"),
        (job(group(command=["a\0b"])), "groups.0.command.0"),
        (job(group(command=["\ud800"])), "groups.0.command.0"),
        (job(group(command=["a", "b"], shell=True)), "groups.0.command"),
        (job(group(command=["x" * 200_000])), "groups.0.command"),
        (job(group(env={"1A": "x"})), "groups.0.env.1A"),
        (job(group(env={"A=B": "x"})), "groups.0.env.A=B"),
        (job(group(env={"HYDRA_JOB_ID": "7"})), "groups.0.env.HYDRA_JOB_ID"),
        (job(group(env={"A": "x\0"})), "groups.0.env.A"),
        (job(group(env={f"A{i}": "x" * 50_000 for i in range(3)})), "groups.0.env"),
        (job(group(env={"A": {"secret": "db"}})), "groups.0.env.A"),
        (job(group(secrets=[{"name": "a b", "env": "A"}])), "groups.0.secrets.0.name"),
        (job(group(secrets=[{"name": "db"}])), "groups.0.secrets.0"),
        (job(group(secrets=[{"name": "db", "env": "A", "path": "a"}])), "groups.0.secrets.0"),
        (job(group(secrets=[{"name": "db", "env": "HYDRA_A"}])), "groups.0.secrets.0.env"),
        (job(group(secrets=[{"name": "db", "env": "A"}], env={"A": "b"})), "groups.0.secrets.0.env"),
        (job(group(secrets=[{"name": "db", "env": "A"}] * 2)), "groups.0.secrets"),
        (job(group(secrets=[{"name": "db", "env": "A"}] * 17)), "groups.0.secrets"),
        (job(group(secrets=[{"name": "db", "path": "../a"}])), "groups.0.secrets.0.path"),
        (job(group(secrets=[{"name": "db", "path": "a"}]), files=[file("a")]), "groups.0.secrets"),
        (job(group(resources={"memory_mib": 0})), "groups.0.resources.memory_mib"),
        (job(group(resources={"gpus": 64})), "groups.0.resources.gpus"),
        (job(group(timeout_s=-1)), "groups.0.timeout_s"),
        (job(group(timeout_s=1.5)), "groups.0.timeout_s"),
        (job(group(grace_s=float("nan"))), "groups.0.grace_s"),
        (job(group(node_labels="gpu &&")), "groups.0.node_labels"),
        (job(group(node_labels="(" * 400)), "groups.0.node_labels"),
        (job(group(files=[file("a"), file("a")])), "groups.0.files"),
        (job(group(files=[file("a")]), files=[file("a")]), "groups.0.files"),
        (job(group(files=[{"path": "a", "digest": "x"}])), "groups.0.files.0.digest"),
        (job(group(files=[file("a") | {"mode": 0o4755}])), "groups.0.files.0.mode"),
        (job(group(after=["map"])), "groups.0.after"),
        (job(group(after=["nowhere"])), "groups.0.after.0"),
        (job(group(), group()), "groups.1.name"),
        (job(group(after=["b"]), group(name="b", after=["map"])), "groups.0.after"),
        (job(group(), group(name="b", after=["map"]), kind="service"), "groups.1.after.0"),
        (job(group(), group(name="b", retries=2), kind="service"), "groups.1.retries"),
        (job(MAP, group(name="red", inputs=reading()["inputs"])), "groups.1.inputs.0.group"),
        (job(MAP, reading(name="other")), "groups.1.inputs.0.name"),
        (job(MAP, reading(path="one-for-all")), "groups.1.inputs.0.path"),
        (job(group(count=600_000), group(name="b", count=600_000)), "groups"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(wrong: Any, field: str) -> None:
    spec, errors = parse(wrong)
    assert spec is None
    assert errors[0].field == field, errors
    assert errors[0].message and errors[0].remedy


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "..", "a/../b", "a//b", "./a", "a/", "", "a\0", "a\nb", "x" * 256, "é" * 128]
)
def test_no_path_leaves_the_work_folder(path: str) -> None:
    for place in ("files", "outputs"):
        entry = file(path) if place == "files" else {"name": "o", "path": path}
        spec, errors = parse(job(group(**{place: [entry]})))
        assert spec is None and errors[0].field == f"groups.0.{place}.0.path"


def test_a_graph_of_groups_is_taken() -> None:
    spec, errors = parse(job(MAP, reading(), group(name="end", after=["red", "map"], inputs=reading()["inputs"])))
    assert not errors and spec is not None


def test_a_script_may_be_one_text() -> None:
    spec, _ = parse(job(group(command="echo $HOME", shell=True)))
    assert spec is not None and spec.groups[0].command == ["echo $HOME"]


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1, max_size=5))
def test_argv_arrives_as_it_was_sent(argv: list[str]) -> None:
    spec, errors = parse(job(group(command=argv)))
    if argv[0]:
        assert spec is not None and spec.groups[0].command == argv, errors


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    )
)
def test_nothing_that_json_can_say_is_an_error_of_ours(data: Any) -> None:
    for candidate in (data, {"name": data, "groups": data}, job(group(command=data, env=data, files=data))):
        spec, errors = parse(candidate)
        assert (spec is None) == bool(errors)


def served(**check: Any) -> dict[str, Any]:
    return group(ports=[{"name": "http"}, {"name": "admin-2"}], health_check={"port": "http"} | check)


def test_ports_and_their_check_are_taken_with_defaults() -> None:
    spec, errors = parse(job(served(http="/healthz?deep=1")))
    assert not errors and spec is not None
    assert spec.groups[0].health_check is not None
    assert spec.groups[0].health_check.model_dump() == {
        "port": "http", "http": "/healthz?deep=1", "tcp": False,
        "interval_s": 10.0, "timeout_s": 3.0, "start_s": 30.0, "failures": 3,
    }  # fmt: skip
    assert not parse(job(served(tcp=True)))[1]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        (group(ports=[{"name": "http"}, {"name": "http"}]), "groups.0.ports"),
        (group(ports=[{"name": "HTTP"}]), "groups.0.ports.0.name"),
        (group(ports=[{"name": "http", "number": 80}]), "groups.0.ports.0.number"),
        (group(ports=[{"name": f"p{i}"} for i in range(17)]), "groups.0.ports"),
        (group(health_check={"port": "http", "tcp": True}), "groups.0.health_check.port"),
        (served(), "groups.0.health_check"),
        (served(http="/", tcp=True), "groups.0.health_check"),
        (served(http="healthz"), "groups.0.health_check.http"),
        (served(http="/x HTTP/1.1\r\nHost: else"), "groups.0.health_check.http"),
        (served(tcp=True, interval_s=0.5), "groups.0.health_check.interval_s"),
        (served(tcp=True, failures=0), "groups.0.health_check.failures"),
    ],
)
def test_wrong_ports_and_checks_are_named(wrong: dict[str, Any], field: str) -> None:
    spec, errors = parse(job(wrong))
    assert spec is None and errors[0].field == field and errors[0].remedy


def application(**master: Any) -> dict[str, Any]:
    return {"name": "an-app", "kind": "application", "master": {"command": ["am"]} | master}


def test_a_master_declares_containers_that_are_not_its_own() -> None:
    spec, errors = parse(application(parallelism=8, container={"resources": {"memory_mib": 2048}}))
    assert not errors and spec is not None and spec.master is not None and spec.master.container is not None
    assert spec.master.container.resources.model_dump() == by_axis(memory_mib=2048, vcores_milli=1000)
    assert (spec.master.parallelism, spec.master.container.partition) == (8, None)
    (group,) = spec.groups
    assert (group.name, group.count, group.parallelism) == ("master", 1, 0) and not hasattr(group, "container")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"parallelism": 8}, "master.container"),
        ({"container": {}}, "master.parallelism"),
        ({"parallelism": -1, "container": {}}, "master.parallelism"),
        ({"parallelism": 8, "container": {"memory_mib": 2048}}, "master.container.memory_mib"),
        ({"parallelism": 8, "container": {"resources": {"memory_mib": 0}}}, "master.container.resources.memory_mib"),
    ],
)
def test_a_wrong_declaration_is_named(wrong: dict[str, Any], field: str) -> None:
    spec, errors = parse(application(**wrong))
    assert spec is None and errors[0].field == field and errors[0].remedy


def test_expressions_of_a_job_are_bounded_together() -> None:
    distinct = [group(name=f"g{i}", node_labels=f"rack == {i:0490d}") for i in range(9)]
    _, errors = parse(job(*distinct))
    assert [e.field for e in errors] == ["groups.8.node_labels"]
    assert "4000 characters" in errors[0].message and errors[0].remedy
    assert not parse(job(*distinct[:8]))[1]
    assert not parse(job(*(group(name=f"g{i}", node_labels="rack == " + "9" * 490) for i in range(256))))[1]
    assert not parse(job(*(group(name=f"g{i}", node_labels=f"node == n{i}") for i in range(256))))[1]


def test_a_name_as_long_as_a_request_is_compared_by_its_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing takes as long as both are, each time."""
    compared: list[str] = []

    def looked_at(word: str, *more: Any) -> list[str]:
        compared.append(word)
        return get_close_matches(word, *more)

    monkeypatch.setattr(findings, "get_close_matches", looked_at)
    _, found = parse(job(**{"queues" + "x" * 100_000: 1, "queu": 2}))
    assert [len(word) for word in compared] == [findings.FIELD_PART_MAX, 4]
    assert [len(e.field) for e in found] == [findings.FIELD_PART_MAX, 4] and "did you mean queue?" in found[1].remedy


def test_amounts_and_spans_may_have_units_and_are_kept_as_numbers() -> None:
    written = {"memory_mib": "1.5 GiB", "vcores_milli": "500m", "gpus": "2 gpus"}
    check = {"port": "http", "tcp": True, "interval_s": "1m", "timeout_s": "500ms", "start_s": "2 min"}
    spans = {"timeout_s": "1h30m", "grace_s": "1.5s", "estimated_duration_s": "1d 2h"}
    one = group(resources=written, ports=[{"name": "http"}], health_check=check, **spans)
    spec, errors = parse(job(one, group(name="b", resources={"vcores_milli": "0.5 cores"}, timeout_s="0s")))
    assert spec is not None, errors
    found = spec.model_dump(exclude_defaults=True)["groups"]
    assert found[0]["resources"] == {"memory_mib": 1536, "vcores_milli": 500, "gpus": 2}
    assert found[0]["health_check"] == check | {"interval_s": 60.0, "timeout_s": 0.5, "start_s": 120.0}
    assert [found[0][name] for name in spans] == [5400, 1.5, 93600.0]
    assert found[1]["resources"] == {"vcores_milli": 500} and "timeout_s" not in found[1]
    assert parse(spec.model_dump()) == (spec, [])
    app, errors = parse(application(timeout_s="2h", container={"resources": {"memory_mib": "2 GiB"}}, parallelism=1))
    assert app is not None and app.master is not None and app.master.container is not None, errors
    assert (app.master.timeout_s, app.master.container.resources.memory_mib) == (7200, 2048)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"resources": {"memory_mib": "1 GB"}}, "'1 GB' is not an amount of memory. Give a whole number of MiB, or a"),
        ({"resources": {"memory_mib": "512"}}, "'512' is not an amount of memory"),
        ({"resources": {"memory_mib": "40%"}}, "'40%' is not an amount of memory"),
        ({"resources": {"memory_mib": "0.0001 GiB"}}, "does not come to a whole number of MiB"),
        ({"resources": {"memory_mib": "17 TiB"}}, "too large"),
        ({"resources": {"vcores_milli": 0.5}}, "Give a whole number of millicores, or a text with a unit"),
        ({"timeout_s": "1m1h"}, "Give seconds, or a text such as 90s, 5m or 1h30m."),
        ({"timeout_s": "1h1h"}, "is not a span of time"),
        ({"timeout_s": "90"}, "is not a span of time"),
        ({"timeout_s": "1.5s"}, "does not come to whole seconds"),
        ({"timeout_s": "31d"}, "too large"),
        ({"grace_s": "2h"}, "too large"),
    ],
)
def test_what_is_no_amount_is_told_with_how_to_write_one(fields: dict[str, Any], says: str) -> None:
    (error,) = parse(job(group(**fields)))[1]
    assert says in error.said()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"count": "three"}, "is no whole number. Give a whole number."),
        ({"count": "3"}, "is no whole number. Give a whole number without quotes."),
        ({"retries": None}, "is no whole number. Give a whole number."),
    ],
)
def test_quotes_are_told_of_where_they_are_what_is_wrong(fields: dict[str, Any], says: str) -> None:
    (error,) = parse(job(group(**fields)))[1]
    assert error.said().endswith(says)


EVERYTHING = """\
name: Bad Name
extra: 1
groups:
  - name: map
    count: 0
    command: echo hi there
    resources: {memory: 5}
    outputs: [{name: part, path: ../p}]
  - name: red
    command: [x]
    env: {HYDRA_X: "1", 1A: x}
    locality: {relax: false}
    after: [mop]
    inputs: [{group: map, name: part, path: p}]
  - name: last
    after: [last]
    command: ["", b]
    shell: true
    health_check: {port: http, tcp: true}
"""


def test_all_that_is_wrong_is_told_at_once_with_its_group_and_place() -> None:
    errors = yamltext.located(parse(yamltext.load(EVERYTHING))[1], EVERYTHING)
    assert [each.where for each in errors] == [
        "name (line 1, column 1)",
        "extra (line 2, column 1)",
        "groups.0.count (group map, line 5, column 5)",
        "groups.0.command (group map, line 6, column 5)",
        "groups.0.resources.memory (group map, line 7, column 17)",
        "groups.0.outputs.0.path (group map, line 8, column 28)",
        "groups.1.env.HYDRA_X (group red, line 11, column 11)",
        "groups.1.env.1A (group red, line 11, column 25)",
        "groups.1.locality.relax (group red, line 12, column 16)",
        "groups.1.after.0 (group red, line 13, column 13)",
        "groups.2.after (group last, line 16, column 5)",
        "groups.2.command (group last, line 17, column 5)",
        "groups.2.command.0 (group last, line 17, column 15)",
        "groups.2.health_check.port (group last, line 19, column 20)",
    ]


@pytest.mark.parametrize(
    ("wrong", "fields"),
    [
        (job(group(shell="yes", command="a b")), ["groups.0.shell"]),
        (job(group(ports=[{"name": "A"}], health_check={"port": "http", "tcp": True})), ["groups.0.ports.0.name"]),
        (job({"command": ["x"]}, group(name="red", after=["map"])), ["groups.0.name"]),
        (job(group(outputs=7), reading()), ["groups.0.outputs"]),
        ({"name": "a", "kind": "app", "master": {"command": ["x"]}}, ["kind"]),
        (application(command=[], parallelism=3, container=5), ["master.command", "master.container"]),
        (job(group(count=0), 5, group(name="Red", after=[1])),
         ["groups.0.count", "groups.1", "groups.2.name", "groups.2.after.0"]),
        (job(group(), group(), reading()), ["groups.1.name"]),
    ],
)  # fmt: skip
def test_what_only_follows_from_another_error_is_not_told(wrong: dict[str, Any], fields: list[str]) -> None:
    assert [each.field for each in parse(wrong)[1]] == fields


def test_a_field_of_a_group_at_the_job_is_sent_to_where_it_belongs() -> None:
    for name, value in (("partition", "big"), ("resources", {}), ("node_labels", "gpu")):
        _, errors = parse(job(group()) | {name: value})
        assert [(e.field, e.remedy) for e in errors] == [(name, "it belongs one level deeper: write it within groups")]
