"""A Kubernetes ``Job`` manifest (batch/v1) as a job of one group whose tasks run the pod's container's command."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePath
from typing import Any

import yaml

from client.errors import InvalidJob
from client.imports import kubernetesfields as fields
from client.imports import kubernetessecrets, units
from client.imports.kubernetessecrets import Secrets
from client.imports.report import MAX_TIMEOUT_S, Converted, Remarks, finished, job_name, meant, shown
from contract import yamltext
from contract.problems import FieldError
from wire.counts import counted

SOURCE = "a Kubernetes Job"
_MANIFEST = re.compile(r'^(?:apiVersion|\s*\{?\s*"apiVersion")\s*:', re.MULTILINE)
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_.][\w.-]*)\)")
_TAG = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.:/=]{0,62}")
_DEFAULT_RETRIES, _RETRIES_MAX, _GRACE_S_MAX = 6, 100, 3600
# Why of a request and a limit the other one is what a task asks for.
_WHY = {
    "vcores_milli": "for which room is kept", "memory_mib": "beyond which a task is stopped", "gpus": "the larger one",
}  # fmt: skip
Path = tuple[str | int, ...]


def looks_like(text: str) -> bool:
    """Whether it is a manifest: an ``apiVersion`` stands first in some line."""
    return bool(_MANIFEST.search(text))


def convert(text: str, name: str) -> Converted:
    """The job; ``InvalidJob`` with the lines that are wrong. ``name``: the manifest's file."""
    try:
        found = [each for each in yamltext.documents(text) if each[0] is not None]
    except yaml.YAMLError as error:
        raise InvalidJob([FieldError(name, f"is not valid YAML: {' '.join(str(error).split())}")]) from error
    jobs = [each for each in found if isinstance(each[0], dict) and each[0].get("kind") == "Job"]
    if len(jobs) != 1:
        kinds = ", ".join(sorted({_kind(v) for v, _ in found}))
        message = f"holds {counted(len(jobs), 'manifest') if jobs else 'no manifest'} of kind Job, of: {kinds}"
        remedy = "give one Job a file" if jobs else "only a batch/v1 Job can be taken over; write a job file for others"
        raise InvalidJob([FieldError(name, message, remedy)])
    remarks, known = Remarks(), kubernetessecrets.keys([value for value, _ in found])
    for value, lines in found:
        if _kind(value) == "Secret":
            remarks.noted(lines[()].line, "kind: Secret", "values are put once: hydractl secret put NAME")
        elif value is not jobs[0][0]:
            remarks.lost(lines[()].line, f"kind: {_kind(value)}", "only the Job is taken over")
    return finished(SOURCE, _Reader(*jobs[0], remarks, Secrets(known)).job(PurePath(name).stem), remarks)


