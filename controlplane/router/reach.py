"""Where web itself connects to for a node: never just anywhere the node says."""

from django.conf import settings

from controlplane import hosts


def reached_at(host: str, asked_from: str) -> str:
    """The address for a node's endpoints: ``host``, as it calls itself, where operators allow that.

    Else the one that its own requests come from; "" where a request has none.
    """
    if hosts.listed(host, settings.HYDRA["node_hosts"]):
        return host
    own = hosts.address(asked_from)
    return str(own) if own else ""
