from django.apps import AppConfig


class PolicyConfig(AppConfig):
    name = "controlplane.policy"
    label = "policy"
