"""What a job must keep to beyond its single fields: dependencies, data between groups, sizes in total.

Each rule yields findings; none changes the spec. A job without dependencies,
files, inputs and outputs costs next to nothing here, for bulk submits' sake.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from contract.problems import FieldError
from wire import arrays

if TYPE_CHECKING:
    from contract.jobspec import GroupSpec, JobSpec, MasterSpec

MAX_ENV_BYTES = 128 * 1024
MAX_ARGV_BYTES = 128 * 1024  # what Linux takes for one argument
INDEX = "{index}"
RESERVED_ENV = "HYDRA_"
LOOKED_FOR = 1000  # findings: a job has room for a million, of which fifty are told
MAX_LABEL_CHARACTERS = 4000  # of a job's different label expressions: each is worked out for every node


def parts(spec: "JobSpec") -> list[FieldError]:
    """Whether a job has the parts of its kind: an application a master, any other job groups."""
    if spec.kind == "application":
        found = [] if spec.master else [FieldError("master", "an application needs a master", "add its command")]
        if spec.groups:
            found.append(FieldError("groups", "an application's master asks for its groups", "remove them"))
        return found
    found = [] if spec.groups else [FieldError("groups", "there is none", "give at least 1")]
    if spec.master:
        remedy = "remove it, or use kind: application"
        found.append(FieldError("master", f"a job of kind {spec.kind} has no master", remedy))
    return found


def check(spec: "JobSpec", max_tasks: int) -> list[FieldError]:
    """What is wrong with a job whose fields are each right; of very much the first."""
    return list(islice(_found(spec, max_tasks), LOOKED_FOR))


def _found(spec: "JobSpec", max_tasks: int) -> Iterator[FieldError]:
    yield from _sizes(spec, max_tasks)
    yield from _label_expressions(spec)
    if spec.master:
        yield from _declaration(spec.master)
    names = {g.name: g for g in spec.groups}
    clear = len(names) == len(spec.groups)  # whom a name means
    if not clear:
        yield from _repeated_names(spec)
    if any(g.after for g in spec.groups):
        yield from _dependencies(spec, names)
        yield from _cycle(spec, names) if clear else ()
    if spec.files:
        yield from _twice("files", [f.path for f in spec.files], "two files have the path")
    for no, group in enumerate(spec.groups):
        yield from _group(spec, no, group)
        if group.inputs and clear:
            yield from _inputs(f"groups.{no}.", group, names)


def _sizes(spec: "JobSpec", max_tasks: int) -> Iterator[FieldError]:
    total = sum(g.count for g in spec.groups)
    if total > max_tasks:
        yield FieldError(
            "groups", f"the job has {total} tasks, at most {max_tasks} are allowed", "split it into several jobs"
        )


def _label_expressions(spec: "JobSpec") -> Iterator[FieldError]:
    total, seen = 0, {""}
    for no, group in enumerate(spec.groups):
        if group.node_labels in seen:
            continue
        seen.add(group.node_labels)
        total += len(group.node_labels)
        if total > MAX_LABEL_CHARACTERS:
            yield FieldError(
                f"groups.{no}.node_labels",
                f"the job's different expressions are longer than {MAX_LABEL_CHARACTERS} characters in all",
                "say the same of several groups, name nodes in `locality`, or split the job",
            )
            return


def _declaration(master: "MasterSpec") -> Iterator[FieldError]:
    if master.parallelism and not master.container:
        remedy = "add it, with its resources"
        yield FieldError("master.container", "parallelism counts containers, and none is described", remedy)
    if master.container and not master.parallelism:
        remedy = "say how many such containers are needed at once, or remove container"
        yield FieldError("master.parallelism", "is 0, and a container is described", remedy)


def _repeated_names(spec: "JobSpec") -> Iterator[FieldError]:
    seen: set[str] = set()
    for no, group in enumerate(spec.groups):
        if group.name in seen:
            yield FieldError(
                f"groups.{no}.name", f"another group is called {group.name!r} too", "give each its own name"
            )
        seen.add(group.name)


def _dependencies(spec: "JobSpec", names: dict[str, "GroupSpec"]) -> Iterator[FieldError]:
    for no, group in enumerate(spec.groups):
        for i, name in enumerate(group.after):
            field = f"groups.{no}.after.{i}"
            if name not in names:
                yield FieldError(
                    field, f"there is no group {name!r}", f"name a group of this job: {', '.join(names)}"[:300]
                )
            elif spec.kind == "service":
                yield FieldError(field, "a service's groups never end", "remove `after`, or use kind: batch")
        if len(set(group.after)) < len(group.after):
            yield FieldError(f"groups.{no}.after", "names a group twice", "name each group once")


def _cycle(spec: "JobSpec", names: dict[str, "GroupSpec"]) -> list[FieldError]:
    """Take away groups all of whose dependencies are gone; what stays is on or behind a cycle."""
    left = {g.name: set(g.after) & names.keys() for g in spec.groups}
    while free := [name for name, after in left.items() if not after & left.keys()]:
        for name in free:
            del left[name]
    if not left:
        return []
    no = next(i for i, g in enumerate(spec.groups) if g.name in left)
    return [
        FieldError(
            f"groups.{no}.after",
            f"these groups wait for one another: {', '.join(sorted(left))}"[:500],
            "remove one dependency of the circle",
        )
    ]


def ancestors(group: "GroupSpec", names: dict[str, "GroupSpec"]) -> set[str]:
    """Every group that has ended before ``group`` begins."""
    found: set[str] = set()
    todo = list(group.after)
    while todo:
        name = todo.pop()
        if name not in found and name in names:
            found.add(name)
            todo += names[name].after
    return found


def _group(spec: "JobSpec", no: int, group: "GroupSpec") -> Iterator[FieldError]:
    at = f"groups.{no}."
    yield from _command(at, group)
    if group.execution_type == "opportunistic":
        yield FieldError(at + "execution_type", "opportunistic containers are not offered", "leave it out")
    if spec.kind == "service" and group.retries:
        yield FieldError(
            at + "retries",
            "tasks of a service are always started again, however often they fail",
            "leave it out, or use kind: batch",
        )
    if not (group.locality.relax or group.locality.nodes or group.locality.racks):
        yield FieldError(
            at + "locality.relax", "keeps it to nodes and racks, and none is named", "name some in nodes or racks"
        )
    if group.env:
        yield from _env(at, group)
    if group.secrets:
        yield from _secrets(at, spec, group)
    if group.files:
        of_job = dict.fromkeys(f.path for f in spec.files)  # which are told of at the job where one stands twice
        yield from _twice(at + "files", [*of_job, *(f.path for f in group.files)], "two files have the path")
    if group.outputs:
        yield from _twice(at + "outputs", [o.name for o in group.outputs], "two outputs are called")
    if group.array:
        yield from _array(at, group)
    if group.ports or group.health_check:
        yield from _ports(at, group)


def _array(at: str, group: "GroupSpec") -> Iterator[FieldError]:
    names = arrays.names(group.array)
    texts = [(f"{at}command.{i}", word) for i, word in enumerate(group.command)]
    texts += [(f"{at}env.{name}", value) for name, value in group.env.items()]
    for field, text in texts:
        for name in set(arrays.references(text)) - set(names):
            remedy = f"its values are: {', '.join(names)}; parameters are declared in `parameters`"
            yield FieldError(field, f"the group's array has no {name!r}", remedy[:300])
    longest = arrays.longest(group.array)
    yield from _with_values(f"{at}command", group.command, longest, MAX_ARGV_BYTES)
    yield from _with_values(f"{at}env", (text for pair in group.env.items() for text in pair), longest, MAX_ENV_BYTES)
    elsewhere = group.model_dump_json(exclude={"command", "env", "array"})
    for name in sorted(set(arrays.references(elsewhere)) & set(names)):
        remedy = "let the command make what differs"
        yield FieldError(f"{at}array.{name}", "is referred to outside of `command` and `env`", remedy)


def _with_values(field: str, texts: Iterable[str], longest: dict[str, int], most: int) -> Iterator[FieldError]:
    """The node puts them in for each task, also where a value is referred to ten thousand times."""
    size = sum(arrays.bytes_with(text, longest) for text in texts)
    if size > most:
        many = f"comes to {size:,} bytes with the longest values of its array, at most {most:,} are allowed"
        yield FieldError(field, many, "put large values into files of the job")


def _command(at: str, group: "GroupSpec") -> Iterator[FieldError]:
    if group.shell and len(group.command) != 1:
        yield FieldError(at + "command", "with shell: true it must be one text", "join the parts into one script")
    if not group.command[0]:
        yield FieldError(at + "command.0", "is empty", "name the program to run")
    if (
        sum(map(len, group.command)) * 4 > MAX_ARGV_BYTES
        and sum(len(c.encode()) for c in group.command) > MAX_ARGV_BYTES
    ):
        yield FieldError(
            at + "command", f"is longer than {MAX_ARGV_BYTES} bytes", "put the text into a file of the job"
        )


def _env(at: str, group: "GroupSpec") -> Iterator[FieldError]:
    for name in group.env:
        if name.startswith(RESERVED_ENV):
            yield FieldError(f"{at}env.{name}", "names beginning with HYDRA_ are set by Hydra", "choose another name")
    if sum(len(k.encode()) + len(v.encode()) for k, v in group.env.items()) > MAX_ENV_BYTES:
        yield FieldError(at + "env", f"is larger than {MAX_ENV_BYTES} bytes in all", "put large values into a file")


def _secrets(at: str, spec: "JobSpec", group: "GroupSpec") -> Iterator[FieldError]:
    at += "secrets"
    for i, secret in enumerate(group.secrets):
        if (secret.env is None) == (secret.path is None):
            remedy = "give either env: A_NAME or path: a/file"
            yield FieldError(f"{at}.{i}", "says not one way to have it", remedy)
        if secret.env is not None and secret.env.startswith(RESERVED_ENV):
            yield FieldError(f"{at}.{i}.env", "names beginning with HYDRA_ are set by Hydra", "choose another name")
        if secret.env in group.env:
            yield FieldError(f"{at}.{i}.env", f"`env` has {secret.env} too", "remove one of them")
    yield from _twice(at, [s.env for s in group.secrets if s.env], "two secrets have the variable")
    placed = {f.path for f in (*spec.files, *group.files)} | {i.path for i in group.inputs}
    taken = [*placed, *(s.path for s in group.secrets if s.path)]
    yield from _twice(at, taken, "another file has the path")


def _twice(field: str, values: list[str], what: str) -> Iterator[FieldError]:
    if len(set(values)) < len(values):
        seen: set[str] = set()
        value = next(v for v in values if v in seen or seen.add(v))  # type: ignore[func-returns-value]
        yield FieldError(field, f"{what} {value!r}"[:300], "make them different")


def _ports(at: str, group: "GroupSpec") -> Iterator[FieldError]:
    names = [p.name for p in group.ports]
    yield from _twice(at + "ports", names, "two ports are called")
    check = group.health_check
    if check is None:
        return
    if check.port not in names:
        yield FieldError(
            at + "health_check.port",
            f"the group has no port {check.port!r}",
            "name one of its `ports`, or add it there",
        )
    if check.tcp == (check.http is not None):
        yield FieldError(at + "health_check", "says not one way to ask", "give either http: /a/path or tcp: true")


def _inputs(at: str, group: "GroupSpec", names: dict[str, "GroupSpec"]) -> Iterator[FieldError]:
    before = ancestors(group, names)
    yield from _twice(at + "inputs", [i.path for i in group.inputs], "two inputs have the path")
    for i, item in enumerate(group.inputs):
        field = f"{at}inputs.{i}"
        if item.group not in before:
            yield FieldError(
                field + ".group",
                f"{group.name!r} does not run after {item.group!r}",
                f"add {item.group} to `after`, or correct the name",
            )
            continue
        source = names[item.group]
        if item.name not in {o.name for o in source.outputs}:
            yield FieldError(
                field + ".name",
                f"{item.group!r} has no output {item.name!r}",
                f"name one of its outputs: {', '.join(o.name for o in source.outputs) or 'there is none'}"[:300],
            )
        if source.count > 1 and INDEX not in item.path:
            yield FieldError(
                field + ".path",
                f"{source.count} tasks of {item.group!r} would write to one path",
                f"put {INDEX} into the path",
            )
