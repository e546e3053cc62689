"""Answers about where a job's containers serve."""

import datetime as dt

from controlplane.router.shapes import PageOf, Shape


class EndpointInfo(Shape):
    """``healthy``: null before the first verdict and without a health check. ``proxy``: its path on this server."""

    name: str
    group: str
    index: int
    container: str
    node: str
    host: str
    port: int
    healthy: bool | None
    checked_at: dt.datetime
    proxy: str


class EndpointPage(PageOf):
    results: list[EndpointInfo]
