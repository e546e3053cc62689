"""What nodes say of the ports of their containers (``wire.nodeapi.Serving``)."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from contract.problems import FieldError
from controlplane.router.nodeapi import NodeView, own_container, refuse
from controlplane.router.reach import reached_at
from controlplane.statestore.actions import endpoints
from controlplane.statestore.errors import Invalid
from controlplane.statestore.queries.jobs.declared import declared
from wire.nodeapi import Serving

FIRST_PORT = 1024  # below are services of the machine, which no container's port is


class ContainerEndpoints(NodeView):
    def post(self, request: Request, container: str) -> Response:
        """Keep where a live container of this node serves, and how it is. Only ports its group declares."""
        serving = _serving(request.data)
        live = own_container(request, container)
        if not serving.endpoints.keys() <= declared(live)[1].ports:
            refuse(request, f"ports that {container} does not declare")
        endpoints.publish(live, serving, lambda host: reached_at(host, request.META.get("REMOTE_ADDR") or ""))
        return Response(status=204)


def _serving(data: Any) -> Serving:
    wrong = []
    found = data if isinstance(data, dict) else {}
    ports, healthy = found.get("endpoints"), found.get("healthy")
    if not isinstance(ports, dict) or not ports or not all(_is_port(number) for number in ports.values()):
        wrong.append(FieldError("endpoints", "are not names of ports with their numbers", 'send {"http": 20000}'))
    if not (healthy is None or isinstance(healthy, bool)):
        wrong.append(FieldError("healthy", "is no verdict", "send true, false or null"))
    if wrong or not isinstance(ports, dict):
        raise Invalid("the endpoints cannot be kept", wrong)
    return Serving({str(name): number for name, number in ports.items()}, healthy)


def _is_port(value: object) -> bool:
    return type(value) is int and FIRST_PORT <= value <= 65_535
