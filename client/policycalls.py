"""Calls about the policy document and its changes; a part of ``Client``. For operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from client import answers
from client.errors import client_error
from client.transport import Transport
from contract.plans import PolicyPlan
from contract.policies import Policy, PolicyChecked, PolicyDetail, PolicyDiff, PolicyOverride, Proposal, ProposalDetail

_POLICY = "/api/v1/policy"
CREATED, ACCEPTED = 201, 202
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pushed:
    """What came of a change: a version (``changed``: a new one), or a proposal that waits for another operator."""

    policy: PolicyDetail | None = None
    changed: bool = False
    proposal: Proposal | None = None


class PolicyCalls:
    _transport: Transport

    def policy(self, version: int | None = None) -> PolicyDetail:
        """The policy in force, or that version of it, with its document."""
        return answers.read(PolicyDetail, self._transport.request("GET", _POLICY, params={"version": version}).json())

    def policy_versions(self) -> Iterator[Policy]:
        """Newest first, without their documents."""
        for row in self._policy_pages("/versions", {}):
            yield answers.read(Policy, row)

    def policy_schema(self) -> Document:
        """JSON Schema of the document, with the bounds and defaults of every component; anybody may read it."""
        schema: Document = self._transport.request("GET", f"{_POLICY}/schema").json()
        return schema

    def validate_policy(self, document: Document) -> PolicyChecked:
        """A document that the server finds right, complete; ``HydraError`` names everything wrong."""
        found = self._policy_post("/validate", {"document": document}, repeatable=True).json()
        return answers.read(PolicyChecked, found)

    def diff_policy(
        self, document: Document | None = None, *, first: int | None = None, second: int | None = None
    ) -> PolicyDiff:
        """What changes from version ``first`` to ``second`` or to a document; the one in force where not given."""
        body = {"from": first} | ({"to": second} if document is None else {"document": document})
        return answers.read(PolicyDiff, self._policy_post("/diff", body, repeatable=True).json())

    def plan_policy(self, document: Document) -> PolicyPlan:
        """What queues would get under it, from what they use and want now; nothing is changed."""
        answer = self._policy_post("/plan", {"document": document}, repeatable=True)
        return answers.read(PolicyPlan, answer.json())

    def push_policy(
        self, document: Document, message: str, *, parent: int | None = None, force: bool = False
    ) -> Pushed:
        """Put a document in force everywhere, or propose it where the policy in force wants another operator.

        ``parent``: the version it was made from; refused (412) when somebody
        changed the policy since. ``force``: remove queues although jobs live in
        them, cancel overrides that make no sense in it, and give a rollout
        up. A document that changes nothing is no error: ``changed`` is False.
        """
        body = {"document": document, "message": message, "parent": parent, "force": force}
        return _pushed(self._policy_post("", body))

    def apply_policy(
        self, document: Document, message: str, *, parent: int | None = None, force: bool = False
    ) -> PolicyDetail:
        """As ``push_policy``; the version in force, and ``HydraError`` when a proposal came of it."""
        found = self.push_policy(document, message, parent=parent, force=force)
        if found.policy is None:
            number = found.proposal.id if found.proposal else 0
            raise client_error(
                f"proposal {number} waits for another operator", remedy=f"hydractl policy approve {number}"
            )
        return found.policy

    def rollback_policy(self, version: int, message: str, *, parent: int | None = None, force: bool = False) -> Pushed:
        """Put what an older version says in force, as a new one."""
        body = {"version": version, "message": message, "parent": parent, "force": force}
        return _pushed(self._policy_post("/rollback", body))

    # -- proposals

    def proposals(self, *, everything: bool = False) -> Iterator[Proposal]:
        """Changes that wait for another operator, newest first. ``everything``: also those decided on."""
        for row in self._policy_pages("/proposals", {"all": "yes" if everything else None}):
            yield answers.read(Proposal, row)

    def proposal(self, number: int) -> ProposalDetail:
        return answers.read(ProposalDetail, self._transport.request("GET", f"{_POLICY}/proposals/{number}").json())

    def approve_proposal(self, number: int, message: str) -> Proposal:
        """Carry it out; one's own is refused."""
        return answers.read(Proposal, self._policy_post(f"/proposals/{number}/approve", {"message": message}).json())

    def reject_proposal(self, number: int, message: str) -> Proposal:
        """Refuse it, or take one's own back."""
        return answers.read(Proposal, self._policy_post(f"/proposals/{number}/reject", {"message": message}).json())

    # -- overrides

    def overrides(self, *, everything: bool = False) -> Iterator[PolicyOverride]:
        """Temporary overrides that hold or will, newest first. ``everything``: also those that are over."""
        for row in self._policy_pages("/overrides", {"all": "yes" if everything else None}):
            yield answers.read(PolicyOverride, row)

    def add_override(
        self,
        queue: str,
        field: str,
        change: dict[str, Any],
        ends_at: datetime,
        message: str,
        *,
        starts_at: datetime | None = None,
        partition: str = "",
    ) -> PolicyOverride | Proposal:
        """Give a field of a queue another value for a time, or propose that.

        ``change``: {"percent": 20}, or {"to": value} as a policy document writes it. Times with their zone.
        """
        times = {"starts_at": starts_at.isoformat() if starts_at else None, "ends_at": ends_at.isoformat()}
        body = {"queue": queue, "field": field, "partition": partition, "change": change, "message": message}
        answer = self._policy_post("/overrides", body | times)
        if answer.status_code == ACCEPTED:
            return answers.read(Proposal, answer.json())
        return answers.read(PolicyOverride, answer.json())

    def cancel_override(self, number: int) -> PolicyOverride:
        answer = self._policy_post(f"/overrides/{number}/cancel", {}, repeatable=True)
        return answers.read(PolicyOverride, answer.json())

    # -- plumbing

    def _policy_post(self, path: str, body: dict[str, Any], *, repeatable: bool = False) -> httpx.Response:
        return self._transport.request("POST", _POLICY + path, json=body, repeatable=repeatable)

    def _policy_pages(self, path: str, params: dict[str, Any]) -> Iterator[Any]:
        while True:
            page = self._transport.request("GET", _POLICY + path, params=params).json()
            yield from page["results"]
            if not page.get("next"):
                return
            params = {key: values[-1] for key, values in parse_qs(urlsplit(page["next"]).query).items()}


def _pushed(answer: httpx.Response) -> Pushed:
    if answer.status_code == ACCEPTED:
        return Pushed(proposal=answers.read(Proposal, answer.json()))
    return Pushed(answers.read(PolicyDetail, answer.json()), answer.status_code == CREATED)
