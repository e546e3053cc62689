"""Which of its containers a node is to run somebody's command in; the frames come by a WebSocket (``router.execs``)."""

from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.router.nodeapi import NodeView, principal
from controlplane.statestore.actions import execs


class NodeExecs(NodeView):
    def get(self, request: Request) -> Response:
        """Numbers of execs that wait for this node. Others' it neither hears of nor can join."""
        return Response({"execs": execs.waiting(principal(request).node_id)})
