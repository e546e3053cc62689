"""The job list and the lists of one job, as the benchmark of histories asks for them."""

import datetime as dt
from collections.abc import Iterator
from urllib.parse import quote, urlencode

from benchmarks.historyrows import Loaded
from controlplane.statestore.queries.paging import Cursor

DAY = dt.timedelta(days=1)


def _at(key: tuple[int, ...], back: bool = False) -> str:
    return f"cursor={Cursor(key, back).encode()}"


def of_jobs(loaded: Loaded) -> Iterator[tuple[str, str]]:
    """The job list under each filter and many together: from the start, the middle, near its end, and backwards."""
    middle, last = (loaded.first + loaded.last) // 2, loaded.first + 200
    for filters in _filters():
        said = "&".join(f"{name}={value}" for name, value in filters.items()) or "no filter"
        query = urlencode(filters)
        places = {"first": "", "middle": _at((middle,)), "last": _at((last,)), "back": _at((middle,), True)}
        for place, cursor in places.items():
            yield f"jobs {said}, {place}", "/jobs?" + "&".join(part for part in (query, cursor) if part)
    yield "jobs, 1000 a page", "/jobs?page_size=1000"


def _filters() -> Iterator[dict[str, str]]:
    today = dt.datetime.now(dt.UTC)
    old, older = (today - 60 * DAY).isoformat(), (today - 61 * DAY).isoformat()
    one = {
        "state": ["FAILED", "KILLED", "SUCCEEDED", "RUNNING", "SUBMITTED", "live", "ended"],
        "queue": ["root.team0000.prod", "root.team0003.dev", "root.team1600.dev", "root.team0000", "root", "root.none"],
        "owner": ["tenant", "user-200", "user-001", "nobody"],
        "tag": ["nightly", "run-100", "model-3", "none"],
        "name": ["etl", "etl-77-", "train-500-9", "zzz"],
        "kind": ["batch", "service", "application"],
        "order": ["oldest"],
        "node": ["node-4711", "west/node-4711", "zzz"],
        "since": [older],
        "until": [old],
    }
    yield {}
    for name, values in one.items():
        for value in values:
            yield {name: value}
    rare = {"state": "KILLED", "queue": "root.team1600.dev", "owner": "user-001", "tag": "model-299", "name": "sync-9"}
    usual = {"state": "SUCCEEDED", "queue": "root.team0000.prod", "owner": "user-200", "tag": "nightly", "name": "etl"}
    for first, seldom in rare.items():
        for second, often in usual.items():
            if first != second:
                yield {first: seldom, second: often}
    yield usual
    yield rare
    yield usual | {"kind": "application"}
    yield usual | {"state": "KILLED", "order": "oldest"}
    yield {"since": older, "until": old}
    yield {"since": older, "until": old, "state": "KILLED", "queue": "root.team1600.dev"}
    yield {"since": older, "until": old, "tag": "nightly", "name": "sync", "order": "oldest"}
    yield {"state": "RUNNING", "queue": "root.team1600.dev"}
    yield {"state": "live", "kind": "application"}
    yield {"queue": "root.team1600.dev", "owner": "user-001"}
    yield {"queue": "root.team0000.prod", "kind": "application", "state": "KILLED"}
    yield {"name": "sync", "tag": "run-19999", "state": "SUCCEEDED"}


def of_job(job: int) -> Iterator[tuple[str, str]]:
    """The lists of one job of many tasks."""
    tasks = f"/jobs/{job}/tasks"
    yield "tasks", tasks
    yield "tasks, deep", f"{tasks}?{_at((0, 190_000))}"
    yield "tasks, 1000", f"{tasks}?page_size=1000"
    for state in ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"):
        yield f"tasks {state}", f"{tasks}?state={state}"
        yield f"tasks {state}, deep", f"{tasks}?state={state}&{_at((0, 190_000))}"
        yield f"tasks {state}, back", f"{tasks}?state={state}&{_at((0, 190_000), True)}"
    large = 1 << 62
    for name in ("containers", "outputs"):
        yield name, f"/jobs/{job}/{name}"
        yield f"{name}, deep", f"/jobs/{job}/{name}?{_at((0, 190_000, large))}"
        yield f"{name}, back", f"/jobs/{job}/{name}?{_at((0, 190_000, large), True)}"
    yield "containers of a task", f"/jobs/{job}/containers?task={quote('map/150000', safe='')}"
    yield "events", f"/jobs/{job}/events"
    yield "events, deep", f"/jobs/{job}/events?{_at((1_010_000,))}"
    yield "endpoints", f"/jobs/{job}/endpoints"
    yield "explain", f"/jobs/{job}/explain"
    yield "job", f"/jobs/{job}"
