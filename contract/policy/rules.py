"""What a policy document must keep to beyond its single fields."""

from collections.abc import Iterator, Mapping

from contract.policy import pairs
from contract.policy.document import PartitionPolicy, PolicyDocument, QueuePolicy
from contract.policy.limits import LimitByResource
from contract.problems import FieldError
from wire import labels
from wire.resources import AXES

DEFAULT = ""  # the partition of the nodes that no other takes
MAX_ERRORS = 50
MAX_LEVELS = 16  # below root
MAX_QUEUES = 20_000
MAX_PATH = 255
NAMED = 5  # queues in an error about several
ROUNDING = 1e-9  # thirds do not add up exactly
Found = Iterator[FieldError]


def check(document: PolicyDocument) -> Found:
    """Everything wrong with a document whose fields are each right."""
    if not document.queues:
        yield FieldError("queues", "names no queue", "name at least one, such as default")
    for name, partition in document.partitions.items():
        yield from _partition(f"partitions.{name}", partition)
    yield from amounts(document)
    yield from pairs.check(document)
    yield from _shares(document)
    count = 0
    for field, path, queue in walk(document.queues):
        count += 1
        yield from _queue(field, path, queue, document)
    if count > MAX_QUEUES:
        yield FieldError("queues", f"there are {count} queues", f"use at most {MAX_QUEUES}")


def amounts(document: PolicyDocument) -> Found:
    """Guarantees and maxima that cannot all be kept. What is not given contradicts nothing."""
    partitions = tuple(document.partitions)
    yield from _guarantees("queues", document.queues, None, partitions)
    for field, _, queue in walk(document.queues):
        yield from _limits(field, queue.guaranteed, queue.maximum)
        for name, capacity in queue.partitions.items():
            yield from _limits(f"{field}.partitions.{name}", capacity.guaranteed, capacity.maximum)
        if queue.children:
            yield from _guarantees(f"{field}.children", queue.children, queue, partitions)


def walk(queues: Mapping[str, QueuePolicy]) -> Iterator[tuple[str, str, QueuePolicy]]:
    """(field, path, queue) of every queue, parents first."""
    todo = [(f"queues.{name}", f"root.{name}", queue) for name, queue in queues.items()]
    for field, path, queue in todo:
        yield field, path, queue
        todo += [(f"{field}.children.{name}", f"{path}.{name}", child) for name, child in queue.children.items()]


def _shares(document: PolicyDocument) -> Found:
    chosen = document.components.shares.parameters
    if chosen.stale_s < 2 * chosen.interval_s:
        yield FieldError(
            "components.shares.parameters.stale_s",
            f"is less than two intervals of {chosen.interval_s:g} s, so shares would be stale before they are renewed",
            f"use {2 * chosen.interval_s:g} or more",
        )


def _partition(field: str, partition: PartitionPolicy) -> Found:
    try:
        labels.parse(partition.nodes)
    except (ValueError, RecursionError) as error:
        why = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
        yield FieldError(f"{field}.nodes", why, "write a label expression such as gpu && !spot")


def _queue(field: str, path: str, queue: QueuePolicy, document: PolicyDocument) -> Found:
    if len(path) > MAX_PATH:
        yield FieldError(field[:200], f"its path is longer than {MAX_PATH} characters", "use shorter names")
    if path.count(".") > MAX_LEVELS:
        yield FieldError(field, f"lies more than {MAX_LEVELS} levels below root", "use fewer levels")
    if queue.stopped is not None and queue.state is not None and queue.stopped != (queue.state == "stopped"):
        yield FieldError(f"{field}.stopped", f"contradicts state: {queue.state}", "remove stopped")
    most, usual = queue.max_priority, queue.default_priority
    if most is not None and usual is not None and usual > most:
        yield FieldError(f"{field}.default_priority", f"{usual} is above max_priority, {most}", f"use {most} or less")
    for name in queue.partitions:
        if name not in document.partitions:
            yield _unknown(f"{field}.partitions.{name}", name, document)
    if queue.default_partition and queue.default_partition not in document.partitions:
        yield _unknown(f"{field}.default_partition", queue.default_partition, document)


def _unknown(field: str, name: str, document: PolicyDocument) -> FieldError:
    known = f", or use one of: {', '.join(document.partitions)}" if document.partitions else ""
    return FieldError(field, f"there is no partition {name!r}", f"add it to partitions{known}")


def _limits(field: str, guaranteed: LimitByResource | None, maximum: LimitByResource | None) -> Found:
    """A guarantee above the maximum, where both are shares or both amounts."""
    if guaranteed is None or maximum is None:
        return
    for axis in AXES:
        least, most = getattr(guaranteed, axis), getattr(maximum, axis)
        if least is None or most is None or bool(least[1]) != bool(most[1]):
            continue
        if least > most:
            low, high = (f"{a[1]}" if least[1] else f"{_percent(a[0])} of the parent" for a in (least, most))
            yield FieldError(
                f"{field}.guaranteed",
                f"guarantees {low} {axis} and allows {high} at most",
                "raise maximum, or lower guaranteed",
            )
            return


def _guarantee(queue: QueuePolicy, partition: str) -> LimitByResource | None:
    if partition == DEFAULT:
        return queue.guaranteed
    named = queue.partitions.get(partition)
    return named.guaranteed if named else None


def _guarantees(
    field: str, children: Mapping[str, QueuePolicy], parent: QueuePolicy | None, partitions: tuple[str, ...]
) -> Found:
    """Guarantees of siblings that cannot all be kept, whatever the capacity."""
    for partition in (DEFAULT, *partitions):
        owned = ((name, _guarantee(child, partition)) for name, child in children.items())
        found = {name: given for name, given in owned if given is not None}
        above = _guarantee(parent, partition) if parent else None
        where = f" of partition {partition}" if partition else ""
        for axis in AXES:
            own = {name: getattr(limit, axis) for name, limit in found.items()}
            given = {name: amount for name, amount in own.items() if amount is not None}
            shares, units = sum(a[0] for a in given.values()), sum(a[1] for a in given.values())
            if shares > 1 + ROUNDING:
                text = f"the guaranteed shares of {axis}{where} add up to {_percent(shares)}: {_largest(given)}"
                yield FieldError(field, text, "let them add up to 100 % at most")
                break
            most = getattr(above, axis) if above else None
            if most is not None and most[1] and units > most[1] * (1 - shares) + ROUNDING:
                text = f"the guaranteed amounts of {axis}{where} add up to {units}, the parent's to {most[1]}"
                yield FieldError(field, text, "raise the parent's guarantee, or lower theirs")
                break


def _percent(share: float) -> str:
    return f"{100 * share:.8g} %"


def _largest(given: Mapping[str, tuple[float, int]]) -> str:
    """The queues with most of it, in words."""
    ordered = sorted((n for n in given if given[n][0]), key=lambda name: -given[name][0])
    rest = len(ordered) - NAMED
    return ", ".join(f"{name} {_percent(given[name][0])}" for name in ordered[:NAMED]) + (
        f" and {rest} more" if rest > 0 else ""
    )
