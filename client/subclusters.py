"""Calls about the lives of sub-clusters; a part of ``Client``."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from client import answers
from client.transport import Transport
from contract.subclusters import (
    JoinToken,
    SubClusterDetail,
    SubClusterDrainPreview,
    SubClusterRegistered,
    SubClusterToken,
)

_ALL = "/api/v1/sub-clusters"


def _of(name: str) -> str:
    return f"{_ALL}/{quote(name, safe='')}"


class SubClusterCalls:
    _transport: Transport

    def sub_cluster(self, name: str) -> SubClusterDetail:
        return answers.read(SubClusterDetail, self._transport.request("GET", _of(name)).json())

    def sub_cluster_token(self, name: str = "", note: str = "", valid_s: int = 3600) -> SubClusterToken:
        """Leave to register one new sub-cluster; of this name, where one is given."""
        body = {"name": name, "note": note, "valid_s": valid_s}
        return answers.read(SubClusterToken, self._transport.request("POST", f"{_ALL}/tokens", json=body).json())

    def register_sub_cluster(self, name: str, token: str) -> SubClusterRegistered:
        """Register with the token alone; nobody needs to be logged in. The token is used up."""
        body = {"name": name, "token": token}
        return answers.read(SubClusterRegistered, self._transport.request("POST", f"{_ALL}/register", json=body).json())

    def join_token(self, sub_cluster: str, note: str = "", valid_s: int = 86400, node: str = "") -> JoinToken:
        """With it new nodes register in that sub-cluster; with ``node`` that one alone, once, wherever it was."""
        body = {"note": note, "valid_s": valid_s, "node": node}
        address = f"{_of(sub_cluster)}/join-tokens"
        return answers.read(JoinToken, self._transport.request("POST", address, json=body).json())

    def sub_cluster_drain_preview(self, name: str, *, deadline_s: int | None = None) -> SubClusterDrainPreview:
        """What ``drain_sub_cluster`` would do now."""
        params = {"deadline_s": deadline_s}
        answer = self._transport.request("GET", f"{_of(name)}/drain-preview", params=params)
        return answers.read(SubClusterDrainPreview, answer.json())

    def drain_sub_cluster(self, name: str, *, deadline_s: int | None = None, message: str = "") -> SubClusterDetail:
        """Nothing new is sent there; services leave at once, the rest is stopped at the deadline (None: never)."""
        return self._step(name, "drain", deadline_s=deadline_s, message=message)

    def resume_sub_cluster(self, name: str, message: str = "") -> SubClusterDetail:
        """End the drain."""
        return self._step(name, "resume", message=message)

    def decommission_sub_cluster(self, name: str, message: str = "") -> SubClusterDetail:
        """It leaves for good; refused (409) while something is left there."""
        return self._step(name, "decommission", message=message)

    def _step(self, name: str, what: str, **body: Any) -> SubClusterDetail:
        return answers.read(SubClusterDetail, self._transport.request("POST", f"{_of(name)}/{what}", json=body).json())
