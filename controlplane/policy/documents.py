"""Policy documents as they come in and as they are kept.

Their shape and rules are the contract's (``contract.policy``); ``policy.rows`` turns the tree of queues into rows.
"""

import functools
import marshal
from collections.abc import Collection
from typing import Any

from pydantic import ValidationError

from contract.policy import findings, rules
from contract.policy.document import PolicyDocument
from controlplane.policy import federation
from controlplane.policy.rows import flattened
from controlplane.statestore.actions.policy import QueueRow
from controlplane.statestore.errors import Invalid

_PLAIN = 2  # marshal's last format that does not depend on which objects a document shares
DEFAULT: dict[str, Any] = {"queues": {"default": {"guaranteed": 1.0, "open_to_all": True}}}


def parse(document: Any) -> PolicyDocument:
    """The document as typed values, to be read only. ``Invalid`` names what has the wrong shape."""
    try:
        return _parsed(marshal.dumps(document, _PLAIN))
    except ValueError:  # of values that no file can say
        return _typed(document)


@functools.lru_cache(maxsize=4)
def _parsed(written: bytes) -> PolicyDocument:
    """A push looks at the same few documents again and again, and one of thousands of queues takes its time."""
    return _typed(marshal.loads(written))  # noqa: S302 - ``parse`` has written it


def _typed(document: Any) -> PolicyDocument:
    try:
        return PolicyDocument.model_validate(document)
    except (ValidationError, RecursionError) as error:
        wrong = [*findings.explain(error), *findings.contradictions(document, error)]
        raise Invalid("the policy document has errors", wrong[: rules.MAX_ERRORS]) from None


def validate(document: Any, sub_clusters: Collection[str] | None = None) -> tuple[dict[str, Any], list[QueueRow]]:
    """The document with its components complete, and its queues as rows. ``Invalid`` names everything wrong.

    sub_clusters: the names it may use; None: of those in the StateStore.
    """
    parsed = parse(document)
    wrong = [*rules.check(parsed), *federation.unknown(parsed, sub_clusters)]
    if wrong:
        raise Invalid("the policy document contradicts itself", wrong[: rules.MAX_ERRORS])
    partitions = {name: p.model_dump() for name, p in parsed.partitions.items()}
    full = document | {
        "partitions": partitions,
        "components": parsed.components.model_dump(),
        "sub_clusters": {name: own.model_dump(exclude_none=True) for name, own in parsed.sub_clusters.items()},
        "approval": parsed.approval.model_dump(),
    }
    return full, flattened(parsed.queues)


@functools.cache
def json_schema() -> dict[str, Any]:
    """JSON Schema of the document: one object for all, to be read only."""
    return PolicyDocument.model_json_schema()
