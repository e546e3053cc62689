"""After a failure the fixtures of modules and folders are made anew, and only then."""

import os
from pathlib import Path

import pytest

from tests.gate import lanes
from tests.stores import ROOT

PLAIN = {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # no other plugin is needed inside
BOTH = """
import pathlib, pytest
HERE = pathlib.Path(__file__).parent
def say(word):
    with open(HERE / "said", "a") as said:
        said.write(word + " ")
"""
CONFTEST = """
def kept(name, scope):
    @pytest.fixture(scope=scope)
    def fixture():
        say("+" + name)
        yield
        say("-" + name)
    return fixture

session, package, module = kept("S", "session"), kept("P", "package"), kept("M", "module")
"""
INNER = """
use = pytest.mark.usefixtures("session", "package", "module")

@pytest.fixture
def before(): assert False
@pytest.fixture
def after():
    yield
    assert False

@use
def test_one(): say("one")
@use
def test_two(): say("two"); {two}
@use
def test_three({three}): say("three")
@use
def test_four(): say("four")
"""
ANEW = "-M -P +P +M"


@pytest.mark.parametrize(
    ("two", "three", "said"),
    [
        ("", "", "one two three four"),
        ("assert False", "", f"one two {ANEW} three four"),
        ("", "before", f"one two {ANEW} four"),
        ("", "after", f"one two three {ANEW} four"),
        ("pytest.skip()", "", "one two three four"),
    ],
    ids=["passed", "failed", "before", "after", "skipped"],
)
def test_what_a_test_has_failed_on_is_given_to_no_other(tmp_path: Path, two: str, three: str, said: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "conftest.py").write_text(BOTH + CONFTEST)
    (folder / "test_inner.py").write_text(BOTH + INNER.format(two=two, three=three))
    words = ["-p", "tests.failing", "--rootdir", str(tmp_path), str(folder)]
    with open(tmp_path / "log", "w") as log:
        lanes.pytest(tmp_path / "record.jsonl", words, os.environ | PLAIN, log)
    assert (folder / "said").read_text().split() == f"+S +P +M {said} -M -P -S".split()
