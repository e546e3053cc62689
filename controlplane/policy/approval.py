"""Four-eyes: who may approve a change that waits for a second operator."""

from typing import Any

from pydantic import ValidationError

from contract.policy.approval import Approval
from contract.problems import FieldError
from controlplane.accounts.models import Role, User
from controlplane.statestore.errors import Conflict, Forbidden

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


def check_left(rule: Approval, gone: User) -> None:
    """``Conflict`` when too few are left to approve anything now that this one is no operator any more."""
    if rule.required and len(approvers(rule)) < 2:
        raise Conflict(
            f"the policy wants the approval of a second operator, and without {gone.username} nobody could give it: "
            "make another account an operator first, or have approval.required switched off"
        )


def check_may_approve(rule: Approval, account: int | None, author: int) -> None:
    """``Forbidden`` to the author, and to whom the policy in force does not name."""
    if account is None or account == author:
        raise Forbidden("you proposed this yourself; another operator approves it")
    if account not in approvers(rule):
        raise Forbidden("the policy in force names who may approve, and you are not among them")
