"""Sub-clusters side by side; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Sequence

from client import answers
from client.transport import Transport
from contract.comparison import Comparison


class ComparisonCalls:
    _transport: Transport

    def compare(self, names: Sequence[str] = (), window_s: int = 300) -> Comparison:
        """What these sub-clusters, or all, did in the last ``window_s``, and where their component policies differ."""
        params = {"names": ",".join(names) or None, "window_s": window_s}
        answer = self._transport.request("GET", "/api/v1/sub-clusters/compare", params=params)
        return answers.read(Comparison, answer.json())
