from django.apps import AppConfig


class ResourceManagerConfig(AppConfig):
    name = "controlplane.rm"
    label = "rm"
