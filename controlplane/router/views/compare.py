"""Sub-clusters with different component policies, side by side."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.comparison import Comparison
from controlplane import clock
from controlplane.policy.sidebyside import differing, holding
from controlplane.router import unknown
from controlplane.statestore.errors import NotFound
from controlplane.statestore.queries.subclusters import comparison

from .common import View, answers, integer, number_parameter, require, text, text_parameter

WINDOW_S = (300, 10, 3600)
PARAMETERS = [
    text_parameter("names", "Sub-clusters, with commas between; all without it"),
    number_parameter("window_s", *WINDOW_S[1:], f"Looked back so far; {WINDOW_S[0]} by default"),
]


class SubClustersCompare(View):
    @extend_schema(operation_id="sub_clusters_compare", parameters=PARAMETERS, responses=answers({200: Comparison}))
    def get(self, request: Request) -> Response:
        """What sub-clusters did in the same window, and which component policies they run. Operators and viewers."""
        require("cluster.view_all", request)
        names = [name for part in (text(request, "names") or "").split(",") if (name := part.strip())]
        window_s = integer(request, "window_s", *WINDOW_S)
        rows, missing = comparison.compare(list(dict.fromkeys(names)), window_s)
        if missing:
            raise NotFound(unknown.sub_cluster(missing[0]))
        components = holding({row["name"]: row["components_version"] for row in rows})
        for row in rows:
            row["policies"] = {name: part["policy"] for name, part in components[row["name"]].model_dump().items()}
        answer = {"at": clock.now(), "window_s": window_s, "differs": differing(components), "sub_clusters": rows}
        return Response(answer)
