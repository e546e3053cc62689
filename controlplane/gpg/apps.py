from django.apps import AppConfig


class GlobalPolicyGeneratorConfig(AppConfig):
    name = "controlplane.gpg"
    label = "gpg"
