"""Kubernetes Jobs as jobs: what each field becomes, what is lost, what is wrong, and what its command finds."""

import os
import re
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from client.errors import InvalidJob, placed
from client.imports import Converted, converted
from client.imports.report import Fate
from contract.problems import FieldError

MANIFEST: dict[str, Any] = {
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pi"},
    "spec": {"template": {"spec": {
        "containers": [{"name": "main", "command": ["echo"], "resources": {"requests": {"cpu": 1, "memory": "64Mi"}}}],
        "restartPolicy": "Never",
    }}},
}  # fmt: skip
POD = "spec.template.spec"
MAIN = f"{POD}.containers.0"


def manifest(**changes: object) -> str:
    """The manifest with values at dotted paths, dots in names as slashes; None takes one away."""
    found: Any = deepcopy(MANIFEST)
    for path, value in changes.items():
        *way, last = (int(p) if p.isdigit() else p.replace("/", ".") for p in path.split("."))
        at = found
        for part in way:
            at = at[part] if isinstance(at, list) else at.setdefault(part, {})
        if value is None:
            del at[last]
        else:
            at[last] = value
    return yaml.safe_dump(found, sort_keys=False)


def made(**changes: object) -> Converted:
    found = converted(manifest(**changes), "job.yaml")
    assert found is not None
    return found


def group(**changes: object) -> dict[str, Any]:
    found = made(**changes).spec["groups"][0]
    assert isinstance(found, dict)
    return found


def test_the_least_manifest() -> None:
    found = made()
    assert found.spec == {
        "name": "pi",
        "groups": [
            {"name": "pod", "command": ["echo"], "resources": {"memory_mib": 64, "vcores_milli": 1000}, "count": 1,
             "retries": 6},
        ],
    }  # fmt: skip
    assert not found.lost


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"spec.completions": 5}, "count", 5),
        ({"spec.completions": 5, "spec.parallelism": 5}, "count", 5),
        ({"spec.parallelism": 3}, "count", 3),
        ({"spec.backoffLimit": 2}, "retries", 2),
        ({"spec.backoffLimit": 1000}, "retries", 100),
        ({"spec.backoffLimitPerIndex": 1, "spec.backoffLimit": 9}, "retries", 1),
        ({"spec.activeDeadlineSeconds": 60}, "timeout_s", 60),
        ({"spec.activeDeadlineSeconds": 60, f"{POD}.activeDeadlineSeconds": 30}, "timeout_s", 30),
        ({"spec.activeDeadlineSeconds": 10**8}, "timeout_s", None),
        ({f"{POD}.terminationGracePeriodSeconds": 20}, "grace_s", 20),
        ({f"{POD}.nodeSelector": {"disk": "ssd", "a.b/c": "d"}}, "node_labels", "disk == ssd && a.b/c == d"),
        ({f"{POD}.nodeName": "n1"}, "locality", {"nodes": ["n1"], "relax": False}),
        ({f"{MAIN}.args": ["a", "b"]}, "command", ["echo", "a", "b"]),
        ({f"{MAIN}.env": [{"name": "A", "value": "1"}, {"name": "B"}]}, "env", {"A": "1", "B": ""}),
        (
            {f"{MAIN}.env": [{"name": "A", "value": "1"}], f"{MAIN}.args": ["$(A)", "$$(A)", "$(C)", "$A"]},
            "command",
            ["echo", "1", "$(A)", "$(C)", "$A"],
        ),
        (
            {f"{MAIN}.resources": {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"cpu": 4, "memory": "2G"}}},
            "resources",
            {"memory_mib": 1908, "vcores_milli": 250},
        ),
        (
            {f"{MAIN}.resources": {"limits": {"cpu": 0.5, "memory": 134217729, "nvidia.com/gpu": 2}}},
            "resources",
            {"memory_mib": 129, "vcores_milli": 500, "gpus": 2},
        ),
        ({f"{MAIN}.resources": {"limits": {"cpu": "2", "memory": "1e9"}}}, "resources",
         {"memory_mib": 954, "vcores_milli": 2000}),
    ],
)  # fmt: skip
def test_fields_become_fields(changes: dict[str, object], field: str, value: object) -> None:
    found = made(**changes)
    assert found.spec["groups"][0].get(field) == value
    assert not found.lost, [r.text() for r in found.lost]


