"""What people type about changes of the policy: values, times, and what they read of a diff."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from client.commands.policy import reading
from client.commands.policychanges import change, when
from client.commands.policyedit import text_of
from client.commands.policypush import show_diff, show_stages
from client.errors import HydraError
from client.hydractl import app
from contract.policies import PolicyChange, PolicyDiff
from contract.policy.limits import EXAMPLE
from tests import hydractl
from tests.answers import answer, said_by_the_api


@pytest.mark.parametrize(
    ("by", "to", "found"),
    [
        ("+20%", "", {"percent": 20.0}),
        ("-12.5", "", {"percent": -12.5}),
        ("", "60%", {"to": "60%"}),
        ("", "0.6", {"to": 0.6}),
        ("", "5", {"to": 5}),
        ("", "none", {"to": None}),
        ("", "{memory_mib: 64 GiB, gpus: 4}", {"to": {"memory_mib": "64 GiB", "gpus": 4}}),
        ("", EXAMPLE, {"to": {"memory_mib": "2 GiB", "vcores_milli": "2 cores"}}),
    ],
)
def test_values_of_overrides(by: str, to: str, found: dict[str, Any]) -> None:
    assert change(by, to) == found


@pytest.mark.parametrize(("by", "to"), [("", ""), ("1", "2"), ("a lot", ""), ("", "{")])
def test_values_that_cannot_be_read(by: str, to: str) -> None:
    with pytest.raises(HydraError) as error:
        change(by, to)
    assert error.value.problem.errors[0].remedy


@pytest.mark.parametrize("text", ["monday", "friday 18:00", "Sunday 9:05"])
def test_the_next_such_day(text: str) -> None:
    found, now = when(text, "until"), datetime.now(UTC)
    assert now < found <= now + timedelta(days=7, hours=2)
    assert f"{found:%A}".lower() == text.split(maxsplit=1)[0].lower()
    assert f"{found:%H:%M}" == (text.split()[1].rjust(5, "0") if " " in text else "00:00")


def test_other_times_are_those_of_maintenance() -> None:
    assert when("2026-03-02T09:00Z", "until") == datetime(2026, 3, 2, 9, tzinfo=UTC)
    for text in ("someday", "monday noon"):
        with pytest.raises(HydraError) as error:
            when(text, "until")
        assert error.value.problem.errors[0].field == "until"


def test_a_diff_as_people_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [said_by_the_api(PolicyChange, text="queue root.a removed", severity="high")]
    rows += [said_by_the_api(PolicyChange, text="root.b weight 1 -> 2 [\x1b[31m]")] * 300
    held = [said_by_the_api(PolicyChange, text="root.c weight 1 -> 3")]
    show_diff(answer(PolicyDiff, total=301, severity="high", changes=rows, overridden=held))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "!! queue root.a removed" and "\x1b" not in lines[1] and "[" in lines[1]
    assert lines[200:] == [
        "   and 101 more: -o json",
        "Temporary overrides go on over it, which are no part of this change:",
        "   root.c weight 1 -> 3",
    ]
    show_diff(answer(PolicyDiff, identical=True))
    assert capsys.readouterr().out == "Nothing changes.\n"


def test_a_push_in_stages_says_what_they_try(capsys: pytest.CaptureFixture[str]) -> None:
    for staged, total, said in ((0, 1, "None of this is"), (1, 3, "1 of the 3 changes is"), (2, 2, "")):
        show_stages(answer(PolicyDiff, identical=False, total=total, staged=staged))
        out = capsys.readouterr().out
        assert out.startswith(said) and bool(out) == bool(said)


def test_the_text_to_edit_says_what_it_was_made_from() -> None:
    assert text_of(7, {"queues": {"a": {}}}) == "# version 7\nqueues:\n  a: {}\n"


def test_every_command_explains_itself() -> None:
    run = CliRunner().invoke
    for words in (["edit"], ["diff"], ["push"], ["apply"], ["rollback"], ["proposals"], ["approve"], ["reject"]):
        assert run(app, ["policy", *words, "--help"]).exit_code == 0, words
    for word in ("list", "add", "cancel"):
        assert run(app, ["policy", "overrides", word, "--help"]).exit_code == 0, word


def test_all_that_is_wrong_with_an_override_is_told_at_once(cluster: Any, env: dict[str, str]) -> None:
    words = ("policy", "overrides", "add", "root.prod", "guaranteed", "--by", "5%", "--to", "60%")
    done = hydractl.run(words, env)
    assert done.returncode == 2 and not [seen for seen in cluster.seen if seen.method == "POST"]
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["message", "by", "until"], done.stderr


def test_where_a_document_is_no_yaml_is_said_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("queues:\n  default: {guaranteed: 1.0\n  other: {}\n")
    with pytest.raises(HydraError) as caught, reading(file):
        pass
    (line,) = caught.value.lines()
    assert line.startswith(f"{file} (line 3, column 8): is not valid YAML: "), line
    assert line.endswith(" Correct that line: other: {}.")


@pytest.mark.parametrize("word", ["validate", "diff", "plan", "push", "apply", "simulate"])
def test_a_document_is_given_as_the_commands_argument_or_by_option(tmp_path: Path, word: str) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text("queues: [\n")
    more = ["-m", "why"] if word == "push" else []
    for given in ([str(file)], ["-f", str(file)]):
        done = CliRunner().invoke(app, ["policy", word, *given, *more])
        assert done.exit_code == 2 and "is not valid YAML" in done.stderr, done.stderr
    for given in ([], [str(file), "-f", str(file)]):
        done = CliRunner().invoke(app, ["policy", word, *given, *more])
        assert done.exit_code == 2 and "FILE" in done.stderr, done.stderr