@dataclass(slots=True)
class _Reader:
    """A manifest with the lines of its fields."""

    manifest: dict[str, Any]
    lines: yamltext.Places
    remarks: Remarks
    secrets: Secrets
    exports: list[str] = field(default_factory=list)  # assignments made when the task starts

    def line(self, path: Path) -> int:
        """Of a field; of what it stands in, where it is missing."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines[path].line

    def error(self, path: Path, message: str, remedy: str = "") -> None:
        self.remarks.error(self.line(path), f"{_dotted(path)} {message}", remedy)

    def taken(self, path: Path, became: str, of: str = "") -> None:
        """``of``: the field of the job's group."""
        self.remarks.taken(self.line(path), _dotted(path), became, of and f"groups.0.{of}")

    def taken_secrets(self, path: Path, became: list[str]) -> None:
        """The last that were taken, each with what it became."""
        first = len(self.secrets.taken) - len(became)
        for number, each in enumerate(became, first):
            self.taken(path, each, f"secrets.{number}")

    def noted(self, path: Path, why: str) -> None:
        self.remarks.noted(self.line(path), _dotted(path), why)

    def lost(self, path: Path, why: str) -> None:
        self.remarks.lost(self.line(path), _dotted(path), why)

    def mapping(self, within: Any, path: Path, known: tuple[set[str], fields.Rows, fields.Rows]) -> dict[str, Any]:
        """An object's fields, once what becomes of those that are not read is said."""
        if not isinstance(within, dict):
            self.error(path, "is not a mapping of fields" if within is not None else "is missing", "write its fields")
            return {}
        read, noted, lost = known
        for name in within:
            at = (*path, str(name))
            if name in noted:
                self.noted(at, noted[name])
            elif name in lost:
                self.lost(at, lost[name])
            elif name not in read:
                self.lost(at, f"no such field is known: {meant(str(name), [*read, *noted, *lost])}")
        return {str(name): value for name, value in within.items() if value is not None}

    def whole(self, within: dict[str, Any], path: Path, name: str, least: int = 0) -> int | None:
        """A whole number, where it is given."""
        value = within.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.error((*path, name), f"is {shown(value)}, not a whole number of {least} or more", "correct it")
            return None
        return value

    def text(self, within: dict[str, Any], path: Path, name: str) -> str | None:
        value = within.get(name)
        if value is not None and not isinstance(value, str):
            self.error((*path, name), f"is {shown(value)}, not a text", "put it in quotes")
            return None
        return value

    def job(self, file: str) -> dict[str, Any]:
        manifest = self.mapping(self.manifest, (), fields.ROOT)
        if manifest.get("apiVersion") != "batch/v1":
            self.error(("apiVersion",), f"is {shown(manifest.get('apiVersion'))}", "only batch/v1 can be taken over")
        metadata = self.mapping(manifest.get("metadata", {}), ("metadata",), fields.METADATA)
        spec = self.mapping(manifest.get("spec"), ("spec",), fields.SPEC)
        template = spec.get("template")
        known: tuple[set[str], fields.Rows, fields.Rows] = (
            {"spec"}, {"metadata": "a pod has no labels of its own"}, {},
        )  # fmt: skip
        template = self.mapping(template, ("spec", "template"), known) if isinstance(manifest.get("spec"), dict) else {}
        path: Path = ("spec", "template", "spec")
        pod = self.mapping(template.get("spec"), path, fields.POD) if template else {}
        group: dict[str, Any] = {"name": "pod"}
        self.remarks.lines["groups.0"] = self.line((*path, "containers", 0))
        if pod:
            self._container(pod, path, group, spec.get("completionMode") == "Indexed")
            self._where(pod, path, group)
        self._counts(spec, group)
        self._ends(spec, pod, path, group)
        return {"name": self._name(metadata, file), **self._tags(metadata), "groups": [group]}

    def _name(self, metadata: dict[str, Any], file: str) -> str:
        for name in ("name", "generateName"):
            value = self.text(metadata, ("metadata",), name)
            if value:
                line = self.line(("metadata", name))
                self.remarks.taken(line, f"metadata.{name}", f"name: {job_name(value)}", "name")
                return job_name(value)
        return job_name(file)

    def _tags(self, metadata: dict[str, Any]) -> dict[str, list[str]]:
        labels = metadata.get("labels", {})
        if not isinstance(labels, dict):
            self.error(("metadata", "labels"), "is not a mapping of labels", "write each as label: value")
            return {}
        tags = [tag for key, value in labels.items() if _TAG.fullmatch(tag := f"{key}={value}")][:32]
        if tags:
            self.remarks.taken(self.line(("metadata", "labels")), "metadata.labels", f"tags: {', '.join(tags)}", "tags")
        if len(tags) < len(labels):
            self.noted(("metadata", "labels"), f"{len(labels) - len(tags)} of them cannot be a tag")
        return {"tags": tags} if tags else {}

    # -- how many, and how they end ---------------------------------------------------------------------------

    def _counts(self, spec: dict[str, Any], group: dict[str, Any]) -> None:
        at: Path = ("spec",)
        parallelism, completions = self.whole(spec, at, "parallelism"), self.whole(spec, at, "completions")
        mode = self.text(spec, at, "completionMode")
        if mode not in (None, "Indexed", "NonIndexed"):
            self.error((*at, "completionMode"), f"is {shown(mode)}", "use Indexed or NonIndexed")
        count = completions if completions is not None else 1 if parallelism is None else parallelism
        group["count"] = max(1, count)
        if completions is not None:
            self.taken((*at, "completions"), f"count: {count}", "count")
            if parallelism is not None and 0 < parallelism < completions:
                self.lost((*at, "parallelism"), f"as many run at once as have room, not {parallelism} at most")
            elif parallelism is None and completions > 1:
                self.noted((*at, "completions"), "as many run at once as have room, not one after another")
            elif parallelism:
                self.taken((*at, "parallelism"), "as many run at once as have room")
        elif parallelism:
            self.taken((*at, "parallelism"), f"count: {count}; the job ends when all of them have succeeded", "count")
        if spec.get("suspend") is True or parallelism == 0 or completions == 0:
            name = "suspend" if spec.get("suspend") is True else "parallelism" if parallelism == 0 else "completions"
            self.lost((*at, name), "it would begin at once")
        if mode == "Indexed":
            self.taken((*at, "completionMode"), "JOB_COMPLETION_INDEX is HYDRA_TASK_INDEX")

    def _ends(self, spec: dict[str, Any], pod: dict[str, Any], path: Path, group: dict[str, Any]) -> None:
        policy = self.text(pod, path, "restartPolicy")
        if pod and policy not in ("Never", "OnFailure"):
            said = f"is {shown(policy)}" if policy else "is missing, and so Always"
            self.error((*path, "restartPolicy"), said, "a Job's is Never or OnFailure")
        elif policy:
            self.taken((*path, "restartPolicy"), "an attempt that failed is tried again in a new container")
        self._retries(spec, group)
        for within, at in ((spec, ("spec",)), (pod, path)):
            deadline = self.whole(within, at, "activeDeadlineSeconds", 1)
            if deadline is not None and deadline > MAX_TIMEOUT_S:
                self.noted((*at, "activeDeadlineSeconds"), "no limit, for Hydra's go up to 30 days")
            elif deadline is not None:
                group["timeout_s"] = min(deadline, group.get("timeout_s", deadline))
                self.taken((*at, "activeDeadlineSeconds"), f"timeout_s: {deadline}, of each attempt", "timeout_s")
        grace = self.whole(pod, path, "terminationGracePeriodSeconds")
        if grace is not None:
            group["grace_s"] = min(grace, _GRACE_S_MAX)
            self.taken((*path, "terminationGracePeriodSeconds"), f"grace_s: {group['grace_s']}", "grace_s")

    def _retries(self, spec: dict[str, Any], group: dict[str, Any]) -> None:
        for name in ("backoffLimitPerIndex", "backoffLimit"):
            retries = self.whole(spec, ("spec",), name)
            if retries is not None:
                group["retries"] = min(retries, _RETRIES_MAX)
                self.taken(("spec", name), f"retries: {group['retries']}, of each task", "retries")
                return
        group["retries"] = _DEFAULT_RETRIES
        self.remarks.taken(0, "no backoffLimit", f"retries: {_DEFAULT_RETRIES}, Kubernetes' default")

    def _where(self, pod: dict[str, Any], path: Path, group: dict[str, Any]) -> None:
        selector, node = pod.get("nodeSelector"), self.text(pod, path, "nodeName")
        if isinstance(selector, dict):
            group["node_labels"] = " && ".join(f"{key} == {value}" for key, value in selector.items())
            self.taken((*path, "nodeSelector"), f"node_labels: {group['node_labels']}", "node_labels")
        elif selector is not None:
            self.error((*path, "nodeSelector"), "is not a mapping of labels", "write it as label: value")
        if node:
            group["locality"] = {"nodes": [node], "relax": False}
            self.taken((*path, "nodeName"), "locality: that node alone", "locality")

    # -- what runs ----------------------------------------------------------------------------------------------

    def _container(self, pod: dict[str, Any], path: Path, group: dict[str, Any], indexed: bool) -> None:
        listed = pod.get("containers")
        if not isinstance(listed, list) or not listed:
            self.error((*path, "containers"), "is not a list of containers", "a Job has one at least")
            return
        for number in range(1, len(listed)):
            self.lost((*path, "containers", number), "a task runs one command: only the first container is taken")
        at = (*path, "containers", 0)
        container = self.mapping(listed[0], at, fields.CONTAINER)
        self._env_from(container.get("envFrom", []), (*at, "envFrom"))
        env = self._env(container.get("env", []), (*at, "env"))
        if env:
            group["env"] = env
        self._volumes(pod, path, container.get("volumeMounts", []), (*at, "volumeMounts"))
        if self.secrets.taken:
            group["secrets"] = self.secrets.taken
        words = [_expanded(word, env) for name in ("command", "args") for word in self._words(container, at, name)]
        if indexed:
            self.exports.append('JOB_COMPLETION_INDEX="$HYDRA_TASK_INDEX"')
        self._unknown_yet(at, {"its command": words, **{f"env: {name}": [value] for name, value in env.items()}})
        if container and not container.get("command"):
            message = "is missing: what the image runs by itself is not known here"
            self.error((*at, "command"), message, "write the command that the image has as its ENTRYPOINT")
        folder = self.text(container, at, "workingDir")
        if folder:
            self.taken((*at, "workingDir"), "it runs there, where its node has that folder")
        group["command"] = self._started(words, folder, str(container.get("name", "pod")))
        found = self._resources(container.get("resources", {}), (*at, "resources"))
        if found:
            group["resources"] = found

    def _unknown_yet(self, at: Path, texts: dict[str, list[str]]) -> None:
        """References to what a node knows only: Kubernetes puts that in there, and here they stay as they are."""
        names = [each.partition("=")[0] for each in self.exports]
        names += [each["env"] for each in self.secrets.taken if each.get("env")]
        for name, where in ((name, where) for name in names for where in texts):
            if any(f"$({name})" in word for word in texts[where]):
                self.lost(at, f"$({name}) in {where} is known on the node only: read it as a variable")

    def _words(self, container: dict[str, Any], at: Path, name: str) -> list[str]:
        words = container.get(name, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self.error((*at, name), "is not a list of texts", "put numbers and true and false in quotes")
            return []
        if words:
            self.taken((*at, name), "command", "command")
        return words

    def _started(self, words: list[str], folder: str | None, name: str) -> list[str]:
        """The command; by a shell where something is to be said or done first."""
        if not (self.exports or folder):
            return words
        lines = [f"export {each}\n" for each in self.exports]
        if folder:
            quoted = folder.replace("'", "'\\''")
            lines.append(f"cd '{quoted}' || exit\n")
        return ["/bin/sh", "-c", "".join(lines) + 'exec "$@"', name, *words]

    def _env(self, listed: Any, path: Path) -> dict[str, str]:
        found: dict[str, str] = {}
        if not isinstance(listed, list):
            self.error(path, "is not a list of variables", "write each as name: and value:")
            return found
        for number, entry in enumerate(listed):
            at = (*path, number)
            name = entry.get("name") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not name:
                self.error(at, "has no name", "write name: and value:")
            elif "valueFrom" in entry:
                self._referenced(name, entry["valueFrom"], at)
            elif not isinstance(value := entry.get("value", ""), str):
                self.error((*at, "value"), f"is {shown(value)}, not a text", "put it in quotes")
            else:
                found[name] = _expanded(value, found)
                self.taken(at, f"env: {name}", f"env.{name}")
        return found

    def _env_from(self, listed: Any, path: Path) -> None:
        """All keys of Secrets as variables; what else variables may come from has no place here."""
        for number, entry in enumerate(listed if isinstance(listed, list) else []):
            at = (*path, number)
            if not isinstance(entry, dict) or "secretRef" not in entry:
                self.lost(at, "say the variables in env")
                continue
            try:
                self.taken_secrets(at, self.secrets.variables(entry["secretRef"], str(entry.get("prefix") or "")))
            except ValueError as error:
                self.lost(at, str(error))

    def _volumes(self, pod: dict[str, Any], path: Path, mounts: Any, at: Path) -> None:
        """Volumes of Secrets become files in the work folder; of others nothing is taken over."""
        known = {}
        for name, secret, place in kubernetessecrets.volumes(pod, path):
            known[name] = secret
            if secret is None:
                self.lost(place, fields.NO_VOLUMES)
        for number, mount in enumerate(mounts if isinstance(mounts, list) else []):
            place = (*at, number)
            name, target = (mount.get("name"), mount.get("mountPath")) if isinstance(mount, dict) else (None, None)
            secret = known.get(str(name))
            if secret is None or not isinstance(target, str) or mount.get("subPath"):
                self.lost(place, fields.NO_VOLUMES)
                continue
            try:
                self.taken_secrets(place, self.secrets.files(secret, target.strip("/")))
                self.lost(place, f"{target} is {target.strip('/')} in the work folder: have it read there")
            except ValueError as error:
                self.lost(place, str(error))

    def _referenced(self, name: str, source: Any, at: Path) -> None:
        if isinstance(source, dict) and "secretKeyRef" in source:
            try:
                self.taken_secrets(at, [self.secrets.variable(name, source["secretKeyRef"])])
            except ValueError as error:
                self.lost(at, f"{name} has no value: {error}")
            return
        reference = source.get("fieldRef") if isinstance(source, dict) else None
        value = fields.REFERENCES.get(str(reference.get("fieldPath"))) if isinstance(reference, dict) else None
        if value and name.isidentifier() and name.isascii():
            self.exports.append(f'{name}="{value}"')
            self.taken(at, f"{name} is {value[1:]}")
        else:
            what = next(iter(source), "nothing") if isinstance(source, dict) and source else "nothing"
            self.lost(at, f"{name} has no value: {what} is not understood")

    def _resources(self, given: Any, path: Path) -> dict[str, int]:
        known: tuple[set[str], fields.Rows, fields.Rows] = (
            {"requests", "limits"}, {}, {"claims": "ask by requests and limits"},
        )  # fmt: skip
        resources = self.mapping(given, path, known)
        asked = {name: self._amounts(resources.get(name, {}), (*path, name)) for name in ("requests", "limits")}
        memory, cpu = self._one_of(asked, path, "memory"), self._one_of(asked, path, "cpu")
        gpus = sum(self._one_of(asked, path, name) for name in fields.GPUS)
        found = {"memory_mib": memory, "vcores_milli": cpu, "gpus": gpus}
        if not memory:
            self.remarks.noted(0, "no memory is asked for", "memory_mib: 256, Hydra's default; more stops the task")
        if not cpu:
            self.remarks.noted(0, "no cpu is asked for", "vcores_milli: 1000, Hydra's default")
        return {axis: amount for axis, amount in found.items() if amount}

    def _one_of(self, asked: dict[str, dict[str, Decimal]], path: Path, name: str) -> int:
        """What is asked for of a resource: of cores the request, of all else the larger one; it is said which."""
        given = {which: amounts[name] for which, amounts in asked.items() if name in amounts}
        if not given:
            return 0
        which = "requests" if name == "cpu" and given.get("requests") else max(given, key=lambda each: given[each])
        axis, units_each = fields.RESOURCES[name]
        amount = units.whole_up(given[which] * units_each)
        said = f"{axis}: {amount}"
        others = [each for each in given if each != which]
        self.taken((*path, which, name), f"{said}, the {which[:-1]}" if others else said, f"resources.{axis}")
        for other in others:
            self.noted((*path, other, name), f"the {which[:-1]} is taken, {_WHY[axis]}")
        return amount

    def _amounts(self, given: Any, path: Path) -> dict[str, Decimal]:
        """Amounts by the resource's name; what Hydra does not count is said."""
        found: dict[str, Decimal] = {}
        for name, value in self.mapping(given, path, ({*given} if isinstance(given, dict) else set(), {}, {})).items():
            at = (*path, name)
            try:
                amount = units.quantity(value)
            except ValueError as error:
                self.error(at, str(error))
                continue
            if name in fields.RESOURCES:
                found[name] = amount
            elif name == "ephemeral-storage":
                self.noted(at, "no room on disk is set aside")
            else:
                self.lost(at, "Hydra has no such resource")
        return found


def _kind(document: Any) -> str:
    kind = document.get("kind") if isinstance(document, dict) else None
    return kind if isinstance(kind, str) else "none"


def _expanded(text: str, env: dict[str, str]) -> str:
    """``$(NAME)`` as Kubernetes puts it in: of unknown names as it stands, and ``$$`` for a dollar."""
    return _REFERENCE.sub(lambda m: env.get(m[1], m[0]) if m[1] else "$", text)


def _dotted(path: Iterable[str | int]) -> str:
    """``containers[0].image`` for people: without what leads to the pod."""
    parts = list(path)
    if parts[:3] == ["spec", "template", "spec"] and len(parts) > 3:
        parts = parts[3:]
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")
    return text or "it"