def test_it_is_said_which_of_request_and_limit_is_taken() -> None:
    both = {"requests": {"cpu": "250m", "memory": "1Gi"}, "limits": {"cpu": 4, "memory": "2G"}}
    found = made(**{f"{MAIN}.resources": both})
    said = {r.what.rpartition("resources.")[2]: (r.became, r.fate) for r in found.remarks if "resources." in r.what}
    assert said == {
        "requests.cpu": ("vcores_milli: 250, the request", Fate.TAKEN),
        "limits.cpu": ("the request is taken, for which room is kept", Fate.NOTED),
        "limits.memory": ("memory_mib: 1908, the limit", Fate.TAKEN),
        "requests.memory": ("the limit is taken, beyond which a task is stopped", Fate.NOTED),
    }
    (alone,) = [r.became for r in made().remarks if r.what.endswith("requests.memory")]
    assert alone == "memory_mib: 64"


def test_labels_are_tags() -> None:
    found = made(**{"metadata.labels": {"app": "pi", "long": "x" * 63}})
    assert found.spec["tags"] == ["app=pi"]
    assert any("1 of them cannot be a tag" in r.became for r in found.remarks)


@pytest.mark.parametrize(
    ("changes", "what", "why"),
    [
        ({f"{MAIN}.image": "perl:5"}, "containers[0].image", "not in images"),
        ({f"{POD}.volumes": [{"name": "v", "emptyDir": {}}]}, "volumes[0]", "work folder"),
        ({f"{MAIN}.volumeMounts": [{"name": "v", "mountPath": "/v"}]}, "containers[0].volumeMounts[0]", "work folder"),
        ({f"{POD}.initContainers": []}, "initContainers", "a group of their own"),
        ({f"{POD}.affinity": {}}, "affinity", "node_labels"),
        ({f"{MAIN}.envFrom": [{"configMapRef": {"name": "c"}}]}, "containers[0].envFrom[0]", "say the variables"),
        ({f"{MAIN}.envFrom": [{"secretRef": {"name": "s"}}]}, "containers[0].envFrom[0]", "keys s has is not known"),
        ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}}]},
         "containers[0].env[0]", "A has no value: configMapKeyRef"),
        ({f"{MAIN}.env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s" * 62, "key": "k"}}}]},
         "containers[0].env[0]", "cannot be the name of a secret"),
        ({f"{MAIN}.resources.limits": {"hugepages-2Mi": "4Mi"}}, "containers[0].resources.limits.hugepages-2Mi",
         "no such resource"),
        ({"spec.suspend": True}, "spec.suspend", "begin at once"),
        ({"spec.parallelism": 0}, "spec.parallelism", "begin at once"),
        ({"spec.completions": 5, "spec.parallelism": 2}, "spec.parallelism", "not 2 at most"),
        ({"spec.podFailurePolicy": {}}, "spec.podFailurePolicy", "every failure"),
        ({"spec.completion": 3}, "spec.completion", "did you mean completions?"),
        ({f"{POD}.containers.0.comand": ["x"]}, "containers[0].comand", "did you mean command?"),
    ],
)  # fmt: skip
def test_what_is_lost_is_said_with_its_line(changes: dict[str, object], what: str, why: str) -> None:
    (lost,) = made(**changes).lost
    assert (lost.what, why in lost.became) == (what, True), lost
    key = what.rpartition(".")[2].partition("[")[0]
    named = manifest(**changes).splitlines()[lost.line - 1]
    assert f"{key}:" in named or (lost.what.endswith("]") and named.lstrip().startswith("- "))


def test_further_containers_and_documents_are_lost() -> None:
    (lost,) = made(**{f"{POD}.containers": [*MANIFEST["spec"]["template"]["spec"]["containers"], {"name": "b"}]}).lost
    assert "only the first" in lost.became
    two = manifest() + "---\napiVersion: v1\nkind: ConfigMap\n"
    found = converted(two, "job.yaml")
    assert found is not None
    assert [(r.what, r.line) for r in found.lost] == [("kind: ConfigMap", two.splitlines().index("---") + 2)]


