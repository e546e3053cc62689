"""Every refusal becomes plain lines that name field and remedy."""

from client.errors import HydraError, InvalidJob, problem_from
from contract.problems import FieldError, Problem


def test_a_problem_document_becomes_one_line_per_field() -> None:
    body = {
        "type": "urn:hydra:problem:invalid",
        "title": "The request has errors",
        "detail": "2 errors",
        "errors": [
            {"field": "groups.0.count", "message": "must be 1 or more", "remedy": "use 1 or more"},
            {"field": "queue", "message": "there is no queue\n'x'", "remedy": "hydractl queues lists them"},
        ],
    }
    error = HydraError(problem_from(422, body, "unused"))
    assert error.lines() == [
        "groups.0.count: must be 1 or more. Use 1 or more.",
        "queue: there is no queue 'x'. hydractl queues lists them.",
    ]
    assert error.status == 422
    assert error.problem.type == "urn:hydra:problem:invalid"


def test_without_fields_the_detail_is_the_line_and_without_detail_the_title() -> None:
    assert str(HydraError(Problem(title="Not found", status=404, detail="there is no job 7"))) == "there is no job 7."
    assert HydraError(Problem(title="Not found", status=404)).lines() == ["Not found."]


def test_what_is_no_problem_document_still_says_something() -> None:
    assert problem_from(502, None, "The server answered 502 Bad Gateway").title == "The server answered 502 Bad Gateway"
    assert problem_from(400, {"detail": "no"}, "x").detail == "no"
    assert problem_from(400, {"errors": "not a list", "title": None}, "x") == Problem(title="x", status=400)


def test_an_invalid_job_names_its_field() -> None:
    assert str(InvalidJob([FieldError("name", "is missing")])) == "name: is missing."
