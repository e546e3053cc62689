"""Calls about how policy versions spread; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

from client import answers
from client.transport import Transport
from contract.policies import Proposal
from contract.rollouts import Convergence, Rollout

_POLICY = "/api/v1/policy"
ACCEPTED = 202


class RolloutCalls:
    _transport: Transport

    def policy_convergence(self, version: int | None = None) -> Convergence:
        """Who runs that version, or the one last pushed to any part, and how long it took."""
        answer = self._transport.request("GET", f"{_POLICY}/convergence", params={"version": version})
        return answers.read(Convergence, answer.json())

    def roll_out(
        self, document: dict[str, Any], message: str, *, stages: list[dict[str, Any]], **more: Any
    ) -> Rollout | Proposal:
        """Put a document in force in stages. ``stages``: [{"sub_clusters": names, "soak_s": s}].

        The last one may be {"everywhere": True, "soak_s": s}: then all of it is watched.

        ``more``: ``parent`` as of ``apply_policy``; ``guards`` and ``on_breach``
        as ``POST /policy/rollouts`` takes them. Where the policy wants a second
        operator's approval, the proposal.
        """
        body = {"document": document, "message": message, "stages": stages} | more
        answer = self._transport.request("POST", f"{_POLICY}/rollouts", json=body)
        if answer.status_code == ACCEPTED:
            return answers.read(Proposal, answer.json())
        return answers.read(Rollout, answer.json())

    def rollouts(self, *, page_size: int = 100) -> Iterator[Rollout]:
        """The newest first; pages are read as they are needed."""
        params: dict[str, Any] = {"page_size": page_size}
        while True:
            page = self._transport.request("GET", f"{_POLICY}/rollouts", params=params).json()
            yield from (answers.read(Rollout, row) for row in page["results"])
            if not page["next"]:
                return
            params |= {"cursor": parse_qs(urlsplit(page["next"]).query)["cursor"][0]}

    def rollout(self, number: int) -> Rollout:
        return answers.read(Rollout, self._transport.request("GET", f"{_POLICY}/rollouts/{number}").json())

    def steer_rollout(self, number: int, what: str, message: str = "") -> Rollout:
        """``what``: pause, resume or abort. Aborting puts the old content in force again."""
        address = f"{_POLICY}/rollouts/{number}/{what}"
        return answers.read(Rollout, self._transport.request("POST", address, json={"message": message}).json())
