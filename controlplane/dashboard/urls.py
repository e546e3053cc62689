"""Addresses of the front end's pages: those of ``frontend/src/app/pages.tsx``, and what lies below each."""

from django.urls import path, re_path

from . import views

PAGES = ("fleet", "queues", "jobs", "schedules", "usage", "submit", "policy", "admin", "account")
urlpatterns = [
    path("", views.page, name="overview"),
    path("login", views.page, name="login"),
    *(path(name, views.page, name=name) for name in PAGES),
    *(path(f"{name}/<path:rest>", views.page) for name in PAGES),
    re_path(r"^(?!api/|node/|static/|ws/|healthz|metrics).+", views.unknown),
]
