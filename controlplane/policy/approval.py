"""Four-eyes: whether a change of the policy waits for a second operator, and who that may be.

The part stands in the document itself, so switching it off is a change like
any other, which by then needs a second operator.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from contract.problems import FieldError
from controlplane.accounts.models import Role, User
from controlplane.statestore.actions.errors import Forbidden

Approver = Annotated[str, StringConstraints(pattern=r"^(role:operator|[\w.@+-]{1,150})$")]


class Approval(BaseModel):
    """Whether another operator must approve what one proposes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    required: bool = False
    approvers: Annotated[list[Approver], Field(max_length=100, description="accounts; empty: every operator")] = []
    expires_s: Annotated[
        int, Field(ge=60, le=31 * 86400, description="after which a proposal nobody decided on is void")
    ] = 7 * 86400


OFF = Approval()


def of(document: dict[str, Any] | None) -> Approval:
    """The part of a stored document; off where there is none."""
    try:
        return Approval.model_validate((document or {}).get("approval") or {})
    except ValidationError:
        return OFF


def approvers(rule: Approval) -> set[int]:
    """Accounts that may approve: operators, those named where any are."""
    operators = User.objects.filter(is_active=True, role=Role.OPERATOR)
    if rule.approvers and "role:operator" not in rule.approvers:
        operators = operators.filter(username__in=rule.approvers)
    return set(operators.values_list("pk", flat=True))


def check_approvers(rule: Approval) -> list[FieldError]:
    """What is wrong with switching four-eyes on like this: names that are no operators, or too few of them."""
    if not rule.required:
        return []
    named = [name for name in rule.approvers if name != "role:operator"]
    known = set(
        User.objects.filter(is_active=True, role=Role.OPERATOR, username__in=named).values_list("username", flat=True)
    )
    wrong = [
        FieldError("approval.approvers", f"there is no operator {name!r}", "name accounts of operators")
        for name in named
        if name not in known
    ]
    if not wrong and len(approvers(rule)) < 2:
        text = "fewer than two operators may approve, so nobody could approve the changes of one of them"
        wrong.append(FieldError("approval.approvers", text, "name at least two operators, or make another account"))
    return wrong


def check_may_approve(rule: Approval, account: int | None, author: int) -> None:
    """``Forbidden`` to the author, and to whom the policy in force does not name."""
    if account is None or account == author:
        raise Forbidden("you proposed this yourself; another operator approves it")
    if account not in approvers(rule):
        raise Forbidden("the policy in force names who may approve, and you are not among them")