@pytest.mark.parametrize(
    "name",
    ["spec.ttlSecondsAfterFinished", f"{POD}.tolerations", f"{MAIN}.imagePullPolicy", f"{MAIN}.livenessProbe",
     "metadata.namespace", f"{POD}.serviceAccountName"],
)  # fmt: skip
def test_what_changes_nothing_is_noted(name: str) -> None:
    found = made(**{name: "x"})
    assert not found.lost
    assert [r.fate for r in found.remarks if r.what.endswith(name.rpartition(".")[2])] == [Fate.NOTED]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"apiVersion": "batch/v1beta1"}, "line 1: apiVersion is 'batch/v1beta1'. Only batch/v1 can be taken over."),
        ({f"{POD}.restartPolicy": None}, "restartPolicy is missing, and so Always. A Job's is Never or OnFailure."),
        ({f"{POD}.restartPolicy": "Always"}, "restartPolicy is 'Always'. A Job's is Never or OnFailure."),
        ({f"{MAIN}.command": None}, "command is missing: what the image runs by itself is not known here."),
        ({f"{MAIN}.command": "echo"}, "command is not a list of texts."),
        ({f"{MAIN}.args": [1]}, "args is not a list of texts. Put numbers"),
        (
            {f"{MAIN}.env": [{"name": "A", "value": 1}]},
            "containers[0].env[0].value is 1, not a text. Put it in quotes.",
        ),
        ({f"{MAIN}.resources.requests.cpu": "two"}, "'two' is not a quantity"),
        ({"spec.completions": "5"}, "spec.completions is '5', not a whole number of 0 or more."),
        ({"spec.template": None}, "spec.template is missing."),
        ({"spec": None}, "spec is missing."),
        ({f"{POD}.containers": []}, "containers is not a list of containers."),
        ({"spec.completionMode": "Indexd"}, "is 'Indexd'. Use Indexed or NonIndexed."),
        ({f"{POD}.nodeSelector": {"disk": "a b"}}, "groups.0.node_labels (line 17): "),
        ({f"{POD}.nodeSelector": ["disk"]}, "nodeSelector is not a mapping of labels."),
        ({"metadata.labels": ["app"]}, "metadata.labels is not a mapping of labels."),
    ],
)
def test_what_is_wrong_is_said_with_its_line(changes: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        made(**changes)
    assert any(says in line for line in caught.value.lines()), caught.value.lines()
    assert all(re.match(r"line \d|groups\.0\..* \(line \d", line) for line in caught.value.lines())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("apiVersion: v1\nkind: Pod\n", "job.yaml: holds no manifest of kind Job, of: Pod."),
        (f"{manifest()}---\n{manifest()}", "job.yaml: holds 2 manifests of kind Job, of: Job. Give one Job a file."),
        ("apiVersion: batch/v1\nkind: Job\nkind: Job\n", "job.yaml: is not valid YAML: 'kind' stands twice"),
        ("apiVersion: [\n", "job.yaml: is not valid YAML"),
        ("apiVersion: 2024-02-31\n", "job.yaml: is not valid YAML: a value is not what it looks like"),
    ],
)
def test_other_manifests_are_refused(text: str, says: str) -> None:
    with pytest.raises(InvalidJob) as caught:
        converted(text, "job.yaml")
    (line,) = caught.value.lines()
    assert line.startswith(says)


def test_lines_are_those_of_the_file() -> None:
    text = "# a comment\n\napiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  completions: many\n"
    with pytest.raises(InvalidJob) as caught:
        converted(text, "job.yaml")
    assert caught.value.lines()[1].startswith("line 7: spec.completions is 'many'")


def test_what_a_server_refuses_is_said_with_the_manifests_line() -> None:
    reference = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "ci", "key": "token"}}}
    pod = f"{MAIN}.env", f"{POD}.nodeSelector", "spec.completions"
    text = manifest(**dict(zip(pod, ([{"name": "A", "value": "1"}, reference], {"disk": "ssd"}, 7), strict=True)))
    found = converted(text, "job.yaml")
    assert found is not None
    lines = text.splitlines()
    for field, says in (
        ("name", "name: pi"), ("groups.0.command", "command:"), ("groups.0.resources.memory_mib", "memory:"),
        ("groups.0.env.A", "- name: A"), ("groups.0.secrets.0.name", "- name: TOKEN"), ("groups.0.count", "comple"),
        ("groups.0.node_labels", "nodeSelector"), ("groups.0.ports", "- name: main"),
    ):  # fmt: skip
        (error,) = placed([FieldError(field, "is refused")], found.places)
        assert lines[error.line - 1].strip().startswith(says), (field, lines[error.line - 1])


