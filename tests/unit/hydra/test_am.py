"""The package that masters import, against a server that answers as told: patience, cursors, counting, ends."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from hydra.am import AMError, ApplicationMaster, AsyncApplicationMaster, Gone

TOLD = {
    "job": 7, "name": "app", "queue": "root.default", "user": "tenant", "attempt": 2, "container": "c-1-1-1",
    "files": [{"path": "work.py", "digest": "a" * 64, "size": 3, "mode": 420}], "cursor": 5, "limits": {"asks": 200},
    "asks": [{"id": "work", "target": 3, "version": 1, "held": True, "granted": 3}],
    "containers": [
        {"container": f"c-1-1-{n}", "ask": "work", "index": n, "state": "RUNNING", "launched": n == 1, "tag": "t"}
        | {"node": "n"}
        for n in (1, 2)
    ],
}  # fmt: skip
Answer = tuple[int, Any, dict[str, str]]


class Server(ThreadingHTTPServer):
    """``answers``: path -> what to say, one after the other, the last again and again. -1 hangs up."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, list[Answer]] = {"register": [(200, TOLD, {})]}
        self.heard: list[tuple[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def say(self, path: str, *answers: Answer) -> None:
        self.answers[path] = list(answers)

    def bodies(self, path: str) -> list[Any]:
        return [body for at, body in self.heard if at.partition("?")[0] == path]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        path = self.path.removeprefix("/api/v1/am/")
        self.server.heard.append((path, json.loads(self.rfile.read(length)) if length else None))
        said = self.server.answers.get(path.partition("?")[0], [(200, events(), {})])
        status, body, headers = said.pop(0) if len(said) > 1 else said[0]
        if status < 0:
            self.close_connection = True
            return
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = _answer

    def log_message(self, *_: object) -> None: ...


def events(*found: dict[str, Any], cursor: int = 5, missed: bool = False) -> dict[str, Any]:
    return {"events": list(found), "cursor": cursor, "missed": missed}


def event(seq: int, kind: str, index: int, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "at": "", "kind": kind, "container": f"c-1-1-{index}", "ask": "work", "index": index} | more


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def am(server: Server) -> ApplicationMaster:
    made = ApplicationMaster(server.url, "am.x", patience_s=10)
    made.register()
    return made


def test_it_takes_over_what_a_former_attempt_left(am: ApplicationMaster) -> None:
    assert am.session is not None and (am.session.attempt, am.session.user) == (2, "tenant")
    assert [(c.id, c.launched, c.tag) for c in am.live("work")] == [("c-1-1-1", True, "t"), ("c-1-1-2", False, "t")]
    assert am.files("work.py")[0]["digest"] == "a" * 64
    with pytest.raises(AMError, match=r"no file 'other.py'; it has work\.py"):
        am.files("other.py")


def test_events_change_what_is_live_and_move_the_cursor(server: Server, am: ApplicationMaster) -> None:
    found = [event(6, "granted", 3, launch=True), event(7, "ended", 1, state="SUCCEEDED"), event(7, "ended", 1)]
    server.say("events", (200, events(*found, cursor=7), {}), (200, events(cursor=7), {}))
    first = am.poll()
    assert [e.kind for e in first] == ["granted", "ended", "ended"] and first[1].succeeded
    assert {c.id: c.launched for c in am.live()} == {"c-1-1-2": False, "c-1-1-3": False}
    am.poll(3)
    assert server.heard[-1][0] == "events?after=7&wait_s=3"


def test_an_old_grant_does_not_bring_a_container_back(server: Server, am: ApplicationMaster) -> None:
    server.say("events", (200, events(event(6, "granted", 0), cursor=6), {}))
    am.poll()
    assert [c.index for c in am.live()] == [1, 2], "it has ended before this attempt began"


def test_scale_asks_for_what_is_missing_and_gives_back_what_is_not_launched(
    server: Server, am: ApplicationMaster
) -> None:
    assert am.scale("work", 4) == []
    assert server.bodies("allocate")[-1]["asks"] == [{"id": "work", "target": 5}], "three were granted, two live"
    am.scale("work", 4)
    assert len(server.bodies("allocate")) == 1, "the same again is not sent"
    assert am.scale("work", 1) == ["c-1-1-2"]
    assert server.bodies("allocate")[-2]["asks"][0]["target"] == 3
    assert server.bodies("allocate")[-1]["release"] == ["c-1-1-2"]


def test_a_launch_says_everything(server: Server, am: ApplicationMaster) -> None:
    am.launch("c-1-1-2", ["x"], env={"A": "b"}, files=am.files("work.py"), timeout_s=3, tag="two")
    (launch,) = server.bodies("launch")[-1]["launches"]
    assert (launch["command"], launch["env"], launch["timeout_s"], launch["tag"]) == (["x"], {"A": "b"}, 3, "two")
    assert all(c.launched for c in am.live()) and am.containers["c-1-1-2"].tag == "two"


def test_it_waits_for_a_control_plane_that_is_away_or_busy(server: Server, am: ApplicationMaster) -> None:
    server.say("events", (503, {}, {}), (-1, None, {}), (429, {}, {"Retry-After": "0"}), (200, events(cursor=9), {}))
    am.poll()
    assert len(server.bodies("events")) == 4
    server.say("allocate", (422, {"detail": "no", "errors": [{"field": "f", "message": "m", "remedy": "r"}]}, {}))
    with pytest.raises(AMError, match=r"no\. f: m; r") as caught:
        am.ask("more", 1)
    assert caught.value.status == 422 and len(server.bodies("allocate")) == 1


def test_it_gives_up_in_the_end(server: Server) -> None:
    server.say("register", (503, {}, {}))
    with pytest.raises(AMError) as caught:
        ApplicationMaster(server.url, "am.x", patience_s=0.3).register()
    assert caught.value.status == 503


def test_another_attempt_has_taken_its_place(server: Server, am: ApplicationMaster) -> None:
    server.say("events", (403, {"detail": "another attempt has taken its place"}, {}))
    with pytest.raises(Gone, match="another attempt"):
        am.poll()


def test_finishing_twice_after_a_lost_answer_is_finishing(server: Server, am: ApplicationMaster) -> None:
    server.say("finish", (-1, None, {}), (409, {"detail": "has finished"}, {}))
    am.finish("FAILED", "no use")
    assert server.bodies("finish") == [{"status": "FAILED", "message": "no use"}] * 2
    with pytest.raises(AMError, match="has finished"):
        am.finish()


def test_what_was_missed_is_read_again(server: Server, am: ApplicationMaster) -> None:
    server.say("events", (200, events(event(90, "granted", 9), cursor=90, missed=True), {}))
    (missed,) = am.poll()
    assert missed.kind == "missed" and len(server.bodies("register")) == 2


def test_its_page_is_named_again_whenever_it_registers_again(server: Server) -> None:
    am = ApplicationMaster(server.url, "am.x")
    am.register({"port": "ui", "path": "/progress"})
    server.say("events", (200, events(event(90, "granted", 9), cursor=90, missed=True), {}))
    am.poll()
    assert server.bodies("register") == [{"tracking": {"port": "ui", "path": "/progress"}}] * 2


def test_history_is_told_up_to_the_cursor(server: Server, am: ApplicationMaster) -> None:
    every = [event(seq, "granted", seq) for seq in range(1, 8)]
    server.say("events", (200, events(*every[:3], cursor=3), {}), (200, events(*every[3:], cursor=7), {}))
    assert [e.seq for e in am.history()] == [1, 2, 3, 4, 5]
    assert len(am.live()) == 2, "it changes nothing"


def test_events_end_after_a_silence(server: Server, am: ApplicationMaster) -> None:
    server.say("events", (200, events(event(6, "started", 1), cursor=6), {}), (200, events(cursor=6), {}))
    assert [e.kind for e in am.events(timeout_s=1)] == ["started"]


def test_outputs_are_bytes(server: Server, am: ApplicationMaster) -> None:
    server.say("containers/c-1-1-1/outputs/part", (200, b"\x00\xff", {}))
    assert am.output("c-1-1-1", "part") == b"\x00\xff"


def test_without_a_token_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HYDRA_AM_TOKEN", raising=False)
    monkeypatch.setenv("HYDRA_API_URL", "http://127.0.0.1:1")
    with pytest.raises(AMError, match="HYDRA_AM_TOKEN is not set"):
        ApplicationMaster.from_env()
    with pytest.raises(AMError, match="not an address"):
        ApplicationMaster("file:///etc/passwd", "x")


def test_the_same_for_asyncio(server: Server) -> None:
    server.say("events", (200, events(event(6, "ended", 1), cursor=6), {}), (200, events(cursor=6), {}))

    async def run() -> list[str]:
        am = AsyncApplicationMaster(ApplicationMaster(server.url, "am.x"))
        await am.register()
        await am.scale("work", 5)
        await am.launch("c-1-1-2", ["x"])
        kinds = [e.kind async for e in am.events(timeout_s=1)]
        assert await am.history() == []
        await am.release(["c-1-1-2"])
        await am.finish()
        return kinds + [c.id for c in am.live()]

    assert asyncio.run(run()) == ["ended", "c-1-1-2"]
    assert server.bodies("finish")[-1]["status"] == "SUCCEEDED"
