from django.apps import AppConfig


class RouterConfig(AppConfig):
    name = "controlplane.router"
    label = "router"
