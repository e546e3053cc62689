"""Stored logins: private, atomic, and a token for its own server only."""

import stat
from pathlib import Path

import pytest

from client.config import Config, Context, config_path, current, load, resolve, save
from client.errors import HydraError

STORED = Config(
    "home", {"home": Context("https://a.example", "ada", "token-a"), "work": Context("https://b.example", "bob", "b")}
)


def test_what_is_saved_is_loaded_and_private(tmp_path: Path) -> None:
    path = tmp_path / "hydra" / "config.yaml"
    save(path, STORED)
    assert load(path) == STORED
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    save(path, STORED)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["config.yaml"]


def test_no_file_is_an_empty_configuration_and_a_damaged_one_is_said(tmp_path: Path) -> None:
    assert load(tmp_path / "none") == Config()
    for content in ("contexts: 5", "[", "a: b: c", "contexts: {x: {}}"):
        (tmp_path / "bad").write_text(content)
        with pytest.raises(HydraError, match=r"hydractl login"):
            load(tmp_path / "bad")


def test_the_place_follows_the_environment() -> None:
    assert config_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/hydra/config.yaml")
    assert config_path({}) == Path.home() / ".config/hydra/config.yaml"


def test_options_and_environment_override_the_context() -> None:
    assert resolve(STORED, None, None, None).token == "token-a"
    assert resolve(STORED, "work", None, None).token == "b"
    assert resolve(STORED, None, "https://c.example", "c") == Context("https://c.example", "", "c")
    assert resolve(STORED, None, None, "other") == Context("https://a.example", "", "other")
    assert resolve(Config(), None, None, None) == Context("http://127.0.0.1:8470")


def test_a_login_takes_the_context_of_no_other_server_or_account() -> None:
    assert Config().context_for("https://a.example", "ada") == "default"
    assert STORED.context_for("https://a.example/", "ada") == "home"
    assert STORED.context_for("https://b.example", "bob") == "work"
    assert STORED.context_for("https://a.example", "ops") == "ops"
    assert STORED.context_for("https://c.example:8443", "ada") == "c.example"
    taken = STORED.with_context("ops", Context("https://b.example", "ops", "o"))
    assert taken.context_for("https://a.example", "ops") == "ops@a.example"
    assert STORED.without_token("home").context_for("https://a.example", "ops") == "home"
    both = STORED.with_context("late", Context("https://a.example", "ada"))
    assert both.context_for("https://a.example", "ada") == "late", "the current one first"


def test_programs_use_the_login_of_hydractl_unless_the_environment_says_another(tmp_path: Path) -> None:
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    save(config_path(env), STORED)
    assert current(env) == STORED.contexts["home"]
    assert current(env | {"HYDRA_TOKEN": "t"}) == Context("https://a.example", "", "t")
    assert current(env | {"HYDRA_URL": "https://c.example", "HYDRA_TOKEN": "t"}) == Context(
        "https://c.example", "", "t"
    )
    assert current(env | {"HYDRA_URL": "https://c.example"}).token is None


def test_a_stored_token_is_not_sent_elsewhere() -> None:
    assert resolve(STORED, None, "https://evil.example", None).token is None
    assert resolve(STORED, None, "https://a.example/", None).token == "token-a"


def test_an_unknown_context_is_named_with_the_known_ones() -> None:
    with pytest.raises(HydraError, match=r"no context 'x'. Known: home, work"):
        resolve(STORED, "x", None, None)


def test_logging_out_forgets_the_token_only() -> None:
    assert STORED.without_token("home").contexts["home"] == Context("https://a.example", "ada", None)
