"""The state folder: secrets made once, damage said, the environment derived."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.embedded import bootstrap, stores
from controlplane.embedded.home import Home, HomeError, http_port, read_json, write_json


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    found = Home(tmp_path / "h")
    found.create()
    yield found
    found.remove_short()


def test_secrets_are_made_once_and_only_the_owner_reads_them(home: Home):
    first = home.secrets(create=True)
    assert home.secrets(create=True) == first
    assert (home.root / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert len(set(first.values())) == len(first)


def test_a_join_token_stays_the_same(home: Home):
    assert home.join_token("east") == home.join_token("east") != home.join_token("west")


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "\0"])
def test_a_damaged_file_is_named(home: Home, text: str):
    path = home.root / "secrets.json"
    path.write_text(text)
    with pytest.raises(HomeError, match=r"secrets\.json"):
        home.secrets()


def test_a_write_that_fails_leaves_the_old_content(tmp_path: Path):
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    with pytest.raises(TypeError):
        write_json(path, {"a": object()})
    assert read_json(path) == {"a": 1}


def test_what_the_caller_set_stays(home: Home, monkeypatch: pytest.MonkeyPatch):
    for name in ("HYDRA_BROKER_URL", "HYDRA_NODE_REDIS_URL", "HYDRA_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DATABASE_URL", "postgres://elsewhere/x")
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere:6379/0")
    home.secrets(create=True)
    home.ports(create=True)
    home.prepare("status")
    import os

    assert os.environ["DATABASE_URL"] == "postgres://elsewhere/x"
    assert "HYDRA_BROKER_URL" not in os.environ
    assert os.environ["HYDRA_SECRET_KEY"] == home.secrets()["secret_key"]
    assert not home.uses_own_postgres(os.environ)
    assert not home.uses_own_redis(os.environ)


@pytest.mark.parametrize("text", ["0", "65536", "http", "-1"])
def test_a_port_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("HYDRA_HTTP_PORT", text)
    with pytest.raises(HomeError, match="HYDRA_HTTP_PORT"):
        http_port()


def test_sockets_move_where_their_path_would_be_too_long(tmp_path: Path):
    assert Home(Path("/srv/hydra")).sockets == Path("/srv/hydra/run")
    long = Home(tmp_path / ("x" * 90))
    assert len(str(long.sockets / "notify.sock")) < 100


def test_what_was_prepared_long_ago_is_prepared_again(home: Home):
    """It renews the join tokens of the host's nodes before they end."""
    secrets = home.secrets(create=True)
    environ = home.environment(secrets, home.ports(create=True))
    path = stores.prepared_path(home)
    path.parent.mkdir(parents=True)
    path.write_text(stores.preparation(["east"]))
    assert stores.is_prepared(home, ["east"], environ) and not stores.is_prepared(home, ["west"], environ)
    assert stores.PREPARED_S < bootstrap.JOIN_TOKEN_DAYS * 86_400 / 2
    os.utime(path, (time.time() - stores.PREPARED_S - 60,) * 2)
    assert not stores.is_prepared(home, ["east"], environ)
