"""The page that an application master names at register: where it leads, for whom, and what it cannot be."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from django.utils import timezone

from controlplane.statestore.models import Endpoint, Job, Master, Node, TaskGroup
from controlplane.statestore.queries.jobs import stamps
from tests.hydractl import run as hydractl
from tests.integration.api import rows
from tests.integration.api.served import web
from tests.integration.api.test_masters import App, application, started
from tests.integration.api.test_proxy import Site
from tests.integration.api.upstreams import Upstream
from tests.integration.api.world import World
from wire.ids import format_container
from wire.states import JobState

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = {"port": "ui", "path": "/progress?tab=1"}


@pytest.fixture(scope="module")
def process(django_db_setup: None) -> Iterator[str]:
    with web() as url:
        yield url


@pytest.fixture
def app(world: World) -> App:
    return application(world, ports=[{"name": "ui"}, {"name": "rpc"}])


@pytest.fixture
def site(process: str, world: World, app: App) -> Iterator[Site]:
    Node.objects.update(host="127.0.0.1")
    upstream = Upstream()
    serve(app, upstream.port)
    yield Site(process, world, app.job, app.container, upstream)
    upstream.close()


def serve(app: App, port: int) -> None:
    told = app.node("POST", f"containers/{format_container(app.container.pk)}/endpoints", {"endpoints": {"ui": port}})
    assert told.status_code == 204


def shown(world: World, app: App, role: str = "tenant") -> str | None:
    page: str | None = world[role].get(f"jobs/{app.job.pk}").json()["tracking"]
    return page


def test_the_jobs_address_leads_to_the_page_that_its_master_has_named(site: Site, app: App, tmp_path: Path) -> None:
    job = app.job.pk
    with site.browser("tenant", follow_redirects=True) as browser:
        assert browser.get(f"/proxy/{job}/").status_code == 404, "it has named none"
        before = stamps.job(job)
        app.post("register", {"tracking": PAGE})
        assert shown(site.world, app) == f"/proxy/{job}/master.0.ui/progress?tab=1"
        assert stamps.job(job) != before, "whoever looks at the job hears of it"
        for address in (f"/proxy/{job}", f"/proxy/{job}/", f"/proxy/{job}/?next=https://evil.example"):
            answer = browser.get(address)
            assert answer.json()["path"] == "/progress?tab=1" and answer.url.host == urlsplit(site.url).hostname
            assert answer.url.path.startswith(f"/proxy/{job}/master.0.ui/~")
    env = {"HOME": str(tmp_path), "HYDRA_URL": site.url, "HYDRA_TOKEN": site.world["tenant"].token, "COLUMNS": "200"}
    assert f"{site.url}/proxy/{job}/master.0.ui/progress?tab=1" in hydractl(("job", str(job)), env).stdout
    with site.program("tenant") as program:
        assert program.get(f"/proxy/{job}/master.0.ui/progress?tab=1").json()["path"] == "/progress?tab=1"
    Job.objects.filter(pk=job).update(state=JobState.SUCCEEDED)
    assert shown(site.world, app) is None
    with site.browser("tenant", follow_redirects=True) as browser:
        assert browser.get(f"/proxy/{job}/").status_code == 502, "the job has ended"


def test_only_who_may_change_the_job_is_told_where_its_page_is(site: Site, app: App) -> None:
    app.post("register", {"tracking": PAGE})
    for name, status in {"tenant": 200, "operator": 200, "other": 404, "viewer": 403, "admin": 404}.items():
        with site.browser(name, follow_redirects=True) as browser:
            assert browser.get(f"/proxy/{app.job.pk}/").status_code == status, name
    nobody = httpx.get(f"{site.url}/proxy/{app.job.pk}/", trust_env=False)
    assert nobody.status_code == 401 and f"/login?next=/proxy/{app.job.pk}/" in nobody.text
    assert "progress" not in nobody.text and len(site.upstream.seen) == 2


def test_each_attempt_names_its_own_page(world: World, app: App) -> None:
    app.post("register", {"tracking": PAGE})
    first = Master.objects.get().registered_at
    app.post("register", {"tracking": PAGE | {"path": "/"}})
    assert shown(world, app) == f"/proxy/{app.job.pk}/master.0.ui/"
    assert Master.objects.get().registered_at == first, "it is the same attempt"
    started(app, 2).post("register")
    assert shown(world, app) is None and Master.objects.get().registered_at > first


@pytest.mark.parametrize(
    "path",
    [
        "https://evil.example/", "//evil.example/", "/x//evil.example/", "evil.example", "", "javascript:alert(1)",
        "/..", "/../../../api/v1/me", "/a/../../b", "/.", "/a/./b", "/%2e%2e/x", "/a%2f..%2fb", "/.%2E/x",
        "/\\evil.example", "/..\\..", "/a#b", "/a b", "/a\r\nLocation: /x", "/a\tb", "/a\n", "/\u202e",
        "/<script>", '/"x', "/\0", "/" + "a" * 255,
    ],
)  # fmt: skip
def test_a_page_is_nothing_but_a_path_below_its_own_port(world: World, app: App, path: str) -> None:
    problem = app.post("register", {"tracking": PAGE | {"path": path}}, status=422)
    assert problem["errors"][0]["field"] == "tracking.path" and problem["errors"][0]["remedy"]
    assert not Master.objects.exists()


@pytest.mark.parametrize("path", ["/", "/a", "/a/", "/a.b/..c/d..", "/a?next=/../x&u=https://x/%2e%2e", "/~me/(1);v=2"])
def test_what_browsers_make_of_a_page_stays_below_its_own_port(world: World, app: App, path: str) -> None:
    app.post("register", {"tracking": PAGE | {"path": path}})
    page = shown(world, app)
    assert page is not None
    seen = urlsplit(urljoin("https://hydra.example/jobs/1", page))
    assert seen.netloc == "hydra.example" and seen.path.startswith(f"/proxy/{app.job.pk}/master.0.ui/")


@pytest.mark.parametrize(
    ("tracking", "field"),
    [
        ({"port": "http"}, "tracking.port"),
        ({"port": "8080"}, "tracking.port"),
        ({"port": "work.0.ui"}, "tracking.port"),
        ({"path": "/"}, "tracking.port"),
        (PAGE | {"host": "169.254.169.254"}, "tracking.host"),
        ("https://evil.example", "tracking"),
    ],
)
def test_a_page_is_on_a_port_of_the_master_itself(world: World, app: App, tracking: object, field: str) -> None:
    problem = app.post("register", {"tracking": tracking}, status=422)
    assert problem["errors"][0]["field"] == field and problem["errors"][0]["remedy"]
    assert not Master.objects.exists()


def test_a_page_leads_to_its_own_container_though_others_serve_the_port(site: Site, app: App) -> None:
    TaskGroup.objects.create(job=app.job, no=1, name="work", count=1, memory_mib=256, vcores_milli=1000)
    strange, worker = Upstream(), rows.container(app.job, app.node.session.node_id, group=1)
    serves = {"job_id": app.job.pk, "name": "ui", "host": "127.0.0.1", "checked_at": timezone.now()}
    try:
        Endpoint.objects.create(container_id=worker.pk, port=strange.port, healthy=True, **serves)
        app.post("register", {"tracking": PAGE})
        with site.browser("tenant", follow_redirects=True) as browser:
            assert browser.get(f"/proxy/{app.job.pk}/").status_code == 200
        assert site.upstream.seen and not strange.seen
    finally:
        strange.close()