def test_what_stands_once_and_is_meant_often_is_read_in_no_time() -> None:
    """Each level means the one above ten times: written out it would have 10^30 values."""
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 31))
    found = converted(f"{manifest()}l0: &l0 [x]\n{levels}", "job.yaml")
    assert found is not None and [r.what for r in found.lost] == [f"l{n}" for n in range(31)]


def test_json_is_known_too() -> None:
    found = converted('{\n  "apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"restartPolicy": '
                      '"Never", "containers": [{"command": ["true"]}]}}}}', "some.json")  # fmt: skip
    assert found is not None and found.spec["name"] == "some"


def test_indices_references_and_the_folder_are_there_when_it_runs(tmp_path: Path) -> None:
    env = [
        {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "GREETING", "value": "it's"},
    ]
    found = group(**{
        "spec.completionMode": "Indexed", "spec.completions": 3, f"{MAIN}.env": env,
        f"{MAIN}.workingDir": str(tmp_path), f"{MAIN}.command": ["sh", "-c"],
        f"{MAIN}.args": ['echo "$JOB_COMPLETION_INDEX $WHERE $GREETING"; pwd'],
    })  # fmt: skip
    task = {"PATH": os.environ["PATH"], **found["env"], "HYDRA_TASK_INDEX": "2", "HYDRA_NODE": "n1"}
    done = subprocess.run(found["command"], env=task, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"2 n1 it's\n{tmp_path}\n", "")


def test_references_to_what_only_a_node_knows_are_told_as_lost() -> None:
    env = [
        {"name": "PW", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
        {"name": "URL", "value": "db://me:$(PW)@db"},
    ]
    found = made(**{
        "spec.completionMode": "Indexed", "spec.completions": 3, f"{MAIN}.env": env, f"{MAIN}.command": ["run"],
        f"{MAIN}.args": ["--shard=$(JOB_COMPLETION_INDEX)", "--password=$(PW)", "$(ELSE)"],
    })  # fmt: skip
    assert sorted(remark.became.partition(" is known")[0] for remark in found.lost) == [
        "$(JOB_COMPLETION_INDEX) in its command", "$(PW) in env: URL", "$(PW) in its command",
    ]  # fmt: skip


def test_keys_of_secrets_are_secrets_and_are_told_to_be_made() -> None:
    volumes = [{"name": "v", "secret": {"secretName": "tls", "items": [{"key": "tls.key", "path": "key.pem"}]}}]
    env = [{"name": "PGPASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]
    found = made(**{
        f"{MAIN}.env": env, f"{POD}.volumes": volumes,
        f"{MAIN}.volumeMounts": [{"name": "v", "mountPath": "/etc/tls", "readOnly": True}],
    })  # fmt: skip
    assert found.spec["groups"][0]["secrets"] == [
        {"name": "db.password", "env": "PGPASSWORD"}, {"name": "tls.tls.key", "path": "etc/tls/key.pem"}
    ]  # fmt: skip
    assert any("hydractl secret put db.password" in remark.became for remark in found.remarks)
    assert ["/etc/tls is etc/tls in the work folder" in remark.became for remark in found.lost] == [True]


def test_a_secret_in_the_same_file_says_its_keys_and_its_values_go_nowhere() -> None:
    secret = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "api"}, "stringData": {"TOKEN": "t0p", "URL": "u"}
    }  # fmt: skip
    job = manifest(**{f"{MAIN}.envFrom": [{"prefix": "API_", "secretRef": {"name": "api"}}]})
    found = converted(f"{yaml.safe_dump(secret)}---\n{job}", "job.yaml")
    assert found is not None and found.spec["groups"][0]["secrets"] == [
        {"name": "api.TOKEN", "env": "API_TOKEN"}, {"name": "api.URL", "env": "API_URL"}
    ]  # fmt: skip
    assert not found.lost and "t0p" not in str(found)
