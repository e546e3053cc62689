"""Four-eyes: whether a change of the policy waits for a second operator, and who that may be.

The part stands in the document itself, so switching it off is a change like
any other, which by then needs a second operator.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from contract.atmost import AtMost

Approver = Annotated[str, StringConstraints(pattern=r"^(role:operator|[\w.@+-]{1,150})$")]


class Approval(BaseModel):
    """Whether another operator must approve what one proposes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    required: bool = False
    approvers: Annotated[list[Approver], AtMost(100), Field(description="accounts; empty: every operator")] = []
    expires_s: Annotated[
        int, Field(ge=60, le=31 * 86400, description="after which a proposal nobody decided on is void")
    ] = 7 * 86400
