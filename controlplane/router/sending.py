"""Streamed answers while they are sent: each holds a file open until its reader has taken it, so each has few."""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from controlplane.accounts.places import PartyPlaces
from controlplane.router import metrics, problems
from controlplane.router.nodeauth import NodePrincipal
from controlplane.router.payers import party_of, payers

TOO_MANY = "too many downloads are open already; read those to their end, or close them, and try again"
RETRY_AFTER_S = 1


class Sending:
    """All of a process: accounts and nodes have ``HYDRA_DOWNLOADS_USER``, others' addresses their own limit."""

    def __init__(self) -> None:
        self.places = PartyPlaces(settings.HYDRA["downloads_user"], settings.HYDRA["downloads_address"])

    @contextmanager
    def place(self, request: HttpRequest | None, response: HttpResponseBase) -> Iterator[HttpResponseBase]:
        """What is to be sent within: the answer, or a refusal where its reader has too many that are streamed."""
        who = _reader(request) if request and response.streaming else ""
        if self.places.take(who):
            try:
                yield response
            finally:
                self.places.give_back(who)
        else:
            metrics.REFUSED.labels("busy").inc()
            yield problems.plain(429, TOO_MANY, RETRY_AFTER_S)


def _reader(request: HttpRequest) -> Hashable:
    """Nodes of a cluster may have one address, and are known by their credentials."""
    user = request.__dict__.get("user")
    return party_of(user) if isinstance(user, NodePrincipal) else payers.of_request(request)
