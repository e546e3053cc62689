"""The API's page comes from here and from nowhere else."""

import re

from django.test import RequestFactory

from controlplane.router.views import apipage, description


def test_nothing_on_the_page_comes_from_elsewhere() -> None:
    said = apipage.ApiPage.as_view()(RequestFactory().get("/api/v1/docs"))
    text = said.content.decode()
    assert not re.search(r"<(script|link|img|iframe|object)|(src|href)=\"(https?:)?//|@import|url\(|\son\w+=", text)
    nonces = set(re.findall(r'nonce="([^"]+)"', text))
    assert len(nonces) == 1
    policy = said["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ") and f"'nonce-{nonces.pop()}'" in policy
    assert "script-src" not in policy and "unsafe" not in policy


def test_every_operation_and_shape_is_on_it() -> None:
    text = apipage.ApiPage.as_view()(RequestFactory().get("/api/v1/docs")).content.decode()
    known = description.described()
    assert all(f"<code>{path}</code>" in text for path in known["paths"])
    anchors = set(re.findall(r'id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors
    assert {f"shape-{name}" for name in known["components"]["schemas"]} <= anchors
