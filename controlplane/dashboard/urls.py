"""Addresses of the front end's pages. Each is also a route of ``frontend/src/app/App.tsx``."""

from django.urls import path, re_path

from . import views

urlpatterns = [
    path("", views.page, name="overview"),
    path("login", views.page, name="login"),
    path("fleet", views.page, name="fleet"),
    path("fleet/nodes/<int:node_id>", views.page, name="fleet-node"),
    path("jobs", views.page, name="jobs"),
    path("jobs/<int:job_id>", views.page, name="job"),
    path("queues", views.page, name="queues"),
    path("submit", views.page, name="submit"),
    re_path(r"^(?!api/|node/|static/|ws/|healthz|metrics).+", views.unknown),
]
