"""What is asked of several jobs at once: to stop, or to move into another queue."""

from __future__ import annotations

from typing import Annotated

import typer

from client.commands.common import connected, job_number
from client.errors import InvalidJob, client_error
from client.screen import Format, OutputOption, print_json
from contract.jobs import ActionResult


def _moved(text: str) -> int:
    """A job's number. What stands among them is often the queue."""
    if text.partition(".")[0] == "root":
        text = text[:60]
        raise typer.BadParameter(f"{text!r} is not a job's number; the queue goes to --to: --to {text}")
    return job_number(text)


JobsArgument = Annotated[
    list[int], typer.Argument(metavar="JOB...", help="The jobs' numbers, up to 1000.", parser=job_number)
]
MovedArgument = Annotated[
    list[int], typer.Argument(metavar="JOB...", help="The jobs' numbers, up to 1000.", parser=_moved)
]


def kill(
    ctx: typer.Context,
    jobs: JobsArgument,
    message: Annotated[str, typer.Option("--message", "-m", help="Why; its owner reads it.")] = "",
    output: OutputOption = Format.table,
) -> None:
    """Stop jobs. What already ran stays readable."""
    with connected(ctx) as client:
        _answered(client.act("kill", jobs, message=message), "stop", output)


def move(
    ctx: typer.Context,
    jobs: MovedArgument,
    queue: Annotated[str, typer.Option("--to", help="The other queue's path.")],
    output: OutputOption = Format.table,
) -> None:
    """Put jobs into another queue. What runs goes on; each job's home decides, see hydractl events."""
    with connected(ctx) as client:
        _answered(client.act("queue", jobs, queue=queue), f"move to {queue}", output)


def _answered(results: list[ActionResult], what: str, output: Format) -> None:
    """Say what each was asked; ``InvalidJob`` names those that were refused, each with the reason."""
    if output is Format.json:
        print_json(results)
    else:
        for each in results:
            if each.accepted:
                print(f"job {each.job}: asked to {what}")
    refused = [client_error(each.refused, field_name=f"job {each.job}") for each in results if not each.accepted]
    if refused:
        raise InvalidJob([error.problem.errors[0] for error in refused])


def register(app: typer.Typer) -> None:
    for command in (kill, move):
        app.command(rich_help_panel="Jobs")(command)
