"""Views of the job list that an account has kept under names of its own."""

from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.jobs import SavedView as SavedViewAnswer
from contract.jobs import SavedViewList, SavedViewRequest
from contract.problems import FieldError
from controlplane.statestore.actions import savedviews
from controlplane.statestore.errors import Invalid
from controlplane.statestore.models import SavedView
from controlplane.statestore.queries.jobs.listing import FILTERS

from .common import View, account, answers, body, whole
from .jobs import job_filter


@dataclass(frozen=True, slots=True)
class _Kept:
    query_params: dict[str, str]


def _shown(view: SavedView) -> dict[str, object]:
    return {"id": view.pk, "name": view.name, "query": view.query, "created_at": view.created_at}


class SavedViews(View):
    @extend_schema(operation_id="saved_views_list", responses=answers({200: SavedViewList}))
    def get(self, request: Request) -> Response:
        """Your saved views of the job list, by name."""
        mine = SavedView.objects.filter(owner=account(request)).order_by("name")
        return whole([_shown(view) for view in mine[: savedviews.MOST]])

    @extend_schema(
        operation_id="saved_views_save",
        request=SavedViewRequest,
        responses=answers({200: SavedViewAnswer}, 409, 415),
    )
    def post(self, request: Request) -> Response:
        """Keep filters of the job list under a name, instead of what had that name."""
        asked = body(request, SavedViewRequest)
        filters = dict(parse_qsl(asked.query, keep_blank_values=True))
        if unknown := [name for name in filters if name not in FILTERS]:
            remedy = f"use {', '.join(FILTERS)}"
            raise Invalid("the view has errors", [FieldError("query", f"{unknown[0][:30]!r} is no filter", remedy)])
        try:
            job_filter(_Kept(filters))
        except Invalid as error:
            wrong = [replace(each, field=f"query.{each.field}") for each in error.errors]
            raise Invalid("the view has errors", wrong) from None
        return Response(_shown(savedviews.save(account(request), asked.name.strip(), asked.query)))


class SavedViewDetail(View):
    @extend_schema(operation_id="saved_views_delete", responses=answers({}, 404) | {204: None})
    def delete(self, request: Request, view_id: int) -> Response:
        """Forget one of your views."""
        savedviews.forget(account(request), view_id)
        return Response(status=204)
