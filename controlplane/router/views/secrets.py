"""One's own secrets: put, listed by name, deleted. No route for people answers a value, and none tells of others'."""

from dataclasses import asdict

from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import TypeAdapter
from rest_framework.request import Request
from rest_framework.response import Response

from contract.fields import SECRET_NAME, SecretName
from contract.problems import FieldError
from contract.secrets import VALUE_MAX, Secret, SecretDeleted, SecretList, SecretRequest
from controlplane.statestore.actions import secrets as actions
from controlplane.statestore.queries.accounts import secrets

from .common import View, account, actor, answers, body, misnamed, require, text_parameter, whole

_NAME = TypeAdapter(SecretName)
_MISNAMED = (
    "is no name of a secret",
    "use at most 63 letters, digits, '-', '_' and '.', beginning with a letter or digit",
)
_IN_PATH = text_parameter("name", where=OpenApiParameter.PATH, maxLength=63, pattern=SECRET_NAME)


class OwnSecrets(View):
    @extend_schema(operation_id="secrets_list", responses=answers({200: SecretList}))
    def get(self, request: Request) -> Response:
        """Your secrets: their names, and since when each has its present value. Never a value."""
        return whole(secrets.of_account(account(request).pk))


class OwnSecret(View):
    body_max = 8 * VALUE_MAX  # written as wastefully as JSON can be

    @extend_schema(
        operation_id="secrets_put",
        parameters=[_IN_PATH],
        request=SecretRequest,
        responses=answers({200: Secret, 201: Secret}, 409, 413, 415),
    )
    def put(self, request: Request, name: str) -> Response:
        """Keep a value under this name, instead of the one before. Tasks that start from now on get it."""
        require("jobs.submit", request)
        value = body(request, SecretRequest, misnamed(name, _NAME, *_MISNAMED)).value.get_secret_value()
        row, made = actions.put(actor(request), account(request), name, value)
        answer = {"name": row.name, "created_at": row.created_at, "changed_at": row.changed_at}
        return Response(answer, status=201 if made else 200)

    @extend_schema(operation_id="secrets_delete", parameters=[_IN_PATH], responses=answers({200: SecretDeleted}))
    def delete(self, request: Request, name: str) -> Response:
        """Forget it. Tasks that run keep what they have; those that start later and name it fail, and say so."""
        owner = account(request).pk
        users = secrets.named_by(owner, name) if secrets.known(owner, {name}) else []
        actions.delete(actor(request), account(request), name)
        return Response({"name": name, "warnings": [asdict(_named(name, users))] if users else []})


def _named(name: str, users: list[str]) -> FieldError:
    text = f"{', '.join(users[:-1])} and {users[-1]} of yours name it" if users[1:] else f"your {users[0]} names it"
    remedy = f"tasks that start from now on fail until you put it again: hydractl secret put {name}"
    return FieldError("name", text, remedy)
