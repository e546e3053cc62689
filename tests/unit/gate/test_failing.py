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


def said_by(folder: Path, conftest: str, inner: str) -> list[str]:
    """What these tests and fixtures say, in order."""
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "conftest.py").write_text(BOTH + conftest)
    (folder / "test_inner.py").write_text(BOTH + inner)
    words = ["-p", "tests.failing", "--rootdir", str(folder.parent), str(folder)]
    with open(folder / "log", "w") as log:
        lanes.pytest(folder / "record.jsonl", words, os.environ | PLAIN, log)
    return (folder / "said").read_text().split()


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
    found = said_by(tmp_path / "folder", CONFTEST, INNER.format(two=two, three=three))
    assert found == f"+S +P +M {said} -M -P -S".split()


def test_what_cannot_be_made_is_not_tried_for_every_test(tmp_path: Path) -> None:
    conftest = """
@pytest.fixture(scope="package")
def package():
    say("tried")
    raise OSError("no stack")
"""
    inner = "\n".join(f"def test_{n}(package): pass" for n in range(5))
    assert said_by(tmp_path / "folder", conftest, inner) == ["tried", "tried"]
